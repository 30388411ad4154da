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
    json_unsigned(json, functions->total);
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
