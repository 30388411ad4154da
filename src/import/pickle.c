#include "import/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "base/map.h"

#define OPCODE_PROTOCOL 0x80
#define OPCODE_STOP     '.'

/* Numbers of values, or of places in such a list. */
struct number_list {
    uint32_t *items;
    uint32_t count, capacity;
};

struct machine {
    struct cursor cursor;
    struct pickle_document *document;
    struct number_list stack; /* values */
    struct number_list marks; /* heights of the stack, rising; what lies below the last is out of reach */
    struct map memo;          /* number → value */
    uint32_t memoized;        /* how many got their number by themselves */
    const char *problem;      /* NULL = none yet */
};

static int fail(struct machine *machine, const char *problem)
{
    if (!machine->problem)
        machine->problem = problem;
    return -1;
}

/* Room for one more. */
static bool grow(void *items, uint32_t count, uint32_t *capacity, size_t item_size)
{
    if (count < *capacity)
        return true;
    uint32_t larger = *capacity ? *capacity * 2 : 64;
    void **array = items;
    void *grown = larger > *capacity ? realloc(*array, larger * item_size) : NULL;
    if (!grown)
        return false;
    *array = grown;
    *capacity = larger;
    return true;
}

static int push_number(struct machine *machine, struct number_list *list, uint32_t number)
{
    if (!grow(&list->items, list->count, &list->capacity, sizeof *list->items))
        return fail(machine, "out of memory");
    list->items[list->count++] = number;
    return 0;
}

static int push_again(struct machine *machine, uint32_t value)
{
    return push_number(machine, &machine->stack, value);
}

static int push(struct machine *machine, struct pickle_value value)
{
    struct pickle_document *document = machine->document;
    if (machine->cursor.failed)
        return fail(machine, "it is cut off");
    if (!grow(&document->values, document->value_count, &document->value_capacity, sizeof value))
        return fail(machine, "out of memory");
    document->values[document->value_count] = value;
    return push_again(machine, document->value_count++);
}

/* How many values lie above the last mark. */
static uint32_t above_mark(const struct machine *machine)
{
    uint32_t below = machine->marks.count ? machine->marks.items[machine->marks.count - 1] : 0;
    return machine->stack.count - below;
}

/* PICKLE_NONE when there is none within reach. */
static uint32_t pop(struct machine *machine)
{
    if (above_mark(machine) == 0) {
        fail(machine, "a value is missing");
        return PICKLE_NONE;
    }
    return machine->stack.items[--machine->stack.count];
}

/* The topmost value, left where it is; NULL when there is none. */
static struct pickle_value *top(struct machine *machine)
{
    if (above_mark(machine) == 0) {
        fail(machine, "a value is missing");
        return NULL;
    }
    return &machine->document->values[machine->stack.items[machine->stack.count - 1]];
}

/* Scalars. `bytes` is how many the value takes. */

static int read_null(struct machine *machine, int unused)
{
    (void)unused;
    return push(machine, (struct pickle_value){.kind = PICKLE_NULL});
}

static int read_boolean(struct machine *machine, int value)
{
    return push(machine, (struct pickle_value){.kind = PICKLE_BOOLEAN, .integer = value});
}

static int push_integer(struct machine *machine, int64_t integer)
{
    return push(machine, (struct pickle_value){.kind = PICKLE_INTEGER, .integer = integer});
}

static uint64_t get_unsigned(struct machine *machine, int bytes)
{
    switch (bytes) {
    case 1:
        return cursor_get_u8(&machine->cursor);
    case 2:
        return cursor_get_u16(&machine->cursor);
    case 4:
        return cursor_get_u32(&machine->cursor);
    default:
        return cursor_get_u64(&machine->cursor);
    }
}

/* Of four bytes it has a sign. */
static int read_integer(struct machine *machine, int bytes)
{
    uint64_t value = get_unsigned(machine, bytes);
    return push_integer(machine, bytes == 4 ? (int32_t)value : (int64_t)value);
}

/* Counted bytes in two's complement, lowest first. What eight bytes cannot hold is clamped. */
static int read_long(struct machine *machine, int size_bytes)
{
    uint64_t size = get_unsigned(machine, size_bytes);
    const uint8_t *digits = size <= UINT32_MAX ? cursor_get(&machine->cursor, (size_t)size) : NULL;
    if (!digits)
        return fail(machine, "a number is longer than the file");
    bool negative = size && digits[size - 1] & 0x80;
    uint8_t filling = negative ? 0xff : 0;
    uint64_t value = 0;
    for (uint64_t i = 0; i < 8; i++)
        value |= (uint64_t)(i < size ? digits[i] : filling) << (8 * i);
    bool fits = (value >> 63) == negative;
    for (uint64_t i = 8; i < size; i++)
        fits = fits && digits[i] == filling;
    if (!fits)
        return push_integer(machine, negative ? INT64_MIN : INT64_MAX);
    return push_integer(machine, (int64_t)value);
}

static int read_real(struct machine *machine, int unused)
{
    (void)unused;
    uint64_t bits = __builtin_bswap64(cursor_get_u64(&machine->cursor)); /* it is big-endian */
    struct pickle_value value = {.kind = PICKLE_REAL};
    memcpy(&value.real, &bits, sizeof value.real);
    return push(machine, value);
}

static int push_text(struct machine *machine, const uint8_t *text, uint64_t size)
{
    if (!text)
        return fail(machine, "a text is longer than the file");
    return push(machine, (struct pickle_value){
                             .kind = PICKLE_TEXT, .text = (const char *)text, .count = (uint32_t)size});
}

static int read_text(struct machine *machine, int size_bytes)
{
    uint64_t size = get_unsigned(machine, size_bytes);
    bool fits = size <= cursor_left(&machine->cursor);
    return push_text(machine, fits ? cursor_get(&machine->cursor, (size_t)size) : NULL, size);
}

/* Containers. */

static int open_container(struct machine *machine, int kind)
{
    return push(machine,
                (struct pickle_value){.kind = (uint8_t)kind, .first = PICKLE_NONE, .last = PICKLE_NONE});
}

static int add_item(struct machine *machine, struct pickle_value *container, uint32_t value)
{
    struct pickle_document *document = machine->document;
    if (!grow(&document->items, document->item_count, &document->item_capacity, sizeof *document->items))
        return fail(machine, "out of memory");
    uint32_t place = document->item_count++;
    document->items[place] = (struct pickle_item){value, PICKLE_NONE};
    if (container->count++)
        document->items[container->last].next = place;
    else
        container->first = place;
    container->last = place;
    return 0;
}

/* The topmost `count` values of the stack become items of the container. */
static int add_items(struct machine *machine, struct pickle_value *container, uint32_t count)
{
    const uint32_t *values = machine->stack.items + machine->stack.count - count;
    for (uint32_t i = 0; i < count; i++)
        if (add_item(machine, container, values[i]) < 0)
            return -1;
    machine->stack.count -= count;
    return 0;
}

/* A container of the topmost `count` values, in their place. */
static int collect(struct machine *machine, enum pickle_kind kind, uint32_t count)
{
    struct pickle_value value = {.kind = (uint8_t)kind, .first = PICKLE_NONE, .last = PICKLE_NONE};
    if (above_mark(machine) < count)
        return fail(machine, "a value is missing");
    if (kind == PICKLE_DICT && count % 2)
        return fail(machine, "a key has no value");
    return add_items(machine, &value, count) < 0 ? -1 : push(machine, value);
}

/* Takes the last mark away; the values above it can be reached together with those below. -1 = there is none. */
static int take_mark(struct machine *machine, uint32_t *count)
{
    if (!machine->marks.count)
        return fail(machine, "a mark is missing");
    *count = above_mark(machine);
    machine->marks.count--;
    return 0;
}

static int collect_marked(struct machine *machine, int kind)
{
    uint32_t count;
    return take_mark(machine, &count) < 0 ? -1 : collect(machine, (enum pickle_kind)kind, count);
}

static int collect_tuple(struct machine *machine, int count)
{
    return collect(machine, PICKLE_TUPLE, (uint32_t)count);
}

/* The topmost `count` values go into the container below them. */
static int extend(struct machine *machine, enum pickle_kind kind, uint32_t count)
{
    if (above_mark(machine) <= count)
        return fail(machine, "a value is missing");
    uint32_t container = machine->stack.items[machine->stack.count - count - 1];
    if (machine->document->values[container].kind != kind)
        return fail(machine, "something is put into a value that holds nothing of that kind");
    if (kind == PICKLE_DICT && count % 2)
        return fail(machine, "a key has no value");
    return add_items(machine, &machine->document->values[container], count);
}

static int extend_one(struct machine *machine, int kind)
{
    return extend(machine, (enum pickle_kind)kind, kind == PICKLE_DICT ? 2 : 1);
}

static int extend_marked(struct machine *machine, int kind)
{
    uint32_t count;
    return take_mark(machine, &count) < 0 ? -1 : extend(machine, (enum pickle_kind)kind, count);
}

/* The stack itself. */

static int mark(struct machine *machine, int unused)
{
    (void)unused;
    return push_number(machine, &machine->marks, machine->stack.count);
}

/* One value, or where nothing lies above the last mark that mark. */
static int drop(struct machine *machine, int unused)
{
    uint32_t count;
    (void)unused;
    if (machine->marks.count && above_mark(machine) == 0)
        return take_mark(machine, &count);
    return pop(machine) == PICKLE_NONE ? -1 : 0;
}

static int drop_marked(struct machine *machine, int unused)
{
    uint32_t count;
    (void)unused;
    if (take_mark(machine, &count) < 0)
        return -1;
    machine->stack.count -= count;
    return 0;
}

static int duplicate(struct machine *machine, int unused)
{
    (void)unused;
    return top(machine) ? push_again(machine, machine->stack.items[machine->stack.count - 1]) : -1;
}

/* The memo. */

static int memoize_as(struct machine *machine, uint64_t number)
{
    if (!top(machine))
        return -1;
    if (!map_set(&machine->memo, number, machine->stack.items[machine->stack.count - 1]))
        return fail(machine, "out of memory");
    return 0;
}

static int memoize(struct machine *machine, int unused)
{
    (void)unused;
    return memoize_as(machine, machine->memoized++);
}

static int put(struct machine *machine, int bytes)
{
    return memoize_as(machine, get_unsigned(machine, bytes));
}

static int get(struct machine *machine, int bytes)
{
    uint32_t value = map_get(&machine->memo, get_unsigned(machine, bytes));
    if (machine->cursor.failed || value == MAP_NONE)
        return fail(machine, "it refers to a value that is not there");
    return push_again(machine, value);
}

/* Classes and objects: names of them. */

/* A text up to the end of the line. */
static int read_line(struct machine *machine)
{
    const uint8_t *start = machine->cursor.at;
    const uint8_t *end =
        cursor_left(&machine->cursor) ? memchr(start, '\n', cursor_left(&machine->cursor)) : NULL;
    if (!end)
        return fail(machine, "a name is longer than the file");
    cursor_get(&machine->cursor, (size_t)(end - start) + 1);
    return push_text(machine, start, (uint64_t)(end - start));
}

static bool is_text(const struct machine *machine, uint32_t value)
{
    return value != PICKLE_NONE && machine->document->values[value].kind == PICKLE_TEXT;
}

static int name_class(struct machine *machine, int unused)
{
    (void)unused;
    uint32_t name = pop(machine), module = pop(machine);
    if (!is_text(machine, name) || !is_text(machine, module))
        return fail(machine, "a class has no name");
    return push(machine, (struct pickle_value){.kind = PICKLE_CLASS, .module = module, .name = name});
}

static int read_class(struct machine *machine, int unused)
{
    return read_line(machine) < 0 || read_line(machine) < 0 ? -1 : name_class(machine, unused);
}

/* An object of a class, or whatever a function would have given; neither is called. */
static int make_object(struct machine *machine, int argument_count)
{
    for (int i = 0; i < argument_count; i++)
        if (pop(machine) == PICKLE_NONE)
            return -1;
    uint32_t type = pop(machine);
    if (type == PICKLE_NONE || machine->document->values[type].kind != PICKLE_CLASS)
        return fail(machine, "an object has no class");
    return push(machine, (struct pickle_value){.kind = PICKLE_OBJECT, .type = type, .state = PICKLE_NONE});
}

static int set_state(struct machine *machine, int unused)
{
    (void)unused;
    uint32_t state = pop(machine);
    struct pickle_value *object = state == PICKLE_NONE ? NULL : top(machine);
    if (!object || object->kind != PICKLE_OBJECT)
        return fail(machine, "something that is no object has a state");
    object->state = state;
    return 0;
}

static int skip(struct machine *machine, int bytes)
{
    return cursor_get(&machine->cursor, (size_t)bytes) ? 0 : fail(machine, "it is cut off");
}

/* By opcode: what is done, and with what. Those of protocols 0 and 1, persistent ids, registered extensions and
 * buffers outside the file are left out: no file of ours has them. */
static const struct opcode {
    int (*run)(struct machine *machine, int argument);
    int argument;
} opcodes[256] = {
    [OPCODE_PROTOCOL] = {skip, 1},
    [0x95] = {skip, 8}, /* a frame: how many bytes could be read at once */
    ['N'] = {read_null, 0},
    [0x88] = {read_boolean, 1},
    [0x89] = {read_boolean, 0},
    ['K'] = {read_integer, 1},
    ['M'] = {read_integer, 2},
    ['J'] = {read_integer, 4},
    [0x8a] = {read_long, 1},
    [0x8b] = {read_long, 4},
    ['G'] = {read_real, 0},
    ['U'] = {read_text, 1}, /* str of Python 2 */
    ['T'] = {read_text, 4},
    ['C'] = {read_text, 1}, /* bytes */
    ['B'] = {read_text, 4},
    [0x8e] = {read_text, 8},
    [0x96] = {read_text, 8}, /* bytearray */
    [0x8c] = {read_text, 1}, /* str */
    ['X'] = {read_text, 4},
    [0x8d] = {read_text, 8},
    [')'] = {open_container, PICKLE_TUPLE},
    [']'] = {open_container, PICKLE_LIST},
    ['}'] = {open_container, PICKLE_DICT},
    [0x8f] = {open_container, PICKLE_LIST}, /* a set */
    [0x85] = {collect_tuple, 1},
    [0x86] = {collect_tuple, 2},
    [0x87] = {collect_tuple, 3},
    ['t'] = {collect_marked, PICKLE_TUPLE},
    ['l'] = {collect_marked, PICKLE_LIST},
    ['d'] = {collect_marked, PICKLE_DICT},
    [0x91] = {collect_marked, PICKLE_LIST}, /* a frozenset */
    ['a'] = {extend_one, PICKLE_LIST},
    ['s'] = {extend_one, PICKLE_DICT},
    ['e'] = {extend_marked, PICKLE_LIST},
    [0x90] = {extend_marked, PICKLE_LIST}, /* to a set */
    ['u'] = {extend_marked, PICKLE_DICT},
    ['('] = {mark, 0},
    ['0'] = {drop, 0},
    ['1'] = {drop_marked, 0},
    ['2'] = {duplicate, 0},
    [0x94] = {memoize, 0},
    ['q'] = {put, 1},
    ['r'] = {put, 4},
    ['h'] = {get, 1},
    ['j'] = {get, 4},
    ['c'] = {read_class, 0},
    [0x93] = {name_class, 0},
    ['R'] = {make_object, 1},
    [0x81] = {make_object, 1},
    [0x92] = {make_object, 2},
    ['b'] = {set_state, 0},
};

static int run(struct machine *machine)
{
    for (;;) {
        uint8_t code = cursor_get_u8(&machine->cursor);
        if (machine->cursor.failed)
            return fail(machine, "it is cut off");
        if (code == OPCODE_STOP)
            return (machine->document->root = pop(machine)) == PICKLE_NONE ? -1 : 0;
        if (!opcodes[code].run)
            return fail(machine, "it does something that data files do not do");
        if (opcodes[code].run(machine, opcodes[code].argument) < 0)
            return -1;
    }
}

bool pickle_recognises(const void *data, size_t size)
{
    const uint8_t *bytes = data;
    return size > 2 && bytes[0] == OPCODE_PROTOCOL && bytes[1] >= 2 && bytes[1] <= 5;
}

int pickle_parse(const void *data, size_t size, struct pickle_document *document, struct err *err)
{
    if (size > UINT32_MAX - 1)
        return err_set(err, "it is larger than 4 GiB");
    if (!pickle_recognises(data, size))
        return err_set(err, "it is no pickle of protocol 2 to 5");
    struct machine machine = {.cursor = cursor_on(data, size), .document = document};
    int result = run(&machine);
    if (result < 0)
        err_set(err, "%s, at byte %zu of %zu", machine.problem,
                (size_t)(machine.cursor.at - (const uint8_t *)data), size);
    free(machine.stack.items);
    free(machine.marks.items);
    map_clear(&machine.memo);
    return result;
}

void pickle_clear(struct pickle_document *document)
{
    free(document->values);
    free(document->items);
    *document = (struct pickle_document){0};
}

static bool is_same_text(const struct pickle_value *value, const char *text)
{
    return value->kind == PICKLE_TEXT && value->count == strlen(text) &&
           memcmp(value->text, text, value->count) == 0;
}

bool pickle_is_class(const struct pickle_document *document, uint32_t value, const char *module,
                     const char *name)
{
    const struct pickle_value *type = pickle_at(document, value);
    if (type->kind == PICKLE_OBJECT)
        type = pickle_at(document, type->type);
    return type->kind == PICKLE_CLASS && is_same_text(pickle_at(document, type->module), module) &&
           is_same_text(pickle_at(document, type->name), name);
}

uint32_t pickle_find(const struct pickle_document *document, uint32_t dict, const char *key)
{
    uint32_t found = PICKLE_NONE;
    if (dict == PICKLE_NONE || pickle_at(document, dict)->kind != PICKLE_DICT)
        return PICKLE_NONE;
    for (uint32_t at = pickle_at(document, dict)->first; at != PICKLE_NONE;) {
        const struct pickle_item *item = &document->items[at];
        const struct pickle_item *value = &document->items[item->next];
        if (is_same_text(pickle_at(document, item->value), key))
            found = value->value;
        at = value->next;
    }
    return found;
}

bool pickle_get_tuple(const struct pickle_document *document, uint32_t tuple, uint32_t *items, uint32_t count)
{
    const struct pickle_value *value = pickle_at(document, tuple);
    if (value->kind != PICKLE_TUPLE || value->count != count)
        return false;
    uint32_t at = value->first;
    for (uint32_t i = 0; i < count; i++, at = document->items[at].next)
        items[i] = document->items[at].value;
    return true;
}
