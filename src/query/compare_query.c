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
#define PUT_CHANGES(answer, name, rows, count, field)                                                        \
    do {                                                                                                     \
        double *column = answer_reals(answer, name, count);                                                  \
        for (uint32_t i = 0; column && i < (count); i++)                                                     \
            column[i] = (double)(rows)[i].after_##field - (double)(rows)[i].before_##field;                  \
    } while (0)

/* After divided by before. */
#define PUT_RATIOS(answer, name, rows, count, field)                                                         \
    ANSWER_COLUMNS_PUT_SHARES(answer, name, rows, count, after_##field, rows[i].before_##field)

/* What the shares of either side are of. */
struct wholes {
    uint64_t before, after;
};

static void put_changes(struct answer *answer, const struct difference *difference)
{
    const struct difference_row *rows = difference->functions;
    uint32_t count = difference->function_count;
    PUT_CHANGES(answer, "change_self", rows, count, self);
    PUT_CHANGES(answer, "change_total", rows, count, total);
    PUT_RATIOS(answer, "ratio_self", rows, count, self);
    PUT_RATIOS(answer, "ratio_total", rows, count, total);
}

static void put_function_shares(struct answer *answer, const struct difference *difference,
                                struct wholes wholes)
{
    const struct difference_row *rows = difference->functions;
    uint32_t count = difference->function_count;
    ANSWER_COLUMNS_PUT_SHARES(answer, "before_self_share", rows, count, before_self, wholes.before);
    ANSWER_COLUMNS_PUT_SHARES(answer, "after_self_share", rows, count, after_self, wholes.after);
    ANSWER_COLUMNS_PUT_SHARES(answer, "before_total_share", rows, count, before_total, wholes.before);
    ANSWER_COLUMNS_PUT_SHARES(answer, "after_total_share", rows, count, after_total, wholes.after);
}

/* From -1 (gone) to 1 (new). */
static double tone(double before, double after)
{
    double larger = before > after ? before : after;
    return larger > 0 ? (after - before) / larger : 0;
}

/* By what each stack changed, for its colour: of the amounts, and of the shares of either run. */
static void put_tones(struct answer *answer, const struct difference *difference, struct wholes wholes)
{
    const struct difference_row *rows = difference->nodes;
    uint32_t count = difference->tree.count;
    double *of_amounts = answer_reals(answer, "node_tone", count);
    for (uint32_t i = 0; of_amounts && i < count; i++)
        of_amounts[i] = tone((double)rows[i].before_total, (double)rows[i].after_total);
    double *of_shares = answer_reals(answer, "node_share_tone", count);
    double scale = wholes.after ? (double)wholes.before / (double)wholes.after : 1;
    for (uint32_t i = 0; of_shares && i < count; i++)
        of_shares[i] = tone((double)rows[i].before_total, (double)rows[i].after_total * scale);
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

static void put_nodes(struct answer *answer, const struct difference *difference, struct wholes wholes)
{
    const struct difference_row *rows = difference->nodes;
    uint32_t count = difference->tree.count;
    ANSWER_COLUMNS_PUT_REALS(answer, "node_before", rows, count, before_total);
    ANSWER_COLUMNS_PUT_REALS(answer, "node_after", rows, count, after_total);
    PUT_CHANGES(answer, "node_change", rows, count, total);
    ANSWER_COLUMNS_PUT_SHARES(answer, "node_before_share", rows, count, before_total, wholes.before);
    ANSWER_COLUMNS_PUT_SHARES(answer, "node_after_share", rows, count, after_total, wholes.after);
    put_tones(answer, difference, wholes);
}

static void put_wholes(struct answer *answer, struct wholes wholes)
{
    json_put_unsigned(&answer->json, "before", wholes.before);
    json_put_unsigned(&answer->json, "after", wholes.after);
    json_key(&answer->json, "change");
    json_real(&answer->json, (double)wholes.after - (double)wholes.before);
    answer_put_share(answer, "ratio", (double)wholes.after, (double)wholes.before);
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
    struct chosen_by by = request_choice(request);
    if (*request->other_ranks)
        by.ranks = request->other_ranks;
    if (other)
        other = opened_choose_second(other, by, err);
    struct difference_side before, after;
    struct difference difference;
    const struct selection all = {.idle = request->selection.idle, .measure = request->selection.measure};
    if (!other || fill_side(row, &all, &before, err) < 0 || fill_side(other, &all, &after, err) < 0 ||
        difference_build(&before, &after, &difference, err) < 0)
        return -1;
    const struct wholes wholes = {before.functions->whole, after.functions->whole};
    put_wholes(answer, wholes);
    put_functions(answer, &difference);
    put_function_shares(answer, &difference, wholes);
    put_changes(answer, &difference);
    put_nodes(answer, &difference, wholes);
    int result = rectangles_put(answer, &difference.tree, &(struct rectangles_options){.nodes = true}, err);
    difference_clear(&difference);
    return result;
}
