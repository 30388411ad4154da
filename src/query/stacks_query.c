/* stacks: call paths as rectangles: from the top down, from the leaves up, or those of one function. */
#include <stdlib.h>
#include <string.h>

#include "analyse/fold.h"
#include "analyse/function_order.h"
#include "analyse/main_threads.h"
#include "analyse/sandwich.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/rectangles.h"
#include "query/request.h"

/* A view whose tree is made for this answer alone. `seen` is the tree of the selection. */
typedef int make_tree(const struct recording *recording, const struct tree *seen,
                      const struct request *request, struct tree *tree, struct err *err);

/* What is estimated is so from the top down only: who called whom is known, and tells more from the leaves up. */
static int make_bottom_up(const struct recording *recording, const struct tree *seen,
                          const struct request *request, struct tree *tree, struct err *err)
{
    return seen->estimated ? tree_build_bottom_up(recording, &request->selection, tree, err)
                           : tree_build_bottom_up_from(seen, recording->codes_count, tree, err);
}

static int make_callers(const struct recording *recording, const struct tree *seen,
                        const struct request *request, struct tree *tree, struct err *err)
{
    return sandwich_callers(seen, request->code, recording->codes_count, tree, err);
}

static int make_callees(const struct recording *recording, const struct tree *seen,
                        const struct request *request, struct tree *tree, struct err *err)
{
    return sandwich_callees(seen, request->code, recording->codes_count, tree, err);
}

static const struct {
    const char *view;
    make_tree *make;
} views[] = {
    {"bottom-up", make_bottom_up},
    {"callers", make_callers},
    {"callees", make_callees},
};

/* NULL = the tree of the selection as it is. */
static make_tree *find(const struct request *request)
{
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        if (strcmp(views[i].view, request->view) == 0)
            return views[i].make;
    return NULL;
}

/* Folds the tree as asked for, and makes the view of it in its place. */
static int turn(const struct recording *recording, const struct request *request, struct tree *tree,
                struct err *err)
{
    make_tree *make = find(request);
    struct tree made = {0};
    if (request->fold && fold_recursion(tree, recording->codes_count, err) < 0)
        return -1;
    if (!make)
        return 0;
    int result = make(recording, tree, request, &made, err);
    tree_clear(tree);
    *tree = made;
    return result;
}

/* ---- threads ---- */

static int add_thread(struct main_threads *main, const struct recording *recording,
                      const struct request *request, uint32_t thread, struct err *err)
{
    struct request own = *request;
    struct tree part = {0};
    own.selection.thread = thread;
    int result = tree_build(recording, &own.selection, &part, err);
    if (result == 0)
        result = turn(recording, &own, &part, err);
    if (result == 0)
        result = main_threads_add(main, thread, &part, err);
    tree_clear(&part);
    return result;
}

static int add_threads(struct main_threads *main, const struct recording *recording,
                       const struct request *request, struct err *err)
{
    uint32_t ids[MAIN_THREADS_MAX], only = request->selection.thread;
    int count = main_threads_busiest(recording, ids, err), result = count < 0 ? -1 : 0;
    for (int i = 0; i < count && result == 0; i++)
        if (!only || ids[i] == only)
            result = add_thread(main, recording, request, ids[i], err);
    return result;
}

/* Arrays by node of the tree: the thread, and which part of the node's time is its. */
static int put_threads(struct answer *answer, const struct recording *recording,
                       const struct request *request, const struct tree *tree, struct err *err)
{
    struct main_threads main;
    int result = main_threads_init(&main, tree, err);
    if (result == 0)
        result = add_threads(&main, recording, request, err);
    uint32_t *thread = result == 0 ? answer_numbers(answer, "node_thread", tree->count) : NULL;
    if (thread)
        memcpy(thread, main.thread, tree->count * sizeof *thread);
    double *part = result == 0 ? answer_reals(answer, "node_thread_part", tree->count) : NULL;
    for (uint32_t i = 0; part && i < tree->count; i++)
        part[i] = tree->nodes[i].total ? (double)main.amount[i] / (double)tree->nodes[i].total : 0;
    main_threads_clear(&main);
    return result;
}

/* ---- the answer ---- */

static int rank(const struct recording *recording, const struct functions *functions, uint32_t *codes,
                uint32_t *ranks, struct err *err)
{
    int column = function_order_find("name", err);
    if (column < 0 || function_order_sort(recording, functions, column, false, codes, err) < 0)
        return -1;
    for (uint32_t i = 0; i < functions->row_count; i++)
        ranks[codes[i]] = i;
    return 0;
}

/* By code: its place among the names of all functions. NULL when memory ran out; the caller frees. */
static uint32_t *rank_names(struct opened_recording *row, const struct request *request, struct err *err)
{
    const struct functions *functions = opened_functions(row, &request->selection, err);
    uint32_t *codes = functions ? calloc((size_t)functions->row_count + 1, sizeof *codes) : NULL;
    uint32_t *ranks = codes ? calloc((size_t)row->recording.codes_count + 1, sizeof *ranks) : NULL;
    int result = ranks ? rank(&row->recording, functions, codes, ranks, err) : -1;
    if (functions && !ranks)
        err_set(err, "not enough memory to order %u functions", functions->row_count);
    free(codes);
    if (result == 0)
        return ranks;
    free(ranks);
    return NULL;
}

/* Whatever the tree is of, its shares are of the selection: `whole`. */
static int put(struct answer *answer, struct opened_recording *row, const struct request *request,
               const struct tree *tree, uint64_t whole, struct err *err)
{
    const struct recording *recording = &row->recording;
    struct rectangles_options options = {.nodes = request->threads, .whole = whole ? whole : 1};
    uint32_t *ranks = request->by_name ? rank_names(row, request, err) : NULL;
    options.ranks = ranks;
    int result = request->by_name && !ranks ? -1 : rectangles_put(answer, tree, &options, err);
    if (result == 0 && request->threads)
        result = put_threads(answer, recording, request, tree, err);
    free(ranks);
    return result;
}

int stacks_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                 struct answer *answer, struct err *err)
{
    (void)opened;
    const struct recording *recording = &row->recording;
    const struct tree *seen = opened_tree(row, &request->selection, err);
    make_tree *make = find(request);
    struct tree tree = {0};
    if (!seen)
        return -1;
    uint64_t whole = seen->count ? seen->nodes[0].total : 0;
    if (!make && !request->fold)
        return put(answer, row, request, seen, whole, err);
    int result = request->fold ? tree_build(recording, &request->selection, &tree, err)
                               : make(recording, seen, request, &tree, err);
    if (result == 0 && request->fold)
        result = turn(recording, request, &tree, err);
    if (result == 0)
        result = put(answer, row, request, &tree, whole, err);
    tree_clear(&tree);
    return result;
}
