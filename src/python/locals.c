#include "python/locals.h"

#include "python/names.h"

enum { MOST_SLOTS = 1 << 12 };

/* Flags of code (Include/cpython/code.h). */
enum { HAS_SLOTS = 1 << 0, TAKES_MORE_ARGUMENTS = 1 << 2, TAKES_MORE_KEYWORDS = 1 << 3 };
/* Kinds of a slot, from 3.11 on (pycore_code.h). */
enum { KIND_HIDDEN = 0x10, KIND_CELL = 0x40, KIND_FREE = 0x80 };

struct reading {
    const struct layout *layout;
    const struct memory *memory;
    uint64_t slots;          /* address of the first */
    uint32_t arguments;      /* how many slots are arguments */
    uint64_t argument_names; /* address of the first, up to 3.10; else 0 */
    struct locals_row *rows;
    size_t capacity;
    size_t count;
};

static bool read_code_int(const struct reading *r, uint64_t code, uint32_t field, uint32_t *out)
{
    return memory_read(r->memory, code + field, out, sizeof *out);
}

static bool count_arguments(struct reading *r, uint64_t code)
{
    const struct layout *layout = r->layout;
    uint32_t flags, positional, keywords;
    if (!read_code_int(r, code, layout->code_flags, &flags) || !(flags & HAS_SLOTS) ||
        !read_code_int(r, code, layout->code_argument_count, &positional) ||
        !read_code_int(r, code, layout->code_keyword_only_count, &keywords))
        return false;
    r->arguments = positional + keywords + !!(flags & TAKES_MORE_ARGUMENTS) + !!(flags & TAKES_MORE_KEYWORDS);
    return true;
}

/* What a slot holds that is a cell, if it is one already: an argument becomes one at the first instruction. */
static bool follow_cell(const struct reading *r, uint64_t *word)
{
    uint64_t object = layout_minor(r->layout) >= 14 ? *word & ~(uint64_t)3 : *word, type, name;
    char text[5];
    if (!memory_read_word(r->memory, object + r->layout->object_type, &type) ||
        !memory_read_word(r->memory, type + r->layout->type_name, &name) ||
        !memory_read(r->memory, name, text, sizeof text))
        return false;
    return memcmp(text, "cell", sizeof text) != 0 ||
           memory_read_word(r->memory, object + r->layout->cell_value, word);
}

/* Up to 3.10 an argument that is a cell has a second slot, among the cells, with the same name. */
static bool is_argument(const struct reading *r, uint64_t name, uint32_t slot)
{
    uint64_t other;
    if (slot < r->arguments || !r->argument_names)
        return slot < r->arguments;
    for (uint32_t i = 0; i < r->arguments && i < MOST_SLOTS; i++)
        if (memory_read_word(r->memory, r->argument_names + 8 * (uint64_t)i, &other) && other == name)
            return true;
    return false;
}

static void add(struct reading *r, uint64_t name, uint32_t slot, bool cell)
{
    uint64_t word;
    if (r->count == r->capacity || !memory_read_word(r->memory, r->slots + 8 * (uint64_t)slot, &word))
        return;
    /* Without a value: 0, from 3.14 on with a mark. */
    bool empty = layout_minor(r->layout) >= 14 ? word <= 1 : !word;
    if (empty || (cell && (!follow_cell(r, &word) || !word)))
        return;
    struct locals_row *row = &r->rows[r->count];
    ssize_t size = names_text(r->layout, r->memory, name, row->name, sizeof row->name - 1);
    if (size < 0)
        return;
    row->name[size] = 0;
    row->value = word;
    row->argument = is_argument(r, name, slot);
    r->count++;
}

/* The names of a tuple for the slots from `first` on; how many, -1 where it cannot be read. */
static ssize_t add_names(struct reading *r, uint64_t code, uint32_t field, uint32_t first, bool cells)
{
    uint64_t tuple, count, name;
    if (!memory_read_word(r->memory, code + field, &tuple) ||
        !memory_read_word(r->memory, tuple + r->layout->object_size, &count) || count > MOST_SLOTS)
        return -1;
    for (uint32_t i = 0; i < count; i++)
        if (memory_read_word(r->memory, tuple + r->layout->tuple_items + 8 * (uint64_t)i, &name))
            add(r, name, first + i, cells);
    return (ssize_t)count;
}

/* Up to 3.10: variables, then cells, then free variables. An argument that is also a cell is in the cell only. */
static bool read_three_tuples(struct reading *r, uint64_t code)
{
    const struct layout *layout = r->layout;
    uint64_t names;
    if (memory_read_word(r->memory, code + layout->code_locals_names, &names))
        r->argument_names = names + layout->tuple_items;
    ssize_t variables = add_names(r, code, layout->code_locals_names, 0, false);
    ssize_t cells =
        variables < 0 ? -1 : add_names(r, code, layout->code_cell_names, (uint32_t)variables, true);
    return cells >= 0 &&
           add_names(r, code, layout->code_free_names, (uint32_t)(variables + cells), true) >= 0;
}

static bool read_kinds(struct reading *r, uint64_t code)
{
    const struct layout *layout = r->layout;
    uint8_t kinds[MOST_SLOTS];
    uint64_t tuple, names, name;
    if (!memory_read_word(r->memory, code + layout->code_locals_kinds, &tuple))
        return false;
    ssize_t count = names_bytes(layout, r->memory, tuple, kinds, sizeof kinds);
    if (count < 0 || count > MOST_SLOTS ||
        !memory_read_word(r->memory, code + layout->code_locals_names, &names))
        return false;
    for (uint32_t i = 0; i < (size_t)count; i++)
        if (!(kinds[i] & KIND_HIDDEN) &&
            memory_read_word(r->memory, names + layout->tuple_items + 8 * (uint64_t)i, &name))
            add(r, name, i, kinds[i] & (KIND_CELL | KIND_FREE));
    return true;
}

ssize_t locals_read(const struct layout *layout, const struct memory *memory, uint64_t code, uint64_t frame,
                    struct locals_row *rows, size_t capacity)
{
    struct reading r = {.layout = layout,
                        .memory = memory,
                        .slots = frame + layout->frame_locals,
                        .rows = rows,
                        .capacity = capacity};
    if (!count_arguments(&r, code))
        return 0;
    bool whole = layout->chain == LAYOUT_FRAME_OBJECTS ? read_three_tuples(&r, code) : read_kinds(&r, code);
    return whole ? (ssize_t)r.count : -1;
}
