#include "analyse/line_table.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/strings.h"
#include "store/recording.h"

/* What makes two codes the same function. */
struct label {
    uint32_t file, qualname, line;
};

/* A row with what it is sorted by. */
struct owned_row {
    uint32_t code, owner;
    struct line_table_row row;
};

/* Codes as their functions: the first code with the same label; NULL when memory ran out. */
static uint32_t *find_functions(const struct recording *recording)
{
    struct strings labels = {0};
    uint32_t *function_of = calloc((size_t)recording->codes_count + 1, sizeof *function_of);
    uint32_t *code_of = calloc((size_t)recording->codes_count + 1, sizeof *code_of);
    bool whole = function_of && code_of && strings_intern_text(&labels, "") == 0;
    for (uint32_t code = 1; whole && code < recording->codes_count; code++) {
        const struct code *named = &recording->codes[code];
        struct label label = {named->file, named->qualname ? named->qualname : named->name, named->line};
        uint32_t id = strings_intern(&labels, (const char *)&label, sizeof label);
        whole = id != UINT32_MAX;
        if (whole && !code_of[id])
            code_of[id] = code;
        function_of[code] = whole ? code_of[id] : 0;
    }
    strings_clear(&labels);
    free(code_of);
    if (whole)
        return function_of;
    free(function_of);
    return NULL;
}

static uint32_t owner_of(const struct recording *recording, enum group_by by, uint32_t thread)
{
    if (by == GROUP_THREAD)
        return thread;
    return by == GROUP_PROCESS ? recording->threads[thread].process : 0;
}

static struct line_table_row of_time(const struct line_row *row)
{
    return (struct line_table_row){.line = row->line,
                                   .sums_only = row->total_ns && !row->max_ns,
                                   .hits = row->hits,
                                   .total_ns = row->total_ns,
                                   .self_ns = row->self_ns,
                                   .min_ns = row->min_ns,
                                   .max_ns = row->max_ns};
}

static struct line_table_row of_memory(const struct line_memory_row *row)
{
    return (struct line_table_row){.line = row->line,
                                   .hits = row->hits,
                                   .memory = {.known = true,
                                              .heap_growth_bytes = row->heap_growth_bytes,
                                              .rss_growth_bytes = row->rss_growth_bytes,
                                              .heap_bytes = row->heap_bytes,
                                              .rss_bytes = row->rss_bytes}};
}

/* Where rows are collected. */
struct collecting {
    const struct recording *recording;
    const struct selection *selection;
    enum group_by by;
    const uint32_t *function_of;
    struct owned_row *rows;
    uint32_t count;
};

static void add_owned(struct collecting *to, uint32_t code, uint32_t thread, struct line_table_row row)
{
    if (tree_selection_has(to->selection, to->recording, thread))
        to->rows[to->count++] =
            (struct owned_row){to->function_of[code], owner_of(to->recording, to->by, thread), row};
}

static struct owned_row *collect(const struct recording *recording, const struct selection *selection,
                                 enum group_by by, uint32_t *count)
{
    uint32_t *function_of = find_functions(recording);
    size_t most = (size_t)recording->lines_count + recording->line_memory_count + 1;
    struct collecting to = {recording, selection, by, function_of, calloc(most, sizeof *to.rows), 0};
    bool whole = function_of && to.rows;
    for (uint32_t i = 0; whole && i < recording->lines_count; i++) {
        const struct line_row *row = &recording->lines[i];
        add_owned(&to, row->code, row->thread, of_time(row));
    }
    for (uint32_t i = 0; whole && i < recording->line_memory_count; i++) {
        const struct line_memory_row *row = &recording->line_memory[i];
        add_owned(&to, row->code, row->thread, of_memory(row));
    }
    free(function_of);
    *count = to.count;
    if (whole)
        return to.rows;
    free(to.rows);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const struct owned_row *left = a, *right = b;
    if (left->code != right->code)
        return left->code < right->code ? -1 : 1;
    if (left->owner != right->owner)
        return left->owner < right->owner ? -1 : 1;
    return left->row.line < right->row.line ? -1 : left->row.line > right->row.line;
}

static void add_memory(struct line_table_memory *sum, const struct line_table_memory *memory)
{
    sum->known |= memory->known;
    sum->heap_growth_bytes += memory->heap_growth_bytes;
    sum->rss_growth_bytes += memory->rss_growth_bytes;
    if (memory->heap_bytes > sum->heap_bytes)
        sum->heap_bytes = memory->heap_bytes;
    if (memory->rss_bytes > sum->rss_bytes)
        sum->rss_bytes = memory->rss_bytes;
}

static void add_to_row(struct line_table_row *sum, const struct line_table_row *row)
{
    if (row->max_ns && (!sum->max_ns || row->min_ns < sum->min_ns))
        sum->min_ns = row->min_ns;
    if (row->max_ns > sum->max_ns)
        sum->max_ns = row->max_ns;
    sum->sums_only |= row->sums_only;
    sum->hits += row->hits;
    sum->total_ns += row->total_ns;
    sum->self_ns += row->self_ns;
    add_memory(&sum->memory, &row->memory);
}

/* Rows come sorted. */
static void add_row(struct line_table *table, const struct owned_row *owned)
{
    struct line_table_function *function =
        table->function_count ? &table->functions[table->function_count - 1] : NULL;
    if (!function || function->code != owned->code || function->owner != owned->owner) {
        function = &table->functions[table->function_count++];
        *function = (struct line_table_function){
            .code = owned->code, .owner = owned->owner, .first = table->row_count};
    }
    const struct line_table_row *row = &owned->row;
    table->hits += row->hits;
    table->sums_only |= row->sums_only;
    function->hits += row->hits;
    function->total_ns += row->total_ns;
    function->self_ns += row->self_ns;
    function->sums_only |= row->sums_only;
    function->has_memory |= row->memory.known;
    table->has_heap |= row->memory.heap_bytes > 0;
    if (!row->hits && !row->total_ns && !row->memory.known)
        return; /* it says only that the function was chosen */
    struct line_table_row *last = function->count ? &table->rows[table->row_count - 1] : NULL;
    if (last && last->line == row->line) {
        add_to_row(last, row);
        return;
    }
    table->rows[table->row_count++] = *row;
    function->count++;
}

int line_table_build(const struct recording *recording, const struct selection *selection, enum group_by by,
                     struct line_table *table, struct err *err)
{
    uint32_t count;
    struct owned_row *rows = collect(recording, selection, by, &count);
    *table = (struct line_table){.functions = calloc((size_t)count + 1, sizeof *table->functions),
                                 .rows = calloc((size_t)count + 1, sizeof *table->rows)};
    bool whole = rows && table->functions && table->rows;
    if (whole && count)
        qsort(rows, count, sizeof *rows, compare);
    for (uint32_t i = 0; whole && i < count; i++)
        add_row(table, &rows[i]);
    free(rows);
    if (!whole)
        line_table_clear(table);
    return whole ? 0 : err_set(err, "not enough memory for the table of lines");
}

void line_table_clear(struct line_table *table)
{
    free(table->functions);
    free(table->rows);
    *table = (struct line_table){0};
}

int line_table_functions(const struct line_table *table, struct functions *functions, struct err *err)
{
    *functions =
        (struct functions){.rows = calloc((size_t)table->function_count + 1, sizeof *functions->rows)};
    if (!functions->rows)
        return err_set(err, "not enough memory for the table of functions");
    for (uint32_t i = 0; i < table->function_count; i++) {
        const struct line_table_function *function = &table->functions[i];
        if (!i || function->code != function[-1].code)
            functions->rows[functions->row_count++].code = function->code;
        struct function_row *row = &functions->rows[functions->row_count - 1];
        uint64_t self_ns = function->sums_only ? function->total_ns : function->self_ns;
        row->calls += function->hits;
        row->primitive_calls += function->hits;
        row->self += self_ns;
        row->total += function->total_ns;
        functions->total += self_ns;
        functions->total_calls += function->hits;
    }
    functions->total_primitive_calls = functions->total_calls;
    functions_find_whole(functions);
    return 0;
}

const struct line_table_function *line_table_find(const struct line_table *table, uint32_t code)
{
    uint32_t low = 0, high = table->function_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->functions[middle].code < code)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < table->function_count && table->functions[low].code == code;
    return found ? &table->functions[low] : NULL;
}

void line_table_explain(const struct recording *recording, struct bytes *text)
{
    const char *mode = recording_meta(recording, "mode"),
               *targets = recording_meta(recording, "line_targets");
    const char *measured = mode && strcmp(mode, "line-memory") == 0 ? "measured" : "timed";
    if (recording->lines_count || recording->line_memory_count)
        bytes_putf(text, "No line was %s in this selection.", measured);
    else if (mode && strcmp(mode, "lprof") == 0)
        bytes_put_text(text,
                       "The file holds no function: none was chosen when it was made. Decorate functions "
                       "with @profile, or let sonde choose: sonde line SCRIPT.");
    else if (targets && targets[0])
        bytes_putf(text,
                   "No line was %s: nothing that was asked for was ever called (%s). A name without dots is "
                   "a function of the script itself; name others by module.function, by their file, or by "
                   "file:line.",
                   measured, targets);
    else if (mode && strcmp(mode, "line") == 0)
        bytes_put_text(text,
                       "No line was timed: no function with @profile was ever called, and the program "
                       "ended before a hot one was found. Name functions: sonde line -f FUNCTION SCRIPT.");
    else if (mode && strcmp(mode, "line-memory") == 0)
        bytes_put_text(text,
                       "No line was measured: no function with @profile was ever called. Name functions: "
                       "sonde mem --lines -f FUNCTION SCRIPT.");
    else
        bytes_put_text(text, "Lines were not timed. Record them: sonde line SCRIPT.");
}
