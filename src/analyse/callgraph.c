#include "analyse/callgraph.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/cycles.h"
#include "analyse/functions.h"
#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

static int out_of_memory(struct err *err)
{
    return err_set(err, "out of memory while building the call graph");
}

static void *new_array(size_t count, size_t size)
{
    return calloc(count ? count : 1, size);
}

/* ---- names ---- */

/* The file's name without folder; "pkg/__init__.py" keeps its folder, without which it would say nothing. */
static const char *base_of(const char *file)
{
    const char *base = strrchr(file, '/');

    base = base ? base + 1 : file;
    if (strncmp(base, "__init__.", 9) != 0 || base < file + 2)
        return base;
    for (base--; base > file && base[-1] != '/';)
        base--;
    return base;
}

/* The module as a reader names it: "pkg/mod.py" → "mod". Names such as <frozen importlib._bootstrap> and
 * <string> are no paths: their dots begin no suffix. */
static void put_module(struct bytes *name, const char *file)
{
    const char *base = file[0] == '<' ? file : base_of(file);
    const char *dot = file[0] == '<' ? NULL : strrchr(base, '.');

    if (!dot || strspn(base, ".") > (size_t)(dot - base))
        bytes_put_text(name, base);
    else
        bytes_put(name, base, (size_t)(dot - base));
}

/* Native functions are told by their library or source file: they are not known by where they begin. What is written nowhere,
 * such as garbage collection, has its name alone. */
static void put_place(struct bytes *name, const struct recording *recording, const struct code *code)
{
    if (!code->file && !code->line && !code->module)
        return;
    if (code->kind != CODE_NATIVE) {
        put_module(name, recording_text(recording, code->file));
        bytes_putf(name, ":%u:", code->line);
        return;
    }
    const char *place =
        code->file ? base_of(recording_text(recording, code->file)) : labels_library(recording, code);
    if (*place)
        bytes_putf(name, "%s:", place);
}

static char *new_name(const struct recording *recording, const struct code *code, const char *own,
                      size_t *function_at)
{
    struct bytes name = {0};
    size_t size;

    put_place(&name, recording, code);
    *function_at = name.size;
    bytes_put(&name, own, strlen(own) + 1);
    if (name.failed)
        bytes_clear(&name);
    return (char *)bytes_take(&name, &size);
}

/* Where it lies: of a native function without debug data the library. */
static uint32_t file_of(const struct code *code)
{
    return code->file || code->kind != CODE_NATIVE ? code->file : code->module;
}

static uint32_t shown_name(const struct code *code)
{
    return code->kind == CODE_PYTHON && code->qualname ? code->qualname : code->name;
}

static int name_function(const struct recording *recording, const struct code *code,
                         struct callgraph_function *function)
{
    function->file = recording_text(recording, file_of(code));
    function->line = code->line;
    function->name =
        new_name(recording, code, recording_text(recording, shown_name(code)), &function->function_at);
    if (!function->name)
        return -1;
    if (shown_name(code) == code->name)
        return 0;
    function->short_name =
        new_name(recording, code, recording_text(recording, code->name), &function->function_at);
    return function->short_name ? 0 : -1;
}

/* ---- building ---- */

/* A row of the function table beside what makes it the same function as another row. */
struct keyed_row {
    const struct function_row *row;
    uint32_t file, line, name;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_keys(const void *first, const void *second)
{
    const struct keyed_row *a = first, *b = second;
    int order = compare_numbers(a->file, b->file);

    if (!order)
        order = compare_numbers(a->line, b->line);
    return order ? order : compare_numbers(a->name, b->name);
}

static int compare_heat(const void *first, const void *second)
{
    const struct callgraph_function *a = first, *b = second;
    int order = compare_numbers(b->total, a->total);

    if (!order)
        order = compare_numbers(b->self, a->self);
    if (!order)
        order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->file, b->file);
}

static int compare_calls(const void *first, const void *second)
{
    const struct callgraph_call *a = first, *b = second;
    int order = compare_numbers(a->caller, b->caller);

    return order ? order : compare_numbers(a->callee, b->callee);
}

static struct keyed_row *new_keyed_rows(const struct recording *recording, const struct functions *functions)
{
    struct keyed_row *keyed = new_array(functions->row_count, sizeof *keyed);

    for (uint32_t i = 0; keyed && i < functions->row_count; i++) {
        const struct function_row *row = &functions->rows[i];
        const struct code *code = &recording->codes[row->code];
        keyed[i] = (struct keyed_row){row, file_of(code), code->line, shown_name(code)};
    }
    if (keyed)
        qsort(keyed, functions->row_count, sizeof *keyed, compare_keys);
    return keyed;
}

static void add_row(struct callgraph_function *function, const struct function_row *row)
{
    function->calls += row->calls;
    function->primitive_calls += row->primitive_calls;
    function->self += row->self;
    function->total += row->total;
}

/* Where the function of a code is found. */
struct places {
    uint32_t *first_code; /* code → the first code of the same function */
    uint32_t *index;      /* that code → index of the function, once sorted */
};

static int merge_rows(const struct recording *recording, const struct functions *functions,
                      struct callgraph *graph, struct places *places)
{
    struct keyed_row *keyed = new_keyed_rows(recording, functions);
    int result = keyed ? 0 : -1;

    for (uint32_t i = 0; i < functions->row_count && result == 0; i++) {
        bool same = i && compare_keys(&keyed[i - 1], &keyed[i]) == 0;
        uint32_t code = keyed[i].row->code;
        if (!same) {
            graph->functions[graph->function_count].code = code;
            result =
                name_function(recording, &recording->codes[code], &graph->functions[graph->function_count++]);
        }
        struct callgraph_function *function = &graph->functions[graph->function_count - 1];
        places->first_code[code] = function->code;
        add_row(function, keyed[i].row);
    }
    free(keyed);
    return result;
}

static void sort_functions(struct callgraph *graph, struct places *places)
{
    qsort(graph->functions, graph->function_count, sizeof *graph->functions, compare_heat);
    for (uint32_t i = 0; i < graph->function_count; i++)
        places->index[graph->functions[i].code] = i;
}

static void merge_equal_calls(struct callgraph *graph)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->call_count; i++) {
        struct callgraph_call *call = &graph->calls[i];
        struct callgraph_call *last = count ? &graph->calls[count - 1] : NULL;
        if (!last || compare_calls(last, call) != 0) {
            graph->calls[count++] = *call;
            continue;
        }
        last->calls += call->calls;
        last->primitive_calls += call->primitive_calls;
        last->total += call->total;
    }
    graph->call_count = count;
}

static void fill_calls(const struct functions *functions, const struct places *places,
                       struct callgraph *graph)
{
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        if (!edge->caller || !functions_find(functions, edge->caller))
            continue;
        graph->calls[graph->call_count++] = (struct callgraph_call){
            .caller = places->index[places->first_code[edge->caller]],
            .callee = places->index[places->first_code[edge->callee]],
            .calls = edge->calls,
            .primitive_calls = edge->primitive_calls,
            .total = edge->total,
        };
    }
    qsort(graph->calls, graph->call_count, sizeof *graph->calls, compare_calls);
    merge_equal_calls(graph);
    for (uint32_t i = 0; i < graph->call_count; i++)
        graph->first_call[graph->calls[i].caller + 1] = i + 1;
    for (uint32_t i = 0; i < graph->function_count; i++)
        if (graph->first_call[i + 1] < graph->first_call[i])
            graph->first_call[i + 1] = graph->first_call[i];
}

static double share(uint64_t part_ns, uint64_t whole_ns)
{
    double value = whole_ns ? (double)part_ns / (double)whole_ns : 0;

    return value > 1 ? 1 : value;
}

static void set_shares(struct callgraph *graph)
{
    for (uint32_t i = 0; i < graph->function_count; i++) {
        graph->self_total += graph->functions[i].self;
        graph->total_calls += graph->functions[i].calls;
        if (graph->functions[i].total > graph->total)
            graph->total = graph->functions[i].total;
    }
    if (graph->self_total > graph->total)
        graph->total = graph->self_total;
    for (uint32_t i = 0; i < graph->function_count; i++) {
        struct callgraph_function *function = &graph->functions[i];
        function->self_share = share(function->self, graph->self_total);
        function->total_share = share(function->total, graph->total);
        function->weight = function->total_share;
        function->kept = true;
    }
    for (uint32_t i = 0; i < graph->call_count; i++) {
        graph->calls[i].total_share = share(graph->calls[i].total, graph->total);
        graph->calls[i].kept = true;
    }
}

static int allocate(const struct recording *recording, const struct functions *functions,
                    struct callgraph *graph, struct places *places, struct err *err)
{
    graph->functions = new_array(functions->row_count, sizeof *graph->functions);
    graph->calls = new_array(functions->edge_count, sizeof *graph->calls);
    graph->first_call = new_array((size_t)functions->row_count + 1, sizeof *graph->first_call);
    places->first_code = new_array(recording->codes_count, sizeof *places->first_code);
    places->index = new_array(recording->codes_count, sizeof *places->index);
    if (!graph->functions || !graph->calls || !graph->first_call || !places->first_code || !places->index)
        return out_of_memory(err);
    return 0;
}

/* ---- cycles ---- */

static void sum_cycles(struct callgraph *graph)
{
    for (uint32_t i = 0; i < graph->function_count; i++) {
        graph->cycles[graph->functions[i].cycle].function_count++;
        graph->cycles[graph->functions[i].cycle].total += graph->functions[i].self;
    }
    for (uint32_t i = 0; i < graph->call_count; i++) {
        uint32_t cycle = graph->functions[graph->calls[i].caller].cycle;
        if (cycle != graph->functions[graph->calls[i].callee].cycle)
            graph->cycles[cycle].total += graph->calls[i].total;
    }
    graph->cycles[0] = (struct callgraph_cycle){0};
    for (uint32_t i = 1; i < graph->cycle_count; i++)
        graph->cycles[i].total_share = share(graph->cycles[i].total, graph->total);
}

static int number_cycles(struct callgraph *graph, uint32_t *callees, uint32_t *cycle, struct err *err)
{
    struct cycles_graph whole = {graph->function_count, graph->first_call, callees};
    uint32_t found = 0;

    for (uint32_t i = 0; i < graph->call_count; i++)
        callees[i] = graph->calls[i].callee;
    if (cycles_find(&whole, cycle, &found, err) != 0)
        return -1;
    graph->cycle_count = found + 1;
    graph->cycles = new_array(graph->cycle_count, sizeof *graph->cycles);
    if (!graph->cycles)
        return out_of_memory(err);
    for (uint32_t i = 0; i < graph->function_count; i++)
        graph->functions[i].cycle = cycle[i];
    sum_cycles(graph);
    return 0;
}

static int find_cycles(struct callgraph *graph, struct err *err)
{
    uint32_t *callees = new_array(graph->call_count, sizeof *callees);
    uint32_t *cycle = new_array(graph->function_count, sizeof *cycle);
    int result = callees && cycle ? number_cycles(graph, callees, cycle, err) : out_of_memory(err);

    free(callees);
    free(cycle);
    return result;
}

int callgraph_build(const struct recording *recording, const struct selection *selection,
                    struct callgraph *graph, struct err *err)
{
    struct functions functions = {0};
    struct places places = {0};
    *graph = (struct callgraph){0};
    int result = functions_build(recording, selection, &functions, err);

    if (result == 0)
        result = allocate(recording, &functions, graph, &places, err);
    graph->measure = functions.measure;
    if (result == 0 && merge_rows(recording, &functions, graph, &places) != 0)
        result = out_of_memory(err);
    if (result == 0) {
        sort_functions(graph, &places);
        fill_calls(&functions, &places, graph);
        set_shares(graph);
        result = find_cycles(graph, err);
    }
    free(places.first_code);
    free(places.index);
    functions_clear(&functions);
    if (result != 0)
        callgraph_clear(graph);
    return result;
}

void callgraph_clear(struct callgraph *graph)
{
    for (uint32_t i = 0; i < graph->function_count; i++) {
        free(graph->functions[i].name);
        free(graph->functions[i].short_name);
    }
    free(graph->functions);
    free(graph->calls);
    free(graph->first_call);
    free(graph->cycles);
    *graph = (struct callgraph){0};
}

void callgraph_weigh_by_self(struct callgraph *graph)
{
    double largest = 0;

    for (uint32_t i = 0; i < graph->function_count; i++)
        if (graph->functions[i].kept && graph->functions[i].self_share > largest)
            largest = graph->functions[i].self_share;
    for (uint32_t i = 0; i < graph->function_count; i++)
        graph->functions[i].weight = largest > 0 ? graph->functions[i].self_share / largest : 0;
}

uint32_t callgraph_kept_functions(const struct callgraph *graph)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->function_count; i++)
        count += graph->functions[i].kept;
    return count;
}

uint32_t callgraph_kept_calls(const struct callgraph *graph)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < graph->call_count; i++)
        count += graph->calls[i].kept;
    return count;
}
