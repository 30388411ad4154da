/*
 * json_reader: JSON text → its tokens, one at a time, in order. Nothing is kept but the token at hand, so a file may be
 * of any size. Nesting is limited, nothing recurses.
 *
 * Bytes in strings are passed on as they are (escapes resolved, lone surrogates as U+FFFD); whether they are UTF-8 is
 * not checked. After the first mistake every token is JSON_WRONG. A zeroed struct with `at` and `end` set is ready;
 * it owns `text` until json_reader_clear.
 */
#ifndef SONDE_BASE_JSON_READER_H
#define SONDE_BASE_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum json_token {
    JSON_WRONG, /* not JSON, nested too deeply, or memory ran out */
    JSON_END,   /* the whole text was one value */
    JSON_OBJECT,
    JSON_OBJECT_END,
    JSON_ARRAY,
    JSON_ARRAY_END,
    JSON_KEY,    /* in `text` */
    JSON_STRING, /* in `text` */
    JSON_NUMBER, /* in `number` */
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL,
};

#define JSON_READER_DEPTH 64

struct json_reader {
    const char *at, *end;
    struct bytes text;
    double number;
    uint64_t objects; /* by depth: a bit for each that is an object */
    unsigned depth;
    enum json_token last;
};

enum json_token json_reader_next(struct json_reader *reader);
/* Passes over the value that the last token began; does nothing after a whole one. False when it is not JSON. */
bool json_reader_skip(struct json_reader *reader);
/* Whether `text` is exactly this. */
bool json_reader_is(const struct json_reader *reader, const char *text);
void json_reader_clear(struct json_reader *reader);

#endif
