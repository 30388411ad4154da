/*
 * answer: what a query gives to the page: a few values and named arrays of numbers, in one block of bytes that
 * is the same over HTTP and out of WebAssembly.
 *
 *   0   u32   ANSWER_MAGIC
 *   4   u32   size of the head
 *   8   head: JSON, {"values": {...}, "arrays": {"name": ["f64", offset, count], ...}} or {"error": "..."},
 *       padded with spaces to a multiple of 8; offsets count from the end of the head
 *   …   the arrays, little-endian, each at a multiple of 8
 *
 * Types: u8, u32, f64. A list of texts is two arrays: `name` (u8, UTF-8) and `name_at` (u32, one more than there are
 * texts). Times are f64 nanoseconds: exact up to 104 days. Shares are f64 parts of a whole, from 0 to 1; NaN (null in the
 * head) where there is no whole. The page divides nothing, so whatever it shows in per cent comes as one.
 *
 * Between answer_begin and answer_end values and arrays may be put in any order. A zeroed struct is empty; the
 * answer owns its memory until answer_clear. Failure is sticky and told by answer_end.
 */
#ifndef SONDE_QUERY_ANSWER_H
#define SONDE_QUERY_ANSWER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/json.h"

#define ANSWER_MAGIC 0x31415153u /* "SQA1" */

struct err;

struct answer {
    struct bytes values; /* JSON */
    struct json json;    /* writes into `values`; put objects and lists through it */
    struct bytes index;  /* JSON, with offsets from the first array */
    struct json index_json;
    struct bytes arrays; /* behind room for the head: mostly the block is whole when the head is put there */
};

void answer_begin(struct answer *answer);
/* Room for arrays of so many bytes in all: until it is used up they stay where they are, and may be filled later. */
bool answer_reserve(struct answer *answer, size_t size_bytes);
/* Array `name`: a place for `count` items, zeroed, to be filled before the next put; NULL when memory ran out. */
double *answer_reals(struct answer *answer, const char *name, size_t count);
uint32_t *answer_numbers(struct answer *answer, const char *name, size_t count);
uint8_t *answer_small(struct answer *answer, const char *name, size_t count);
/* A list of texts: `ends[i]` is where text i ends in `text`. */
void answer_texts(struct answer *answer, const char *name, const struct bytes *text, const uint32_t *ends,
                  size_t count);
/* The block, appended to `out`; when that is empty, without a copy of the arrays. */
int answer_end(struct answer *answer, struct bytes *out, struct err *err);
void answer_clear(struct answer *answer);

static inline double answer_share(double part, double whole)
{
    return whole > 0 ? part / whole : NAN;
}
/* A share among the values. */
void answer_put_share(struct answer *answer, const char *key, double part, double whole);

/* An answer that says why there is none. */
void answer_put_error(const char *text, struct bytes *out);

#endif
