/* series: a counter over time, the smallest and the largest value of each pixel; or all of a name, added up. */
#include <stdlib.h>

#include "analyse/series.h"
#include "base/err.h"
#include "export/counter_json.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

#define COLUMNS_MAX 16384u

static void put_values(struct answer *answer, const struct series *series, uint64_t begin_ns, uint64_t end_ns)
{
    struct json *json = &answer->json;
    json_key(json, "begin_ns");
    json_unsigned(json, begin_ns);
    json_key(json, "end_ns");
    json_unsigned(json, end_ns);
    counter_json_put_figures(json, series);
}

static int put_columns(struct answer *answer, const struct series *series, const struct request *request,
                       struct timeline_axis axis, struct err *err)
{
    uint32_t columns = request->columns && request->columns < COLUMNS_MAX ? request->columns : 1000;
    uint64_t begin_ns = request->from_ns ? request->from_ns : axis.begin_ns;
    uint64_t end_ns = request->to_ns ? request->to_ns : axis.end_ns;
    put_values(answer, series, begin_ns, end_ns);
    /* Both places at once: the second put may move the first. */
    double *both = answer_reals(answer, "least_and_most", (size_t)columns * 2);
    if (!both)
        return err_set(err, "not enough memory for the counter");
    series_columns(series, begin_ns, end_ns, columns, both, both + columns);
    return 0;
}

int series_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                 struct answer *answer, struct err *err)
{
    (void)opened;
    const struct recording *recording = &row->recording;
    struct timeline_axis axis = series_whole_axis(recording);
    struct series_row *rows = NULL;
    struct series series;
    if (request->counter && request->counter >= recording->counters_count)
        return err_set(err, "there is no counter %u", request->counter);
    if (request->counter)
        series = series_of(recording, request->counter);
    else if (series_sum(recording, request->text, &rows, &series, err) < 0)
        return -1;
    int result = put_columns(answer, &series, request, axis, err);
    free(rows);
    return result;
}
