#include "export/table_csv.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/line_table.h"
#include "analyse/ranking.h"
#include "analyse/regions.h"
#include "base/bytes.h"
#include "store/recording.h"

void table_csv_put_text(const char *text, struct bytes *out)
{
    if (!strpbrk(text, "\",\r\n")) {
        bytes_put_text(out, text);
        return;
    }
    bytes_put_u8(out, '"');
    for (; *text; text++) {
        if (*text == '"')
            bytes_put_u8(out, '"');
        bytes_put_u8(out, (uint8_t)*text);
    }
    bytes_put_u8(out, '"');
}

void table_csv_put_code(const struct recording *recording, uint32_t id, struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    const char *qualname = recording_text(recording, code->qualname);
    table_csv_put_text(recording_text(recording, code->file), out);
    bytes_putf(out, ",%u,", code->line);
    table_csv_put_text(qualname[0] ? qualname : recording_text(recording, code->name), out);
}

/* The first two columns count calls, in sampled recordings samples, of memory blocks; then come the amounts. */
static void put_number_names(const struct functions *functions, struct bytes *out)
{
    const char *counts = measure_is_memory(functions->measure) ? "count,total_count"
                         : functions->sampled                  ? "samples,total_samples"
                                                               : "calls,primitive_calls";
    const char *suffix = measure_suffix(functions->measure);
    bytes_putf(out, "%s,self_%s,total_%s,", counts, suffix, suffix);
}

static void put_numbers(uint64_t calls, uint64_t primitive_calls, uint64_t self, uint64_t total,
                        struct bytes *out)
{
    bytes_putf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, calls, primitive_calls, self, total);
}

void table_csv_rows(const struct recording *recording, const struct functions *functions,
                    const struct ranking *ranking, bool are_functions, struct bytes *out)
{
    put_number_names(functions, out);
    bytes_put_text(out, are_functions ? "file,line,function\n" : "group\n");
    for (uint32_t i = 0; i < ranking->count; i++) {
        const struct ranking_row *row = &ranking->rows[i];
        put_numbers(row->calls + row->samples, row->primitive_calls + row->total_samples, row->self,
                    row->total, out);
        bytes_put_u8(out, ',');
        if (are_functions)
            table_csv_put_code(recording, row->id, out);
        else
            table_csv_put_text(row->label, out);
        bytes_put_u8(out, '\n');
    }
}

void table_csv_edges(const struct recording *recording, const struct functions *functions, struct bytes *out)
{
    put_number_names(functions, out);
    bytes_put_text(out, "caller_file,caller_line,caller_function,callee_file,callee_line,callee_function\n");
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        put_numbers(edge->calls + edge->samples, edge->primitive_calls + edge->total_samples, edge->self,
                    edge->total, out);
        bytes_put_u8(out, ',');
        table_csv_put_code(recording, edge->caller, out);
        bytes_put_u8(out, ',');
        table_csv_put_code(recording, edge->callee, out);
        bytes_put_u8(out, '\n');
    }
}

struct lines {
    const struct recording *recording;
    struct bytes *out;
};

static void put_node(const struct tree *tree, uint32_t at, void *context)
{
    const struct lines *lines = context;
    const struct tree_node *node = &tree->nodes[at];
    if (!at)
        return;
    bytes_putf(lines->out, "%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", at, node->parent, node->depth,
               node->calls + node->total_samples, node->self, node->total);
    table_csv_put_code(lines->recording, node->code, lines->out);
    bytes_put_u8(lines->out, '\n');
}

void table_csv_tree(const struct recording *recording, const struct tree *tree, struct bytes *out)
{
    struct lines lines = {recording, out};
    const char *count = measure_is_memory(tree->measure)                  ? "total_count"
                        : measure_is_of_samples(recording, tree->measure) ? "total_samples"
                                                                          : "calls";
    const char *suffix = measure_suffix(tree->measure);
    bytes_putf(out, "node,parent,depth,%s,self_%s,total_%s,file,line,function\n", count, suffix, suffix);
    tree_walk(tree, put_node, NULL, &lines);
}

static void put_owner(const struct recording *recording, enum group_by by, uint32_t id, struct bytes *out)
{
    if (by == GROUP_THREAD)
        bytes_putf(out, "%" PRIu64 ",", recording->threads[id].tid);
    else if (by == GROUP_PROCESS)
        bytes_putf(out, "%" PRIu64 ",", recording->processes[id].pid);
}

static void put_memory(const struct line_table_row *row, struct bytes *out)
{
    const struct line_table_memory *memory = &row->memory;
    bytes_putf(out, "%u,%" PRIu64 ",%" PRId64 ",%" PRIu64 ",%" PRId64 ",%" PRIu64 ",", row->line, row->hits,
               memory->rss_growth_bytes, memory->rss_bytes, memory->heap_growth_bytes, memory->heap_bytes);
}

static void put_times(const struct line_table_row *row, struct bytes *out)
{
    bytes_putf(out, "%u,%" PRIu64 ",%" PRIu64 ",", row->line, row->hits, row->total_ns);
    if (row->sums_only)
        bytes_put_text(out, ",,,");
    else
        bytes_putf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->self_ns, row->min_ns, row->max_ns);
}

void table_csv_lines(const struct recording *recording, const struct line_table *table, enum group_by by,
                     struct bytes *out)
{
    const char *owner = by == GROUP_THREAD ? "thread," : by == GROUP_PROCESS ? "process," : "";
    bool memory = recording->line_memory_count > 0;
    bytes_putf(out, "%sline,hits,%s,file,first_line,function\n", owner,
               memory ? "rss_growth_bytes,rss_bytes,heap_growth_bytes,heap_bytes"
                      : "total_ns,self_ns,min_ns,max_ns");
    for (uint32_t i = 0; i < table->function_count; i++) {
        const struct line_table_function *function = &table->functions[i];
        for (uint32_t j = 0; j < function->count; j++) {
            const struct line_table_row *row = &table->rows[function->first + j];
            put_owner(recording, by, function->owner, out);
            if (memory)
                put_memory(row, out);
            else
                put_times(row, out);
            table_csv_put_code(recording, function->code, out);
            bytes_put_u8(out, '\n');
        }
    }
}

void table_csv_regions(const struct recording *recording, const struct regions *regions, struct bytes *out)
{
    bytes_put_text(out, "calls,total_ns,self_ns,min_ns,max_ns,not_ended,region\n");
    for (uint32_t i = 0; i < regions->count; i++) {
        const struct regions_row *row = &regions->rows[i];
        bytes_putf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
                   row->count, row->total_ns, row->self_ns, row->least_ns, row->most_ns, row->open);
        table_csv_put_text(recording_text(recording, recording->regions[row->region].name), out);
        bytes_put_u8(out, '\n');
    }
}
