#include "import/marshal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"

#define DEPTH_MAX      32
#define FLAG_REFERENCE 0x80

/*
 * A code object: 4 numbers (Python 2), 6 (3.8 to 3.10) or 5 (all others), then eight objects, the first line,
 * and one object more, from 3.11 on two. Of the eight, the first is the bytecode. The fifth tells the two
 * orders apart: a tuple until 3.10, where the eighth is the name; bytes from 3.11 on, where the seventh is.
 */
#define CODE_OBJECTS  8
#define CODE_FIFTH    4
#define CODE_NAME_OLD 7
#define CODE_NAME_NEW 6

/* Indexes of values that later bytes may name by number. */
struct index_list {
    uint32_t *items;
    uint32_t count, capacity;
};

/* A container whose items are still being read. */
struct open_container {
    uint32_t index;
    uint32_t left; /* items still to come; unused for dicts, which end with a mark */
    bool at_end;   /* of a code object: its first line was read */
};

struct parser {
    struct cursor cursor;
    struct marshal_document *document;
    struct index_list references; /* 'r': Python 3.4 and later, values that carry FLAG_REFERENCE */
    struct index_list interned;   /* 'R': Python 2, values of type 't' */
    struct open_container open[DEPTH_MAX];
    unsigned depth;
    unsigned code_numbers; /* at the start of a code object; 0 = none seen yet */
    const char *problem;   /* NULL = none yet */
};

static int fail(struct parser *parser, const char *problem)
{
    if (!parser->problem)
        parser->problem = problem;
    return -1;
}

static int grow(void **items, uint32_t *capacity, size_t item_size)
{
    uint32_t larger = *capacity ? *capacity * 2 : 256;
    void *grown = larger > *capacity ? realloc(*items, larger * item_size) : NULL;
    if (!grown)
        return -1;
    *items = grown;
    *capacity = larger;
    return 0;
}

static int remember(struct parser *parser, struct index_list *list, uint32_t index)
{
    if (list->count == list->capacity &&
        grow((void **)&list->items, &list->capacity, sizeof *list->items) < 0)
        return fail(parser, "out of memory");
    list->items[list->count++] = index;
    return 0;
}

static int add_value(struct parser *parser, struct marshal_value value)
{
    struct marshal_document *document = parser->document;
    if (document->count == document->capacity &&
        grow((void **)&document->values, &document->capacity, sizeof *document->values) < 0)
        return fail(parser, "out of memory");
    value.next = document->count + 1;
    document->values[document->count++] = value;
    return 0;
}

static int add_integer(struct parser *parser, int64_t integer)
{
    return add_value(parser, (struct marshal_value){.kind = MARSHAL_INTEGER, .integer = integer});
}

/* A long: a count of 15-bit digits, its sign that of the number, then the digits, lowest first. */
static int read_long(struct parser *parser)
{
    int64_t count = (int32_t)cursor_get_u32(&parser->cursor);
    uint64_t digits = (uint64_t)(count < 0 ? -count : count);
    if (digits > cursor_left(&parser->cursor) / 2)
        return fail(parser, "a number is cut off");
    uint64_t value = 0;
    for (uint64_t i = 0; i < digits; i++) {
        uint64_t digit = cursor_get_u16(&parser->cursor) & 0x7fff;
        if (i < 4)
            value |= digit << (15 * i);
        else if (digit)
            value = INT64_MAX;
    }
    return add_integer(parser, count < 0 ? -(int64_t)value : (int64_t)value);
}

static int add_real(struct parser *parser, double real)
{
    return add_value(parser, (struct marshal_value){.kind = MARSHAL_REAL, .real = real});
}

static int read_binary_real(struct parser *parser)
{
    uint64_t bits = cursor_get_u64(&parser->cursor);
    double real;
    memcpy(&real, &bits, sizeof real);
    return add_real(parser, real);
}

static int read_text_real(struct parser *parser)
{
    uint8_t size = cursor_get_u8(&parser->cursor);
    const uint8_t *text = cursor_get(&parser->cursor, size);
    char copy[256] = {0};
    if (!text)
        return fail(parser, "a number is cut off");
    memcpy(copy, text, size);
    char *end = copy;
    double real = strtod(copy, &end);
    return size && *end == '\0' ? add_real(parser, real) : fail(parser, "a number is malformed");
}

static int read_text(struct parser *parser, uint32_t size)
{
    const uint8_t *text = cursor_get(&parser->cursor, size);
    if (!text)
        return fail(parser, "a text is longer than the file");
    return add_value(parser,
                     (struct marshal_value){.kind = MARSHAL_TEXT, .text = (const char *)text, .count = size});
}

static int open_container(struct parser *parser, enum marshal_kind kind, uint32_t items)
{
    if (parser->cursor.failed || items > cursor_left(&parser->cursor))
        return fail(parser, "a tuple is longer than the file");
    if (parser->depth == DEPTH_MAX)
        return fail(parser, "it is nested too deeply");
    parser->open[parser->depth++] = (struct open_container){.index = parser->document->count, .left = items};
    return add_value(parser, (struct marshal_value){.kind = (uint8_t)kind, .count = items});
}

/* The file does not say which Python wrote it, but the bytecode, a text, comes right after the numbers. */
static unsigned count_code_numbers(struct cursor cursor)
{
    for (unsigned numbers = 1; numbers <= 6; numbers++) {
        cursor_get_u32(&cursor);
        struct cursor behind = cursor;
        bool text = (cursor_get_u8(&behind) & ~FLAG_REFERENCE) == 's';
        uint32_t size = cursor_get_u32(&behind);
        if (numbers >= 4 && text && !behind.failed && size && size <= cursor_left(&behind))
            return numbers;
    }
    return 0;
}

static int open_code(struct parser *parser)
{
    if (!parser->code_numbers)
        parser->code_numbers = count_code_numbers(parser->cursor);
    if (!parser->code_numbers)
        return fail(parser, "it holds a code object of an unknown Python version");
    for (unsigned i = 0; i < parser->code_numbers; i++)
        cursor_get_u32(&parser->cursor);
    return open_container(parser, MARSHAL_CODE, CODE_OBJECTS);
}

static int skip(struct parser *parser, size_t size)
{
    cursor_get(&parser->cursor, size);
    return add_value(parser, (struct marshal_value){.kind = MARSHAL_NONE});
}

static int skip_text_complex(struct parser *parser)
{
    cursor_get(&parser->cursor, cursor_get_u8(&parser->cursor));
    return skip(parser, cursor_get_u8(&parser->cursor));
}

/* Names an earlier value; a container that is still open would make a cycle. */
static int read_reference(struct parser *parser, const struct index_list *list)
{
    uint32_t number = cursor_get_u32(&parser->cursor);
    if (parser->cursor.failed || number >= list->count)
        return fail(parser, "it refers to a value that is not there");
    uint32_t target = list->items[number];
    for (unsigned i = 0; i < parser->depth; i++)
        if (parser->open[i].index == target)
            return fail(parser, "a value contains itself");
    struct marshal_value value = parser->document->values[target];
    if (value.kind >= MARSHAL_TUPLE)
        value = (struct marshal_value){.kind = MARSHAL_REFERENCE, .target = target};
    return add_value(parser, value);
}

static int read_typed(struct parser *parser, char type)
{
    struct cursor *cursor = &parser->cursor;
    switch (type) {
    case 'N':
    case '.':
    case 'S':
        return skip(parser, 0);
    case 'y':
        return skip(parser, 16);
    case 'x':
        return skip_text_complex(parser);
    case 'T':
    case 'F':
        return add_value(parser, (struct marshal_value){.kind = MARSHAL_BOOLEAN, .integer = type == 'T'});
    case 'i':
        return add_integer(parser, (int32_t)cursor_get_u32(cursor));
    case 'I':
        return add_integer(parser, (int64_t)cursor_get_u64(cursor));
    case 'l':
        return read_long(parser);
    case 'g':
        return read_binary_real(parser);
    case 'f':
        return read_text_real(parser);
    case 'z':
    case 'Z':
        return read_text(parser, cursor_get_u8(cursor));
    case 's':
    case 't':
    case 'u':
    case 'a':
    case 'A':
        return read_text(parser, cursor_get_u32(cursor));
    case ')':
        return open_container(parser, MARSHAL_TUPLE, cursor_get_u8(cursor));
    case '(':
        return open_container(parser, MARSHAL_TUPLE, cursor_get_u32(cursor));
    case '[':
    case '<':
    case '>':
        return open_container(parser, MARSHAL_LIST, cursor_get_u32(cursor));
    case ':':
        return open_container(parser, MARSHAL_LIST, 3);
    case '{':
        return open_container(parser, MARSHAL_DICT, 0);
    case 'c':
        return open_code(parser);
    case 'r':
        return read_reference(parser, &parser->references);
    case 'R':
        return read_reference(parser, &parser->interned);
    default:
        return fail(parser, "it holds a kind of value that data files do not have");
    }
}

static int read_value(struct parser *parser, uint8_t byte)
{
    uint32_t index = parser->document->count;
    char type = (char)(byte & ~FLAG_REFERENCE);
    /* Numbered before it is read: Python counts a container before what it holds. */
    if (byte & FLAG_REFERENCE && type != 'r' && remember(parser, &parser->references, index) < 0)
        return -1;
    if (type == 't' && remember(parser, &parser->interned, index) < 0)
        return -1;
    if (read_typed(parser, type) < 0)
        return -1;
    return parser->cursor.failed ? fail(parser, "it is cut off") : 0;
}

static uint32_t item_of(const struct marshal_document *document, uint32_t container, unsigned item)
{
    uint32_t index = container + 1;
    while (item--)
        index = marshal_next(document, index);
    return index;
}

static bool is_new_code(const struct marshal_document *document, uint32_t code)
{
    return marshal_at(document, item_of(document, code, CODE_FIFTH))->kind == MARSHAL_TEXT;
}

uint32_t marshal_code_name(const struct marshal_document *document, uint32_t index)
{
    return item_of(document, index, is_new_code(document, index) ? CODE_NAME_NEW : CODE_NAME_OLD);
}

/* After the eight objects of a code object: steps over the first line; what is left comes after it. */
static void read_code_end(struct parser *parser, struct open_container *code)
{
    cursor_get_u32(&parser->cursor);
    code->at_end = true;
    code->left = is_new_code(parser->document, code->index) ? 2 : 1;
}

/* Closes every container that has all its items, innermost first. */
static void close_full(struct parser *parser)
{
    struct marshal_value *values = parser->document->values;
    while (parser->depth) {
        struct open_container *top = &parser->open[parser->depth - 1];
        if (values[top->index].kind == MARSHAL_DICT || top->left)
            return;
        if (values[top->index].kind == MARSHAL_CODE && !top->at_end) {
            read_code_end(parser, top);
            return;
        }
        values[top->index].next = parser->document->count;
        parser->depth--;
    }
}

static int close_dict(struct parser *parser)
{
    struct open_container *top = parser->depth ? &parser->open[parser->depth - 1] : NULL;
    struct marshal_value *dict = top ? &parser->document->values[top->index] : NULL;
    if (!dict || dict->kind != MARSHAL_DICT || dict->count % 2)
        return fail(parser, "a value is missing");
    dict->next = parser->document->count;
    parser->depth--;
    return 0;
}

/* One more item for the innermost open container. */
static void count_item(struct parser *parser)
{
    if (!parser->depth)
        return;
    struct open_container *top = &parser->open[parser->depth - 1];
    struct marshal_value *container = &parser->document->values[top->index];
    if (container->kind == MARSHAL_DICT)
        container->count++;
    else
        top->left--;
}

static int parse_all(struct parser *parser)
{
    do {
        uint8_t byte = cursor_get_u8(&parser->cursor);
        if (parser->cursor.failed)
            return fail(parser, "it is cut off");
        if (byte == '0') {
            if (close_dict(parser) < 0)
                return -1;
        } else {
            count_item(parser);
            if (read_value(parser, byte) < 0)
                return -1;
        }
        close_full(parser);
    } while (parser->depth);
    return 0;
}

int marshal_parse(const void *data, size_t size, struct marshal_document *document, struct err *err)
{
    if (size > UINT32_MAX - 1)
        return err_set(err, "it is larger than 4 GiB");
    struct parser parser = {.cursor = cursor_on(data, size), .document = document};
    int result = parse_all(&parser);
    if (result < 0)
        err_set(err, "%s, at byte %zu of %zu", parser.problem,
                (size_t)(parser.cursor.at - (const uint8_t *)data), size);
    free(parser.references.items);
    free(parser.interned.items);
    return result;
}

void marshal_clear(struct marshal_document *document)
{
    free(document->values);
    *document = (struct marshal_document){0};
}
