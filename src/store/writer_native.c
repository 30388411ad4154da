#include "store/writer_native.h"

#include "store/writer_tables.h"

uint32_t writer_native_module(struct writer *writer, const struct module *module)
{
    const uint32_t strings[] = {module->path, module->build_id};
    if (writer_tables_failed(writer) || !writer_tables_knows_strings(writer, strings, 2))
        return 0;
    uint64_t key = map_pair(module->path, module->build_id);
    uint32_t id = map_get(&writer->modules, key);
    if (id != MAP_NONE)
        return id;
    id = recording_add_module(&writer->known, module);
    if (!id || !map_set(&writer->modules, key, id))
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_MODULES, id,
                      (uint64_t[]){module->path, module->build_id, module->size_bytes, module->flags});
    return id;
}

void writer_native_mapping(struct writer *writer, const struct mapping *mapping)
{
    if (writer_tables_failed(writer) ||
        !writer_tables_knows(writer, "process", mapping->process, writer->known.processes_count) ||
        !writer_tables_knows(writer, "module", mapping->module, writer->known.modules_count))
        return;
    gather_row(&writer->gather, GATHER_MAPPINGS, 0,
               (uint64_t[]){mapping->process, mapping->module, mapping->start, mapping->end,
                            mapping->file_offset, mapping->since_ns});
}

/* A code without a name is itself by where it lies, or by what others are inlined in: never by being equal. */
static uint32_t add_nameless_code(struct writer *writer)
{
    uint32_t id = recording_add_code(&writer->known, &(struct code){.kind = CODE_NATIVE});
    if (!id)
        return writer_tables_fail_memory(writer);
    gather_definition(&writer->gather, GATHER_CODES, id, (uint64_t[]){0, 0, 0, 0, 0, CODE_NATIVE, 0});
    return id;
}

uint32_t writer_native_code(struct writer *writer, uint32_t module, uint64_t offset)
{
    const uint64_t words[] = {module, offset};
    const struct recording *known = &writer->known;
    if (writer_tables_failed(writer) || !writer_tables_knows(writer, "module", module, known->modules_count))
        return 0;
    uint64_t key = map_hash_bytes(words, sizeof words);
    uint32_t row;
    while ((row = map_get(&writer->addresses, key)) != MAP_NONE &&
           (known->addresses[row].module != module || known->addresses[row].offset != offset))
        key++;
    if (row != MAP_NONE)
        return known->addresses[row].code;
    struct code_address address = {add_nameless_code(writer), module, offset};
    if (!address.code)
        return 0;
    row = recording_add_address(&writer->known, &address);
    if (row == UINT32_MAX || !map_set(&writer->addresses, key, row))
        return writer_tables_fail_memory(writer);
    gather_row(&writer->gather, GATHER_ADDRESSES, 0, (uint64_t[]){address.code, module, offset});
    return address.code;
}

static bool knows_symbol(struct writer *writer, const struct symbol *symbol)
{
    const uint32_t strings[] = {symbol->name, symbol->file};
    return !writer_tables_failed(writer) && writer_tables_knows_strings(writer, strings, 2) &&
           writer_tables_knows(writer, "code", symbol->inlined_in, writer->known.codes_count);
}

static bool says_the_same(const struct symbol *a, const struct symbol *b)
{
    return a->name == b->name && a->file == b->file && a->line == b->line && a->inlined_in == b->inlined_in;
}

void writer_native_symbol(struct writer *writer, const struct symbol *symbol)
{
    if (!knows_symbol(writer, symbol) ||
        !writer_tables_knows(writer, "code", symbol->code, writer->known.codes_count))
        return;
    uint32_t row = map_get(&writer->named, symbol->code);
    if (row != MAP_NONE && says_the_same(&writer->known.symbols[row], symbol))
        return;
    row = recording_add_symbol(&writer->known, symbol);
    if (row == UINT32_MAX || !map_set(&writer->named, symbol->code, row)) {
        writer_tables_fail_memory(writer);
        return;
    }
    gather_row(&writer->gather, GATHER_SYMBOLS, 0,
               (uint64_t[]){symbol->code, symbol->name, symbol->file, symbol->line, symbol->inlined_in});
}

uint32_t writer_native_inlining(struct writer *writer, const struct symbol *symbol)
{
    const uint32_t words[] = {symbol->name, symbol->file, symbol->line, symbol->inlined_in};
    if (!knows_symbol(writer, symbol))
        return 0;
    uint64_t key = map_hash_bytes(words, sizeof words);
    uint32_t row;
    while ((row = map_get(&writer->inlinings, key)) != MAP_NONE &&
           !says_the_same(&writer->known.symbols[row], symbol))
        key++;
    if (row != MAP_NONE)
        return writer->known.symbols[row].code;
    struct symbol own = *symbol;
    own.code = add_nameless_code(writer);
    if (!own.code)
        return 0;
    writer_native_symbol(writer, &own);
    if (writer_tables_failed(writer) || !map_set(&writer->inlinings, key, map_get(&writer->named, own.code)))
        return writer_tables_fail_memory(writer);
    return own.code;
}
