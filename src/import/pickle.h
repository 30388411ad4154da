/*
 * pickle: Python's pickle format, protocols 2 to 5, as data. Nothing is ever run or imported: a class is two
 * names, and an object is its class and its state.
 *
 * A pickle is a program for a machine with a stack; here the stack holds numbers of values. A container's items
 * are a chain, since they may come in several batches. Values can be shared and can contain themselves: walk them
 * to a depth that is known beforehand, and count the steps, as one byte of input can name a large value again.
 * Every step of the program costs at least a byte of input and makes at most one value and one item, which
 * bounds the arrays.
 *
 * Text points into the bytes that were parsed; the document owns only its arrays.
 */
#ifndef SONDE_IMPORT_PICKLE_H
#define SONDE_IMPORT_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define PICKLE_NONE UINT32_MAX /* no value, or the end of a chain */

enum pickle_kind {
    PICKLE_NULL = 1, /* None */
    PICKLE_BOOLEAN,  /* integer: 0 or 1 */
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT, /* UTF-8 (lone surrogates as three bytes), or any bytes */
    PICKLE_TUPLE,
    PICKLE_LIST, /* also sets */
    PICKLE_DICT, /* items: key, value, key, value... A key may come twice: the last counts */
    PICKLE_CLASS,
    PICKLE_OBJECT,
};

struct pickle_value {
    union {
        int64_t integer; /* larger ones are clamped */
        double real;
        const char *text;
        struct {
            uint32_t first, last; /* items of a container */
        };
        struct {
            uint32_t module, name; /* of a class: texts */
        };
        struct {
            uint32_t type, state; /* of an object: what it is one of, and its state or PICKLE_NONE */
        };
    };
    uint32_t count; /* bytes of text; items of a container, a dict's keys and values counted apart */
    uint8_t kind;   /* enum pickle_kind */
};

struct pickle_item {
    uint32_t value, next;
};

struct pickle_document {
    struct pickle_value *values;
    struct pickle_item *items;
    uint32_t value_count, value_capacity;
    uint32_t item_count, item_capacity;
    uint32_t root; /* the value that was pickled */
};

/* Whether the bytes begin as a pickle of those protocols does. */
bool pickle_recognises(const void *data, size_t size);
/* Parses one pickle; bytes after it are ignored, as Python does. */
int pickle_parse(const void *data, size_t size, struct pickle_document *document, struct err *err);
void pickle_clear(struct pickle_document *document);

static inline const struct pickle_value *pickle_at(const struct pickle_document *document, uint32_t value)
{
    return &document->values[value];
}

/* Whether the value is a class, or an object of one, of that name. */
bool pickle_is_class(const struct pickle_document *document, uint32_t value, const char *module,
                     const char *name);
/* What a dict has under a text; PICKLE_NONE when it has nothing, or is no dict. */
uint32_t pickle_find(const struct pickle_document *document, uint32_t dict, const char *key);
/* Puts the items of a tuple of that many into `items`; false when it is none. */
bool pickle_get_tuple(const struct pickle_document *document, uint32_t tuple, uint32_t *items,
                      uint32_t count);

#endif
