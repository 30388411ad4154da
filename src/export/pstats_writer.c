#include "export/pstats_writer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/python_text.h"
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
        last->self += edge->self;
        last->total += edge->total;
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
        labels->rows[label].self += row->self;
        labels->rows[label].total += row->total;
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

static void put_tuple(struct bytes *out, uint32_t items)
{
    bytes_put_u8(out, '(');
    bytes_put_u32(out, items);
}

static void put_label(struct bytes *out, const struct recording *recording, uint32_t code)
{
    const struct code *named = &recording->codes[code];
    put_tuple(out, 3);
    python_text_put(out, 'u', recording_text(recording, named->file),
                    strings_size(&recording->strings, named->file));
    put_integer(out, named->line);
    python_text_put(out, 'u', recording_text(recording, named->name),
                    strings_size(&recording->strings, named->name));
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
    put_seconds(out, edge->self);
    put_seconds(out, edge->total);
}

static void put_function(struct bytes *out, const struct function_row *row)
{
    put_tuple(out, 5);
    put_integer(out, row->primitive_calls);
    put_integer(out, row->calls);
    put_seconds(out, row->self);
    put_seconds(out, row->total);
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
