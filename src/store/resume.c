#include "store/resume.h"

#include "store/natives.h"
#include "store/writer_tables.h"

static bool keep_symbol(struct writer *writer, const struct symbol *symbol)
{
    const uint32_t words[] = {symbol->name, symbol->file, symbol->line, symbol->inlined_in};
    uint64_t key = map_hash_bytes(words, sizeof words);
    while (map_get(&writer->inlinings, key) != MAP_NONE)
        key++;
    uint32_t row = recording_add_symbol(&writer->known, symbol);
    return row != UINT32_MAX && map_set(&writer->inlinings, key, row) &&
           map_set(&writer->named, symbol->code, row);
}

bool resume_definitions(struct writer *writer, const struct recording *from)
{
    struct recording *known = &writer->known;
    struct natives natives;
    bool kept = natives_init(&natives, from, NULL) == 0;
    for (uint32_t id = 1; kept && id < from->strings.count; id++)
        kept =
            strings_intern(&known->strings, recording_text(from, id), strings_size(&from->strings, id)) == id;
    for (uint32_t id = 1; kept && id < from->codes_count; id++) {
        const struct symbol *symbol = natives_symbol(&natives, id);
        kept = recording_add_code(known, &from->codes[id]) == id;
        if (kept && symbol && !natives_address(&natives, id))
            kept = keep_symbol(writer, symbol);
    }
    natives_clear(&natives);
    return kept;
}

void resume_index(struct writer *writer, const struct recording *from)
{
    for (uint32_t i = 0; i < from->chunks_count; i++) {
        const struct chunk_info *chunk = &from->chunks[i];
        if (chunk->kind != RECORD_KIND_END && chunk->state != CHUNK_DAMAGED)
            gather_row(
                &writer->gather, GATHER_INDEX, 0,
                (uint64_t[]){chunk->offset, chunk->kind, chunk->process, chunk->records, chunk->clock_ns});
    }
}
