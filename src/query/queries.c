#include "query/queries.h"

#include <string.h>

#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/request.h"

static const struct {
    const char *name;
    query_function *function;
} table[] = {
    {"activity", activity_query},
    {"codes", codes_query},
    {"compare", compare_query},
    {"functions", functions_query},
    {"graph", graph_query},
    {"groups", groups_query},
    {"lines", lines_query},
    {"marks", region_query_marks},
    {"memory", memory_query},
    {"messages", mpi_query_messages},
    {"mpi", mpi_query},
    {"order", order_query},
    {"rank_bars", rank_matrix_query_bars},
    {"rank_function", rank_query_function},
    {"rank_functions", rank_matrix_query},
    {"ranks", rank_query},
    {"recordings", recordings_query},
    {"region_sums", region_query},
    {"regions", time_query_regions},
    {"series", series_query},
    {"share", share_query},
    {"stacks", stacks_query},
    {"summary", summary_query},
    {"threads", threads_query},
    {"time", time_query},
};

static query_function *find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].function;
    return NULL;
}

static int answer_to(struct opened *opened, const struct request *request, struct bytes *out, struct err *err)
{
    query_function *function = find(request->ask);
    if (!function)
        return err_set(err, "the page asks for \"%s\", which this sonde does not know", request->ask);
    struct opened_recording *row = opened_find(opened, request->recording, err);
    if (row)
        row = opened_choose(row, request_choice(request), err);
    if (!row)
        return -1;
    struct answer answer = {0};
    answer_begin(&answer);
    int result = function(opened, row, request, &answer, err);
    if (result == 0)
        result = answer_end(&answer, out, err);
    answer_clear(&answer);
    return result;
}

void queries_ask(struct opened *opened, const char *json, size_t size, struct bytes *out)
{
    struct err err = {0};
    struct request request;
    size_t before = out->size;
    int result = request_read(json, size, &request, &err);
    if (result == 0)
        result = answer_to(opened, &request, out, &err);
    request_clear(&request);
    if (result == 0)
        return;
    out->size = before;
    out->failed = false;
    answer_put_error(err.text, out);
}
