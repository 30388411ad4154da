/*
 * The .lprof reader, and the unpickler below it, on any bytes: they never crash, what the reader accepts obeys the
 * invariants of recording.h, and what it accepted can be written as a .lprof file that says the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyse/line_table.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/lprof_writer.h"
#include "import/lprof_reader.h"
#include "import/pickle.h"
#include "tests/store_sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool fact)
{
    if (!fact)
        abort();
}

static uint64_t hits_of(const struct recording *recording)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < recording->lines_count; i++)
        hits += recording->lines[i].hits;
    return hits;
}

/* Odd bytes in names can make functions equal; hits beyond 63 bits do not come back. */
static void round_trip(const struct recording *recording)
{
    struct line_table table;
    struct bytes file = {0};
    require(line_table_build(recording, &(struct selection){0}, GROUP_FUNCTION, &table, NULL) == 0);
    require(lprof_writer_write(recording, &table, &file, NULL) == 0);
    struct recording again = {0};
    require(lprof_reader_recognises(file.data, file.size));
    bool small = true;
    for (uint32_t i = 0; i < table.row_count; i++)
        small = small && table.rows[i].hits < UINT64_C(1) << 62;
    if (small) {
        require(lprof_reader_read(file.data, file.size, "again", &again, NULL) == 0);
        require(hits_of(&again) == hits_of(recording));
    }
    recording_clear(&again);
    line_table_clear(&table);
    bytes_clear(&file);
}

/* Every item that a chain has is there, and no chain is longer than its count. */
static void walk(const struct pickle_document *document)
{
    for (uint32_t i = 0; i < document->value_count; i++) {
        const struct pickle_value *value = pickle_at(document, i);
        if (value->kind < PICKLE_TUPLE || value->kind > PICKLE_DICT)
            continue;
        uint32_t left = value->count;
        for (uint32_t at = value->first; at != PICKLE_NONE; at = document->items[at].next) {
            require(left-- > 0 && at < document->item_count);
            require(document->items[at].value < document->value_count);
        }
        require(left == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pickle_document document = {0};
    struct recording recording = {0};
    struct err err = {0};
    if (pickle_parse(data, size, &document, &err) == 0)
        require(document.root < document.value_count);
    else
        require(err_is_set(&err));
    walk(&document);
    pickle_clear(&document);
    err = (struct err){0};
    if (lprof_reader_read(data, size, "fuzz", &recording, &err) == 0) {
        require(sample_invariants_hold(&recording));
        round_trip(&recording);
    } else {
        require(err_is_set(&err));
    }
    recording_clear(&recording);
    return 0;
}
