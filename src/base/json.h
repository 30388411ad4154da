/*
 * json: a streaming JSON writer into a `struct bytes`. Calls follow the text's order: begin, key, value, end.
 *
 * The writer keeps only whether a comma is due, so nesting is free and the caller may empty `out` between any
 * two calls. Text may be any bytes: what is not UTF-8 becomes U+FFFD, control characters are escaped. Numbers
 * that JSON cannot hold (NaN, infinities) become null. Failure is that of `out` (sticky; check it at the
 * end).
 */
#ifndef SONDE_BASE_JSON_H
#define SONDE_BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct json {
    struct bytes *out;
    bool comma;   /* before the next key or value */
    bool newline; /* asked for by json_line */
};

void json_begin_object(struct json *json);
void json_end_object(struct json *json);
void json_begin_array(struct json *json);
void json_end_array(struct json *json);
void json_key(struct json *json, const char *key);

void json_text(struct json *json, const char *text, size_t size);
void json_string(struct json *json, const char *text); /* NULL → null */
void json_unsigned(struct json *json, uint64_t value);
void json_signed(struct json *json, int64_t value);
void json_real(struct json *json, double value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);

/* A key with its value, where a line says it all. */
static inline void json_put_unsigned(struct json *json, const char *key, uint64_t value)
{
    json_key(json, key);
    json_unsigned(json, value);
}

static inline void json_put_real(struct json *json, const char *key, double value)
{
    json_key(json, key);
    json_real(json, value);
}

static inline void json_put_string(struct json *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

/* The next key, value or end begins on a new line. */
void json_line(struct json *json);

/* A table as text that people read, too: the list of that name, and each of its rows, on a line of its own. */
static inline void json_begin_list(struct json *json, const char *key)
{
    json_line(json);
    json_key(json, key);
    json_begin_array(json);
}

static inline void json_begin_row(struct json *json)
{
    json_line(json);
    json_begin_object(json);
}

#endif
