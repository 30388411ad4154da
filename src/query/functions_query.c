/* functions: the table of functions of a selection, and who called whom. */
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

static void put_rows(struct answer *answer, const struct functions *functions)
{
    const struct function_row *rows = functions->rows;
    uint32_t count = functions->row_count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "code", rows, count, code);
    ANSWER_COLUMNS_PUT_REALS(answer, "calls", rows, count, calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "primitive_calls", rows, count, primitive_calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "samples", rows, count, samples);
    ANSWER_COLUMNS_PUT_REALS(answer, "total_samples", rows, count, total_samples);
    ANSWER_COLUMNS_PUT_REALS(answer, "self", rows, count, self);
    ANSWER_COLUMNS_PUT_REALS(answer, "total", rows, count, total);
    ANSWER_COLUMNS_PUT_SHARES(answer, "self_share", rows, count, self, functions->whole);
    ANSWER_COLUMNS_PUT_SHARES(answer, "total_share", rows, count, total, functions->whole);
    ANSWER_COLUMNS_PUT_SHARES(answer, "per_call", rows, count, total, rows[i].calls);
}

static double total_of(const struct functions *functions, uint32_t code)
{
    const struct function_row *row = functions_find(functions, code);
    return row ? (double)row->total : 0;
}

/* Of the whole, and of what its caller and its callee take in all. */
static void put_edge_shares(struct answer *answer, const struct functions *functions)
{
    const struct edge_row *rows = functions->edges;
    uint32_t count = functions->edge_count;
    ANSWER_COLUMNS_PUT_SHARES(answer, "edge_share", rows, count, total, functions->whole);
    ANSWER_COLUMNS_PUT_SHARES(answer, "edge_caller_share", rows, count, total,
                              total_of(functions, rows[i].caller));
    ANSWER_COLUMNS_PUT_SHARES(answer, "edge_callee_share", rows, count, total,
                              total_of(functions, rows[i].callee));
}

static void put_edges(struct answer *answer, const struct functions *functions)
{
    const struct edge_row *rows = functions->edges;
    uint32_t count = functions->edge_count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "edge_caller", rows, count, caller);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "edge_callee", rows, count, callee);
    ANSWER_COLUMNS_PUT_REALS(answer, "edge_calls", rows, count, calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "edge_samples", rows, count, total_samples);
    ANSWER_COLUMNS_PUT_REALS(answer, "edge_self", rows, count, self);
    ANSWER_COLUMNS_PUT_REALS(answer, "edge_total", rows, count, total);
    put_edge_shares(answer, functions);
}

int functions_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                    struct answer *answer, struct err *err)
{
    (void)opened;
    const struct functions *functions = opened_functions(row, &request->selection, err);
    if (!functions)
        return -1;
    struct json *json = &answer->json;
    json_key(json, "measure");
    json_string(json, measure_name(functions->measure));
    json_key(json, "unit");
    json_string(json, measure_suffix(functions->measure));
    json_key(json, "total");
    json_unsigned(json, functions->whole);
    json_key(json, "total_calls");
    json_unsigned(json, functions->total_calls);
    json_key(json, "total_samples");
    json_unsigned(json, functions->total_samples);
    json_key(json, "sampled");
    json_bool(json, functions->sampled);
    put_rows(answer, functions);
    put_edges(answer, functions);
    return 0;
}
