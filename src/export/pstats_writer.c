#include "export/pstats_writer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

/* What pstats knows a function by. */
struct label {
    uint32_t file, name, line;
};

struct labels {
    struct strings table;      /* struct label as bytes → label, counted from 1 */
    uint32_t *of_code;         /* code → label; 0 = none yet */
    uint32_t *codes;           /* label → a code that bears it */
    struct function_row *rows; /* label → sums; the code field is not used */
    struct edge_row *edges;    /* caller and callee are labels; by callee, then caller */
    uint32_t edge_count;
};

static uint32_t label_of(struct labels *labels, const struct recording *recording, uint32_t code)
{
    if (labels->of_code[code])
        return labels->of_code[code];
    const struct code *named = &recording->codes[code];
    struct label label = {named->file, named->name, named->line};
    uint32_t id = strings_intern(&labels->table, (const char *)&label, sizeof label);
    if (id == UINT32_MAX)
        return 0;
    labels->codes[id] = code;
    return labels->of_code[code] = id;
}

static void sum_edges(struct labels *labels)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < labels->edge_count; i++) {
        const struct edge_row *edge = &labels->edges[i];
        struct edge_row *last = kept ? &labels->edges[kept - 1] : NULL;
        if (!last || functions_compare_edges(last, edge) != 0) {
            labels->edges[kept++] = *edge;
            continue;
        }
        last->calls += edge->calls;
        last->primitive_calls += edge->primitive_calls;
        last->self_ns += edge->self_ns;
        last->total_ns += edge->total_ns;
    }
    labels->edge_count = kept;
}

static bool fill_rows(struct labels *labels, const struct recording *recording,
                      const struct functions *functions)
{
    for (uint32_t i = 0; i < functions->row_count; i++) {
        const struct function_row *row = &functions->rows[i];
        uint32_t label = label_of(labels, recording, row->code);
        if (!label)
            return false;
        labels->rows[label].calls += row->calls + row->total_samples;
        labels->rows[label].primitive_calls += row->primitive_calls + row->total_samples;
        labels->rows[label].self_ns += row->self_ns;
        labels->rows[label].total_ns += row->total_ns;
    }
    return true;
}

static bool fill_edges(struct labels *labels, const struct recording *recording,
                       const struct functions *functions)
{
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        struct edge_row edge = functions->edges[i];
        edge.calls += edge.total_samples;
        edge.primitive_calls += edge.total_samples;
        edge.caller = label_of(labels, recording, edge.caller);
        edge.callee = label_of(labels, recording, edge.callee);
        if (!edge.caller || !edge.callee)
            return false;
        labels->edges[labels->edge_count++] = edge;
    }
    if (labels->edge_count)
        qsort(labels->edges, labels->edge_count, sizeof *labels->edges, functions_compare_edges);
    sum_edges(labels);
    return true;
}

static int labels_init(struct labels *labels, const struct recording *recording,
                       const struct functions *functions)
{
    size_t count = (size_t)recording->codes_count + 1;
    *labels = (struct labels){.of_code = calloc(count, sizeof *labels->of_code),
                              .codes = calloc(count, sizeof *labels->codes),
                              .rows = calloc(count, sizeof *labels->rows),
                              .edges = calloc((size_t)functions->edge_count + 1, sizeof *labels->edges)};
    if (!labels->of_code || !labels->codes || !labels->rows || !labels->edges ||
        strings_intern_text(&labels->table, "") != 0)
        return -1;
    return fill_rows(labels, recording, functions) && fill_edges(labels, recording, functions) ? 0 : -1;
}

static void labels_clear(struct labels *labels)
{
    strings_clear(&labels->table);
    free(labels->of_code);
    free(labels->codes);
    free(labels->rows);
    free(labels->edges);
}

static void put_integer(struct bytes *out, uint64_t value)
{
    if (value <= INT32_MAX) {
        bytes_put_u8(out, 'i');
        bytes_put_u32(out, (uint32_t)value);
        return;
    }
    unsigned digits = 0;
    for (uint64_t rest = value; rest; rest >>= 15)
        digits++;
    bytes_put_u8(out, 'l');
    bytes_put_u32(out, digits);
    for (; value; value >>= 15)
        bytes_put_u16(out, (uint16_t)(value & 0x7fff));
}

static void put_seconds(struct bytes *out, uint64_t ns)
{
    double seconds = (double)ns / 1e9;
    uint64_t bits;
    memcpy(&bits, &seconds, sizeof bits);
    bytes_put_u8(out, 'g');
    bytes_put_u64(out, bits);
}

/* Bytes of the UTF-8 sequence at `at`, 0 when it is none. Surrogates count: Python reads them back. */
static size_t sequence_size(const uint8_t *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    return overlong || (at[0] == 0xf4 && at[1] > 0x8f) ? 0 : size;
}

/* Bytes that are not UTF-8 (file names, Python 2) become lone surrogates, as os.fsdecode makes them. */
static void put_text(struct bytes *out, const char *text, size_t size)
{
    bytes_put_u8(out, 'u');
    size_t size_at = out->size;
    bytes_put_u32(out, 0);
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    while (at < end) {
        size_t whole = sequence_size(at, (size_t)(end - at));
        if (whole) {
            bytes_put(out, at, whole);
        } else {
            const uint8_t escaped[3] = {0xed, (uint8_t)(0xb0 | *at >> 6), (uint8_t)(0x80 | (*at & 0x3f))};
            bytes_put(out, escaped, sizeof escaped);
        }
        at += whole ? whole : 1;
    }
    if (out->failed)
        return;
    uint32_t written = (uint32_t)(out->size - size_at - 4);
    for (int i = 0; i < 4; i++)
        out->data[size_at + (size_t)i] = (uint8_t)(written >> (8 * i));
}

static void put_tuple(struct bytes *out, uint32_t items)
{
    bytes_put_u8(out, '(');
    bytes_put_u32(out, items);
}

static void put_label(struct bytes *out, const struct recording *recording, uint32_t code)
{
    const struct code *named = &recording->codes[code];
    put_tuple(out, 3);
    put_text(out, recording_text(recording, named->file), strings_size(&recording->strings, named->file));
    put_integer(out, named->line);
    put_text(out, recording_text(recording, named->name), strings_size(&recording->strings, named->name));
}

static void put_caller(struct bytes *out, const struct edge_row *edge, bool counts)
{
    if (counts) {
        put_integer(out, edge->calls);
        return;
    }
    put_tuple(out, 4);
    put_integer(out, edge->calls); /* callers: all calls first; functions: primitive calls first */
    put_integer(out, edge->primitive_calls);
    put_seconds(out, edge->self_ns);
    put_seconds(out, edge->total_ns);
}

static void put_function(struct bytes *out, const struct function_row *row)
{
    put_tuple(out, 5);
    put_integer(out, row->primitive_calls);
    put_integer(out, row->calls);
    put_seconds(out, row->self_ns);
    put_seconds(out, row->total_ns);
}

static void put_all(struct bytes *out, const struct recording *recording, const struct labels *labels)
{
    const char *callers = recording_meta(recording, "callers");
    bool counts = callers && strcmp(callers, "counts") == 0;
    const struct edge_row *edge = labels->edges, *end = edge + labels->edge_count;
    bytes_put_u8(out, '{');
    for (uint32_t label = 1; label < labels->table.count; label++) {
        put_label(out, recording, labels->codes[label]);
        put_function(out, &labels->rows[label]);
        bytes_put_u8(out, '{');
        for (; edge < end && edge->callee == label; edge++) {
            put_label(out, recording, labels->codes[edge->caller]);
            put_caller(out, edge, counts);
        }
        bytes_put_u8(out, '0');
    }
    bytes_put_u8(out, '0');
}

int pstats_writer_write(const struct recording *recording, const struct functions *functions,
                        struct bytes *out, struct err *err)
{
    struct labels labels;
    int result = labels_init(&labels, recording, functions);
    if (result == 0) {
        put_all(out, recording, &labels);
        result = out->failed ? -1 : 0;
    }
    labels_clear(&labels);
    return result < 0 ? err_set(err, "not enough memory for the .prof file") : 0;
}
