/* compare: this recording (before) and another (after), by stack and by function. */
#include "analyse/difference.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/rectangles.h"
#include "query/request.h"

/* After less before; exact in a double up to 104 days, or 8 PiB. */
static void put_changes(struct answer *answer, const struct difference *difference)
{
    const struct difference_row *rows = difference->functions;
    double *self = answer_reals(answer, "change_self", difference->function_count);
    for (uint32_t i = 0; self && i < difference->function_count; i++)
        self[i] = (double)rows[i].after_self - (double)rows[i].before_self;
    double *total = answer_reals(answer, "change_total", difference->function_count);
    for (uint32_t i = 0; total && i < difference->function_count; i++)
        total[i] = (double)rows[i].after_total - (double)rows[i].before_total;
}

static void put_functions(struct answer *answer, const struct difference *difference)
{
    const struct difference_row *rows = difference->functions;
    uint32_t count = difference->function_count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "before_code", rows, count, before_code);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "after_code", rows, count, after_code);
    ANSWER_COLUMNS_PUT_REALS(answer, "before_self", rows, count, before_self);
    ANSWER_COLUMNS_PUT_REALS(answer, "after_self", rows, count, after_self);
    ANSWER_COLUMNS_PUT_REALS(answer, "before_total", rows, count, before_total);
    ANSWER_COLUMNS_PUT_REALS(answer, "after_total", rows, count, after_total);
    ANSWER_COLUMNS_PUT_REALS(answer, "before_calls", rows, count, before_calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "after_calls", rows, count, after_calls);
}

static void put_nodes(struct answer *answer, const struct difference *difference)
{
    const struct difference_row *rows = difference->nodes;
    uint32_t count = difference->tree.count;
    ANSWER_COLUMNS_PUT_REALS(answer, "node_before", rows, count, before_total);
    ANSWER_COLUMNS_PUT_REALS(answer, "node_after", rows, count, after_total);
}

static int fill_side(struct opened_recording *row, const struct selection *selection,
                     struct difference_side *side, struct err *err)
{
    *side = (struct difference_side){.recording = &row->recording,
                                     .tree = opened_tree(row, selection, err),
                                     .functions = opened_functions(row, selection, err)};
    return side->tree && side->functions ? 0 : -1;
}

int compare_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                  struct answer *answer, struct err *err)
{
    struct opened_recording *other = opened_find(opened, request->other, err);
    if (other && request->own)
        other = opened_own(other, err);
    struct difference_side before, after;
    struct difference difference;
    const struct selection all = {.idle = request->selection.idle, .measure = request->selection.measure};
    if (!other || fill_side(row, &all, &before, err) < 0 || fill_side(other, &all, &after, err) < 0 ||
        difference_build(&before, &after, &difference, err) < 0)
        return -1;
    json_key(&answer->json, "before");
    json_unsigned(&answer->json, before.functions->total);
    json_key(&answer->json, "after");
    json_unsigned(&answer->json, after.functions->total);
    put_functions(answer, &difference);
    put_changes(answer, &difference);
    put_nodes(answer, &difference);
    int result = rectangles_put(answer, &difference.tree, &(struct rectangles_options){.nodes = true}, err);
    difference_clear(&difference);
    return result;
}
