/*
 * marshal: the part of Python's marshal format that data files use (numbers, text, tuples, lists, dicts), as
 * written by Python 2.7 and every Python 3. Code objects are stepped over, though each Python lays them out in
 * its own way: `python -m profile` puts one into its files as the name of the script's main function.
 *
 * The values lie in one array in the order of the file, a container before its items, so item 0 of the
 * container at `i` is at i + 1 and each further one follows at marshal_next. A dict's items are key, value,
 * key, value... A back reference is looked through by marshal_at; it can only name a value that ended before,
 * so there are no cycles. Every value costs at least one byte of input, which bounds the array.
 *
 * Text points into the bytes that were parsed; the document owns only its arrays.
 */
#ifndef SONDE_IMPORT_MARSHAL_H
#define SONDE_IMPORT_MARSHAL_H

#include <stddef.h>
#include <stdint.h>

struct err;

enum marshal_kind {
    MARSHAL_NONE = 1, /* also what only code objects hold: complex numbers, Ellipsis */
    MARSHAL_BOOLEAN,  /* integer: 0 or 1 */
    MARSHAL_INTEGER,
    MARSHAL_REAL,
    MARSHAL_TEXT, /* UTF-8 (lone surrogates as three bytes), or any bytes from Python 2 */
    MARSHAL_TUPLE,
    MARSHAL_LIST, /* also sets and slices */
    MARSHAL_DICT,
    MARSHAL_CODE,      /* its objects are its items; see marshal_code_name */
    MARSHAL_REFERENCE, /* never seen through marshal_at */
};

struct marshal_value {
    union {
        int64_t integer; /* larger ones are clamped */
        double real;
        const char *text;
        uint32_t target; /* of a reference */
    };
    uint32_t count; /* bytes of text; items of a container, a dict's keys and values counted apart */
    uint32_t next;  /* index after this value and all that it holds */
    uint8_t kind;   /* enum marshal_kind */
};

struct marshal_document {
    struct marshal_value *values; /* [0] = the outermost value */
    uint32_t count, capacity;
};

/* Parses one value; bytes after it are ignored, as Python does. */
int marshal_parse(const void *data, size_t size, struct marshal_document *document, struct err *err);
void marshal_clear(struct marshal_document *document);

/* Where the value at `index` really lies: the same, or the target of a reference. */
static inline uint32_t marshal_resolve(const struct marshal_document *document, uint32_t index)
{
    const struct marshal_value *value = &document->values[index];
    return value->kind == MARSHAL_REFERENCE ? value->target : index;
}

static inline const struct marshal_value *marshal_at(const struct marshal_document *document, uint32_t index)
{
    return &document->values[marshal_resolve(document, index)];
}

static inline uint32_t marshal_next(const struct marshal_document *document, uint32_t index)
{
    return document->values[index].next;
}

/* Index of the co_name of the code object at `index`. */
uint32_t marshal_code_name(const struct marshal_document *document, uint32_t index);

#endif
