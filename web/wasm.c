/*
 * The page's copy of sonde: store's reader, import, analyse and query, compiled to WebAssembly. A worker of the page puts
 * the bytes of a file into memory got by sonde_alloc, opens it, and asks; the last answer lies at sonde_answer until the
 * next call. Texts are given with their sizes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "store/compress.h"

#define EXPORT(name) __attribute__((export_name(#name)))

/* zstd is the page's: 0 when all of `out` was filled. */
__attribute__((import_module("page"), import_name("expand"))) int page_expand(const void *data, size_t size,
                                                                              void *out, size_t out_size);

static struct opened opened;
static struct bytes answer;

int compress_expand(const void *data, size_t size, void *out, size_t out_size)
{
    return page_expand(data, size, out, out_size);
}

EXPORT(sonde_alloc) void *sonde_alloc(size_t size)
{
    return malloc(size ? size : 1);
}

EXPORT(sonde_free) void sonde_free(void *memory)
{
    free(memory);
}

/* The recording's number, or -1 with the reason as the answer. `name` ends with a zero. */
EXPORT(sonde_open) int sonde_open(const char *name, const void *data, size_t size)
{
    struct err err = {0};
    bytes_reset(&answer);
    if (opened_add(&opened, name, data, size, &err) == 0)
        return (int)opened.count - 1;
    answer_put_error(err.text, &answer);
    return -1;
}

EXPORT(sonde_ask) void sonde_ask(const char *json, size_t size)
{
    bytes_reset(&answer);
    queries_ask(&opened, json, size, &answer);
}

EXPORT(sonde_answer) const uint8_t *sonde_answer(void)
{
    return answer.data;
}

EXPORT(sonde_answer_size) size_t sonde_answer_size(void)
{
    return answer.size;
}
