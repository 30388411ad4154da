#include "import/stacks.h"

#include <stdlib.h>

#include "store/recording.h"

void stacks_clear(struct stacks *stacks)
{
    map_clear(&stacks->codes);
    map_clear(&stacks->sites);
    map_clear(&stacks->nodes);
    free(stacks->rows);
    *stacks = (struct stacks){0};
}

static uint32_t fail(struct stacks *stacks)
{
    stacks->failed = true;
    return 0;
}

static uint32_t intern(struct stacks *stacks, struct stacks_text text)
{
    uint32_t id = strings_intern(&stacks->recording->strings, text.at, text.size);
    return id == UINT32_MAX ? fail(stacks) : id;
}

static uint32_t code_of(struct stacks *stacks, struct stacks_text name, struct stacks_text file)
{
    struct code code = {.name = intern(stacks, name),
                        .file = intern(stacks, file),
                        .kind = file.size ? CODE_PYTHON : CODE_OTHER};
    code.qualname = code.name;
    uint64_t key = map_pair(code.name, code.file);
    uint32_t found = stacks->failed ? 0 : map_get(&stacks->codes, key);
    if (found != MAP_NONE)
        return found;
    uint32_t id = recording_add_code(stacks->recording, &code);
    return id && map_set(&stacks->codes, key, id) ? id : fail(stacks);
}

static bool grow(struct stacks *stacks)
{
    if (stacks->count < stacks->capacity)
        return true;
    uint32_t capacity = stacks->capacity * 2 + 64;
    struct stacks_site *rows = realloc(stacks->rows, capacity * sizeof *rows);
    if (!rows)
        return false;
    stacks->rows = rows;
    stacks->capacity = capacity;
    return true;
}

uint32_t stacks_site(struct stacks *stacks, struct stacks_text name, struct stacks_text file, uint32_t line)
{
    uint32_t id = code_of(stacks, name, file);
    if (stacks->failed)
        return 0;
    struct code *code = &stacks->recording->codes[id];
    if (line && (!code->line || line < code->line))
        code->line = line;
    uint32_t found = map_get(&stacks->sites, map_pair(id, line));
    if (found != MAP_NONE)
        return found;
    if (!grow(stacks) || !map_set(&stacks->sites, map_pair(id, line), stacks->count))
        return fail(stacks);
    stacks->rows[stacks->count] = (struct stacks_site){id, line};
    return stacks->count++;
}

uint32_t stacks_node(struct stacks *stacks, uint32_t parent, uint32_t site)
{
    uint32_t found = stacks->failed ? 0 : map_get(&stacks->nodes, map_pair(parent, site));
    if (found != MAP_NONE)
        return found;
    struct node node = {parent, stacks->rows[site].code, stacks->rows[site].line};
    uint32_t id = recording_add_node(stacks->recording, &node);
    return id && map_set(&stacks->nodes, map_pair(parent, site), id) ? id : fail(stacks);
}
