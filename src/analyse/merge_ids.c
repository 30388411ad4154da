#include "analyse/merge_ids.h"

#include <stdlib.h>

#include "analyse/merge.h"

/* What makes a code itself; its flags are only what was found out about it. Native codes without a name are
 * told apart by their addresses, or by what they swallowed. */
struct code_identity {
    uint32_t name, qualname, file, module, line, kind;
    uint32_t address_module, inlined_in;
    uint64_t address_offset;
};

static uint32_t *new_ids(struct merge_ids *ids, uint32_t count)
{
    uint32_t *array = calloc((size_t)count + 1, sizeof *array);
    if (!array)
        ids->failed = true;
    return array;
}

int merge_ids_init(struct merge_ids *ids, struct merge *merge, const struct recording *from)
{
    *ids = (struct merge_ids){.merge = merge, .from = from};
    ids->strings = new_ids(ids, from->strings.count);
    ids->codes = new_ids(ids, from->codes_count);
    ids->modules = new_ids(ids, from->modules_count);
    if (natives_init(&ids->natives, from, NULL) < 0)
        ids->failed = true;
    if (recording_init(&merge->result, NULL) < 0 || strings_intern_text(&merge->codes, "") != 0)
        ids->failed = true;
    return ids->failed ? -1 : 0;
}

void merge_ids_clear(struct merge_ids *ids)
{
    free(ids->strings);
    free(ids->codes);
    free(ids->modules);
    natives_clear(&ids->natives);
    free(ids->nodes);
    free(ids->processes);
    free(ids->threads);
}

uint32_t merge_ids_string(struct merge_ids *ids, uint32_t string)
{
    if (string == 0 || ids->strings[string])
        return ids->strings[string];
    uint32_t id = strings_intern(&ids->merge->result.strings, recording_text(ids->from, string),
                                 strings_size(&ids->from->strings, string));
    if (id == UINT32_MAX) {
        ids->failed = true;
        return 0;
    }
    return ids->strings[string] = id;
}

uint32_t merge_ids_module(struct merge_ids *ids, uint32_t module)
{
    struct merge *merge = ids->merge;
    if (module == 0 || ids->modules[module])
        return ids->modules[module];
    struct module carried = ids->from->modules[module];
    carried.path = merge_ids_string(ids, carried.path);
    carried.build_id = merge_ids_string(ids, carried.build_id);
    uint64_t key = map_pair(carried.path, carried.build_id);
    uint32_t id = map_get(&merge->modules, key);
    if (id == MAP_NONE) {
        id = recording_add_module(&merge->result, &carried);
        ids->failed |= !id || !map_set(&merge->modules, key, id);
    }
    return ids->modules[module] = ids->failed ? 0 : id;
}

/* The symbol in the result's ids. What swallows has been carried over before what it swallowed: a symbol
 * that names another is of a hostile file, and stands alone. */
static struct symbol carry_symbol(struct merge_ids *ids, const struct symbol *symbol)
{
    return (struct symbol){.name = merge_ids_string(ids, symbol->name),
                           .file = merge_ids_string(ids, symbol->file),
                           .line = symbol->line,
                           .inlined_in = ids->codes[symbol->inlined_in]};
}

static void identify_native(struct merge_ids *ids, uint32_t code, struct code_identity *identity,
                            struct symbol *symbol)
{
    const struct code_address *address = natives_address(&ids->natives, code);
    const struct symbol *named = natives_symbol(&ids->natives, code);
    if (named)
        *symbol = carry_symbol(ids, named);
    if (address) {
        identity->address_module = merge_ids_module(ids, address->module);
        identity->address_offset = address->offset;
    } else if (named) {
        identity->name = symbol->name;
        identity->file = symbol->file;
        identity->line = symbol->line;
        identity->inlined_in = symbol->inlined_in;
    }
}

static void add_address(struct merge_ids *ids, uint32_t code, const struct code_identity *identity)
{
    struct code_address address = {code, identity->address_module, identity->address_offset};
    if (address.module && recording_add_address(&ids->merge->result, &address) == UINT32_MAX)
        ids->failed = true;
}

/* Only what no recording before had a name for. */
static void add_symbol(struct merge_ids *ids, uint32_t code, struct symbol symbol)
{
    struct merge *merge = ids->merge;
    if (ids->failed || !symbol.name || map_get(&merge->symbols, code) != MAP_NONE)
        return;
    symbol.code = code;
    uint32_t row = recording_add_symbol(&merge->result, &symbol);
    ids->failed |= row == UINT32_MAX || !map_set(&merge->symbols, code, row);
}

static uint32_t add_code(struct merge_ids *ids, uint32_t from)
{
    struct merge *merge = ids->merge;
    const struct code *code = &ids->from->codes[from];
    struct code carried = *code;
    carried.name = merge_ids_string(ids, code->name);
    carried.qualname = merge_ids_string(ids, code->qualname);
    carried.file = merge_ids_string(ids, code->file);
    carried.module = merge_ids_string(ids, code->module);
    struct code_identity identity = {carried.name,   carried.qualname, carried.file,
                                     carried.module, carried.line,     carried.kind};
    struct symbol symbol = {0};
    identify_native(ids, from, &identity, &symbol);
    uint32_t id = strings_intern(&merge->codes, (const char *)&identity, sizeof identity);
    if (id < merge->result.codes_count)
        merge->result.codes[id].flags |= code->flags;
    else if (id == UINT32_MAX || recording_add_code(&merge->result, &carried) != id)
        ids->failed = true;
    else
        add_address(ids, id, &identity);
    add_symbol(ids, id, symbol);
    return ids->failed ? 0 : id;
}

uint32_t merge_ids_code(struct merge_ids *ids, uint32_t code)
{
    if (code && !ids->codes[code])
        ids->codes[code] = add_code(ids, code);
    return ids->codes[code];
}

/* Functions that others were inlined in, in the order of their ids: what swallows comes first. */
void merge_ids_add_inlinings(struct merge_ids *ids)
{
    for (uint32_t i = 1; i < ids->from->codes_count && !ids->failed; i++)
        if (natives_symbol(&ids->natives, i) && !natives_address(&ids->natives, i))
            merge_ids_code(ids, i);
}

void merge_ids_add_nodes(struct merge_ids *ids)
{
    ids->nodes = new_ids(ids, ids->from->nodes_count);
    for (uint32_t i = 1; i < ids->from->nodes_count && !ids->failed; i++) {
        struct node node = ids->from->nodes[i];
        node.parent = ids->nodes[node.parent];
        node.code = merge_ids_code(ids, node.code);
        ids->nodes[i] = node_table_find(&ids->merge->nodes, &ids->merge->result, &node);
        if (!ids->nodes[i])
            ids->failed = true;
    }
}

void merge_ids_add_processes(struct merge_ids *ids)
{
    ids->processes = new_ids(ids, ids->from->processes_count);
    uint32_t shift = ids->merge->result.processes_count - 1;
    for (uint32_t i = 1; i < ids->from->processes_count && !ids->failed; i++) {
        struct process process = ids->from->processes[i];
        /* A parent may have a larger id than its child, so it is computed, not looked up. */
        process.parent = process.parent ? process.parent + shift : 0;
        process.host = merge_ids_string(ids, process.host);
        process.command = merge_ids_string(ids, process.command);
        process.python = merge_ids_string(ids, process.python);
        process.exe = merge_ids_string(ids, process.exe);
        ids->processes[i] = recording_add_process(&ids->merge->result, &process);
        if (!ids->processes[i])
            ids->failed = true;
    }
}

void merge_ids_add_threads(struct merge_ids *ids)
{
    ids->threads = new_ids(ids, ids->from->threads_count);
    for (uint32_t i = 1; i < ids->from->threads_count && !ids->failed; i++) {
        struct thread thread = ids->from->threads[i];
        thread.process = ids->processes[thread.process];
        thread.name = merge_ids_string(ids, thread.name);
        ids->threads[i] = recording_add_thread(&ids->merge->result, &thread);
        if (!ids->threads[i])
            ids->failed = true;
    }
}
