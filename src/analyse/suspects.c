#include "analyse/suspects.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "analyse/line_suspects.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "store/recording.h"

/* Below these a sentence would be noise. */
#define HOT_MIN_SHARE        0.05
#define WAITING_MIN_SHARE    0.10
#define IMPORTS_MIN_SHARE    0.10
#define C_CODE_MIN_SHARE     0.30
#define PATH_MIN_SHARE       0.30
#define PATH_MIN_DEPTH       3
#define MANY_CALLS           100000
#define MANY_CALLS_MAX_NS    2000
#define MANY_CALLS_MIN_SHARE 0.02
#define LOOP_MIN_SHARE       0.20
#define LOOP_MIN_CALLS       100
#define LOOP_MIN_RATIO       10
#define DEEP_RECURSION       200
#define RECURSION_MIN_RATIO  1000
#define RECURSION_MIN_SHARE  0.10
#define DETAIL_MIN_SHARE     0.02
#define REGEX_MIN_CALLS      20

struct depths {
    struct suspects *suspects;
    uint32_t *active; /* by code */
};

static void enter(const struct tree *tree, uint32_t node, void *context)
{
    struct depths *depths = context;
    uint32_t code = tree->nodes[node].code;
    if (code && ++depths->active[code] > depths->suspects->deepest) {
        depths->suspects->deepest = depths->active[code];
        depths->suspects->deepest_code = code;
    }
}

static void leave(const struct tree *tree, uint32_t node, void *context)
{
    struct depths *depths = context;
    depths->active[tree->nodes[node].code]--;
}

int suspects_init(struct suspects *suspects, const struct recording *recording,
                  const struct selection *selection, const struct functions *functions,
                  const struct tree *tree, struct err *err)
{
    *suspects = (struct suspects){.recording = recording, .functions = functions, .tree = tree};
    struct depths depths = {.suspects = suspects};
    if (!tree && tree_build(recording, selection, &suspects->own_tree, err) < 0)
        return -1;
    if (line_table_build(recording, selection, GROUP_FUNCTION, &suspects->lines, err) < 0)
        return -1;
    suspects->tree = tree ? tree : &suspects->own_tree;
    depths.active = calloc((size_t)recording->codes_count + 1, sizeof *depths.active);
    if (!depths.active)
        return err_set(err, "not enough memory for the findings");
    tree_walk(suspects->tree, enter, leave, &depths);
    free(depths.active);
    return 0;
}

void suspects_clear(struct suspects *suspects)
{
    tree_clear(&suspects->own_tree);
    line_table_clear(&suspects->lines);
    *suspects = (struct suspects){0};
}

static double share_of(const struct suspects *suspects, uint64_t ns)
{
    return suspects->functions->total ? (double)ns / (double)suspects->functions->total : 0;
}

static const char *name_of(const struct suspects *suspects, uint32_t code)
{
    return recording_text(suspects->recording, suspects->recording->codes[code].name);
}

static bool is_c(const struct suspects *suspects, uint32_t code)
{
    return labels_is_c(&suspects->recording->codes[code]);
}

static void put_words(const struct suspects *suspects, uint32_t code, struct bytes *text)
{
    labels_words(suspects->recording, code, text);
}

static bool ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static bool is_function(const struct suspects *suspects, uint32_t code, const char *name,
                        const char *file_end)
{
    const struct code *row = &suspects->recording->codes[code];
    return strcmp(name_of(suspects, code), name) == 0 &&
           ends_with(recording_text(suspects->recording, row->file), file_end);
}

/* The edges into a function: contiguous, as they are sorted by callee. */
static const struct edge_row *first_edge(const struct functions *functions, uint32_t callee)
{
    uint32_t low = 0, high = functions->edge_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (functions->edges[middle].callee < callee)
            low = middle + 1;
        else
            high = middle;
    }
    return functions->edges + low;
}

static uint64_t weight(const struct edge_row *edge)
{
    return edge->calls + edge->total_samples;
}

/* The caller with the most calls or samples, other than the function itself. NULL when there is none. */
static const struct edge_row *main_caller(const struct suspects *suspects, uint32_t callee)
{
    const struct functions *functions = suspects->functions;
    if (!functions->edge_count)
        return NULL;
    const struct edge_row *best = NULL, *end = functions->edges + functions->edge_count;
    for (const struct edge_row *edge = first_edge(functions, callee); edge < end && edge->callee == callee;
         edge++)
        if (edge->caller != callee && (!best || weight(edge) > weight(best)))
            best = edge;
    return best;
}

static const struct function_row *costliest(const struct suspects *suspects)
{
    const struct function_row *best = NULL;
    for (uint32_t i = 0; i < suspects->functions->row_count; i++)
        if (!best || suspects->functions->rows[i].self > best->self)
            best = &suspects->functions->rows[i];
    return best;
}

static void put_per_call(struct bytes *text, const struct function_row *row)
{
    if (row->calls == 1)
        bytes_put_text(text, " in one call");
    else if (row->calls)
        bytes_putf(text, " in %s calls, %s each", quantity_count(row->calls).text,
                   quantity_duration((double)row->self / (double)row->calls).text);
    else if (row->samples)
        bytes_putf(text, " in %s of the samples", quantity_count(row->samples).text);
}

/* C functions that stand still rather than compute. */
static bool is_wait(const char *name)
{
    static const char *const waits[] = {
        "<built-in method time.sleep>",
        "<method 'acquire' of '_thread.lock' objects>",
        "<method 'acquire' of '_thread.RLock' objects>",
        "<method 'acquire' of '_multiprocessing.SemLock' objects>",
        "<method '__enter__' of '_thread.lock' objects>",
        "<method '_acquire_restore' of '_thread.RLock' objects>",
        "<method 'join' of '_thread._ThreadHandle' objects>",
        "<method 'poll' of 'select.epoll' objects>",
        "<method 'poll' of 'select.poll' objects>",
        "<method 'control' of 'select.kqueue' objects>",
        "<built-in method select.select>",
        "<built-in method posix.waitpid>",
        "<built-in method posix.wait4>",
        "<built-in method posix.wait>",
        "<method 'recv' of '_socket.socket' objects>",
        "<method 'recv_into' of '_socket.socket' objects>",
        "<method 'accept' of '_socket.socket' objects>",
        "<method 'connect' of '_socket.socket' objects>",
        "<method 'read' of '_ssl._SSLSocket' objects>",
        "<method 'do_handshake' of '_ssl._SSLSocket' objects>",
        "<built-in method _socket.getaddrinfo>",
        NULL,
    };
    for (int i = 0; waits[i]; i++)
        if (strcmp(waits[i], name) == 0)
            return true;
    return false;
}

static double look_waiting(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    uint64_t all_ns = 0;
    const struct function_row *most = NULL;
    for (uint32_t i = 0; i < suspects->functions->row_count; i++) {
        const struct function_row *row = &suspects->functions->rows[i];
        if (!is_c(suspects, row->code) || !is_wait(name_of(suspects, row->code)))
            continue;
        all_ns += row->self;
        most = !most || row->self > most->self ? row : most;
    }
    double share = share_of(suspects, all_ns);
    if (!most || share < WAITING_MIN_SHARE)
        return 0;
    *code = most->code;
    bytes_putf(text, "%s of the time (%s) is spent waiting, not computing: ", quantity_share(share).text,
               quantity_duration((double)all_ns).text);
    bytes_putf(text, most->self == all_ns ? "all in " : "most in ");
    put_words(suspects, most->code, text);
    const struct edge_row *caller = main_caller(suspects, most->code);
    if (caller) {
        bytes_put_text(text, ", called by ");
        put_words(suspects, caller->caller, text);
    }
    bytes_put_text(text, ".");
    return share;
}

static double look_hot_function(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    if (suspects->functions->from_lines && line_suspects_lie_elsewhere(suspects))
        return 0;
    const struct function_row *row = costliest(suspects);
    double share = row ? share_of(suspects, row->self) : 0;
    if (share < HOT_MIN_SHARE || (is_c(suspects, row->code) && is_wait(name_of(suspects, row->code))))
        return 0;
    *code = row->code;
    put_words(suspects, row->code, text);
    bytes_putf(text, " takes %s of the time itself (%s)", quantity_share(share).text,
               quantity_duration((double)row->self).text);
    put_per_call(text, row);
    const struct edge_row *caller = main_caller(suspects, row->code);
    if (caller && is_c(suspects, row->code)) {
        bool all = weight(caller) == row->calls + row->total_samples;
        bytes_put_text(text, all ? ", from " : ", mostly from ");
        put_words(suspects, caller->caller, text);
    }
    bytes_put_text(text, ".");
    return share;
}

static int compare_self(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return left > right ? -1 : left < right;
}

static double look_flat(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    (void)code;
    uint32_t count = suspects->functions->row_count;
    const struct function_row *most = costliest(suspects);
    uint64_t *times = most ? malloc(count * sizeof *times) : NULL;
    if (!times || share_of(suspects, most->self) >= HOT_MIN_SHARE || count < 20 ||
        suspects->functions->from_lines) {
        free(times);
        return 0;
    }
    for (uint32_t i = 0; i < count; i++)
        times[i] = suspects->functions->rows[i].self;
    qsort(times, count, sizeof *times, compare_self);
    uint64_t ten_ns = 0;
    for (uint32_t i = 0; i < 10; i++)
        ten_ns += times[i];
    free(times);
    double share = share_of(suspects, ten_ns);
    bytes_putf(text,
               "No function stands out: the ten costliest of %s together take %s of the time themselves; "
               "look at the cumulative times and the tree.",
               quantity_count(count).text, quantity_share(share).text);
    return share;
}

/* From the root down while one child holds most of its parent's time. */
static uint32_t hot_end(const struct suspects *suspects)
{
    const struct tree_node *nodes = suspects->tree->nodes;
    uint32_t at = 0;
    for (;;) {
        uint32_t child = nodes[at].first_child;
        if (!child || nodes[child].total * 2 < nodes[at].total ||
            share_of(suspects, nodes[child].total) < PATH_MIN_SHARE || nodes[child].recursive)
            return at;
        at = child;
    }
}

/* Frames that are on every path and tell nothing. */
static bool is_scaffold(const struct suspects *suspects, uint32_t code)
{
    const char *file = recording_text(suspects->recording, suspects->recording->codes[code].file);
    const char *name = name_of(suspects, code);
    return strncmp(file, "<frozen ", 8) == 0 || strcmp(name, "<built-in method builtins.exec>") == 0 ||
           strcmp(name, "<module>") == 0 || ends_with(file, "/runpy.py");
}

static void put_path(const struct suspects *suspects, uint32_t end, struct bytes *text)
{
    enum { SHOWN = 5 };
    const struct tree_node *nodes = suspects->tree->nodes;
    uint32_t chain[SHOWN], count = 0, skipped = 0;
    for (uint32_t at = end; at; at = nodes[at].parent) {
        if (is_scaffold(suspects, nodes[at].code))
            continue;
        if (count < SHOWN)
            chain[count++] = at;
        else
            skipped++;
    }
    if (skipped)
        bytes_put_text(text, "… → ");
    while (count-- > 1) {
        labels_brief(suspects->recording, nodes[chain[count]].code, text);
        bytes_put_text(text, " → ");
    }
    put_words(suspects, nodes[chain[0]].code, text);
}

static double look_hot_path(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct tree_node *nodes = suspects->tree->nodes;
    uint32_t end = hot_end(suspects), steps = 0;
    while (end && is_scaffold(suspects, nodes[end].code))
        end = nodes[end].parent;
    for (uint32_t at = end; at; at = nodes[at].parent)
        steps += !is_scaffold(suspects, nodes[at].code);
    if (steps < PATH_MIN_DEPTH)
        return 0;
    double share = share_of(suspects, nodes[end].total);
    *code = nodes[end].code;
    bytes_putf(text, "%s of the time (%s) %s down one path, %u calls deep: ", quantity_share(share).text,
               quantity_duration((double)nodes[end].total).text,
               suspects->tree->estimated ? "seems to go" : "goes", nodes[end].depth);
    put_path(suspects, end, text);
    bytes_put_text(text, ".");
    return share;
}

static const struct function_row *find_total(const struct suspects *suspects, const char *name,
                                             const char *file_end)
{
    for (uint32_t i = 0; i < suspects->functions->row_count; i++)
        if (is_function(suspects, suspects->functions->rows[i].code, name, file_end))
            return &suspects->functions->rows[i];
    return NULL;
}

/* The costliest module body that imports can account for (the main program's takes longer). */
static const struct function_row *costliest_module(const struct suspects *suspects, uint64_t limit_ns)
{
    const struct function_row *best = NULL;
    for (uint32_t i = 0; i < suspects->functions->row_count; i++) {
        const struct function_row *row = &suspects->functions->rows[i];
        bool smaller = row->total <= limit_ns && strcmp(name_of(suspects, row->code), "<module>") == 0;
        if (smaller && (!best || row->total > best->total))
            best = row;
    }
    return best;
}

static double look_imports(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    static const char machinery[] = "importlib._bootstrap>";
    const struct function_row *load = find_total(suspects, "_find_and_load", machinery);
    double share = load ? share_of(suspects, load->total) : 0;
    if (share < IMPORTS_MIN_SHARE)
        return 0;
    bytes_putf(text, "Imports take %s of the time (%s)", quantity_share(share).text,
               quantity_duration((double)load->total).text);
    const struct function_row *loaded = find_total(suspects, "_load_unlocked", machinery);
    if (loaded && loaded->calls)
        bytes_putf(text, " for %s module%s", quantity_count(loaded->calls).text,
                   loaded->calls == 1 ? "" : "s");
    const struct function_row *most = costliest_module(suspects, load->total);
    if (most) {
        const struct code *body = &suspects->recording->codes[most->code];
        *code = most->code;
        bytes_putf(text, "; the costliest is %s, with all that it imports %s",
                   labels_path(recording_text(suspects->recording, body->file), LABEL_SHORT),
                   quantity_duration((double)most->total).text);
    }
    bytes_put_text(text, ".");
    return share;
}

static double look_c_code(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    (void)code;
    uint64_t c_ns = 0;
    for (uint32_t i = 0; i < suspects->functions->row_count; i++) {
        const struct function_row *row = &suspects->functions->rows[i];
        if (is_c(suspects, row->code) && !is_wait(name_of(suspects, row->code)))
            c_ns += row->self;
    }
    double share = share_of(suspects, c_ns);
    if (share < C_CODE_MIN_SHARE)
        return 0;
    bytes_putf(text, "C functions take %s of the time (%s)%s.", quantity_share(share).text,
               quantity_duration((double)c_ns).text,
               share > 0.7 ? ": making the Python code itself faster would gain little" : "");
    return share;
}

static double look_many_calls(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct function_row *most = NULL;
    for (uint32_t i = 0; i < suspects->functions->row_count; i++) {
        const struct function_row *row = &suspects->functions->rows[i];
        bool tiny = row->calls >= MANY_CALLS && row->total / row->calls < MANY_CALLS_MAX_NS;
        if (tiny && (!most || row->calls > most->calls))
            most = row;
    }
    double share = most ? share_of(suspects, most->self) : 0;
    if (share < MANY_CALLS_MIN_SHARE)
        return 0;
    *code = most->code;
    put_words(suspects, most->code, text);
    bytes_putf(text, " is called %s times at %s each", quantity_count(most->calls).text,
               quantity_duration((double)most->total / (double)most->calls).text);
    const struct edge_row *caller = main_caller(suspects, most->code);
    if (caller) {
        bytes_putf(text, ", %s of them from ",
                   caller->calls == most->calls ? "all" : quantity_count(caller->calls).text);
        put_words(suspects, caller->caller, text);
    }
    bytes_putf(text, "; such calls cost %s of the time, and less without tracing.",
               quantity_share(share).text);
    return share;
}

static double look_loop(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct functions *functions = suspects->functions;
    const struct edge_row *best = NULL;
    uint64_t best_calls = 0;
    for (uint32_t i = 0; i < functions->edge_count; i++) {
        const struct edge_row *edge = &functions->edges[i];
        if (edge->calls < LOOP_MIN_CALLS || share_of(suspects, edge->total) < LOOP_MIN_SHARE)
            continue;
        const struct function_row *caller = functions_find(functions, edge->caller);
        bool loop = caller && caller->calls && edge->caller != edge->callee &&
                    edge->calls >= LOOP_MIN_CALLS && edge->calls / caller->calls >= LOOP_MIN_RATIO &&
                    edge->total <= functions->total;
        if (loop && (!best || edge->total > best->total)) {
            best = edge;
            best_calls = caller->calls;
        }
    }
    if (!best)
        return 0;
    double share = share_of(suspects, best->total);
    *code = best->callee;
    put_words(suspects, best->caller, text);
    bytes_put_text(text, " calls ");
    put_words(suspects, best->callee, text);
    bytes_putf(text, " %s times%s, %s each: %s of the time.", quantity_count(best->calls).text,
               best_calls == 1 ? " in one call" : "",
               quantity_duration((double)best->total / (double)best->calls).text, quantity_share(share).text);
    return share;
}

static double look_recursion(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct function_row *most = suspects->deepest >= DEEP_RECURSION
                                          ? functions_find(suspects->functions, suspects->deepest_code)
                                          : NULL;
    for (uint32_t i = 0; i < suspects->functions->row_count && !most; i++) {
        const struct function_row *row = &suspects->functions->rows[i];
        if (row->primitive_calls && row->calls / row->primitive_calls >= RECURSION_MIN_RATIO)
            most = row;
    }
    double share = most ? share_of(suspects, most->total) : 0;
    if (share < RECURSION_MIN_SHARE)
        return 0;
    *code = most->code;
    put_words(suspects, most->code, text);
    bytes_put_text(text, " is recursive");
    if (most->calls)
        bytes_putf(text, ": %s calls for %s from outside", quantity_count(most->calls).text,
                   quantity_count(most->primitive_calls).text);
    if (suspects->deepest_code == most->code && !suspects->tree->estimated)
        bytes_putf(text, ", up to %s deep", quantity_count(suspects->deepest).text);
    bytes_putf(text, ", %s of the time.", quantity_share(share).text);
    return share;
}

static double look_garbage(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct function_row *collect = find_total(suspects, "<built-in method gc.collect>", "");
    double share = collect ? share_of(suspects, collect->total) : 0;
    if (share < DETAIL_MIN_SHARE)
        return 0;
    *code = collect->code;
    bytes_put_text(text, "gc.collect ");
    if (collect->calls)
        bytes_putf(text, "is called %s times and ", quantity_count(collect->calls).text);
    bytes_putf(text, "takes %s of the time (%s)", quantity_share(share).text,
               quantity_duration((double)collect->total).text);
    const struct edge_row *caller = main_caller(suspects, collect->code);
    if (caller) {
        bytes_put_text(text, ", from ");
        put_words(suspects, caller->caller, text);
    }
    bytes_put_text(text, ".");
    return share;
}

static bool is_regex_file(const struct suspects *suspects, uint32_t code)
{
    static const char *const files[] = {"/re.py", "/sre_compile.py", "/re/__init__.py", "/re/_compiler.py",
                                        NULL};
    const char *file = recording_text(suspects->recording, suspects->recording->codes[code].file);
    for (int i = 0; files[i]; i++)
        if (ends_with(file, files[i]))
            return true;
    return false;
}

static double look_regex(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct function_row *compile = find_total(suspects, "compile", "/re/_compiler.py");
    compile = compile ? compile : find_total(suspects, "compile", "/sre_compile.py");
    double share = compile ? share_of(suspects, compile->total) : 0;
    if (share < DETAIL_MIN_SHARE || compile->calls < REGEX_MIN_CALLS)
        return 0;
    const struct edge_row *caller = main_caller(suspects, compile->code);
    for (int i = 0; i < 4 && caller && is_regex_file(suspects, caller->caller); i++)
        caller = main_caller(suspects, caller->caller);
    *code = compile->code;
    bytes_putf(text, "Regular expressions are compiled %s times, %s of the time (%s)",
               quantity_count(compile->calls).text, quantity_share(share).text,
               quantity_duration((double)compile->total).text);
    if (caller && !is_regex_file(suspects, caller->caller)) {
        bytes_put_text(text, ", most often for ");
        put_words(suspects, caller->caller, text);
    }
    bytes_put_text(text, ".");
    return share;
}

const struct suspect suspects_list[] = {
    {"waiting", look_waiting},
    {"hot-function", look_hot_function},
    {"hot-line", line_suspects_hot_line},
    {"not-timed", line_suspects_not_timed},
    {"growing-line", line_suspects_growth},
    {"never-ran", line_suspects_never_ran},
    {"flat", look_flat},
    {"hot-path", look_hot_path},
    {"imports", look_imports},
    {"c-code", look_c_code},
    {"many-calls", look_many_calls},
    {"loop", look_loop},
    {"recursion", look_recursion},
    {"garbage", look_garbage},
    {"regex", look_regex},
    {NULL, NULL},
};
