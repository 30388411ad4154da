/* activity: how many of the selected threads ran, and held the GIL, over time: the strip below the views. */
#include "analyse/activity.h"
#include "analyse/series.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

#define COLUMNS_MAX 16384u

int activity_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                   struct answer *answer, struct err *err)
{
    (void)opened;
    uint32_t columns = request->columns && request->columns < COLUMNS_MAX ? request->columns : 1000;
    struct timeline_axis axis = series_whole_axis(&row->recording);
    uint64_t begin_ns = request->from_ns ? request->from_ns : axis.begin_ns;
    uint64_t end_ns = request->to_ns ? request->to_ns : axis.end_ns;
    struct json *json = &answer->json;
    json_key(json, "begin_ns");
    json_unsigned(json, begin_ns);
    json_key(json, "end_ns");
    json_unsigned(json, end_ns);
    /* Both places at once: the second put may move the first. */
    double *both = answer_reals(answer, "running_and_gil", (size_t)columns * 2);
    if (!both)
        return err_set(err, "not enough memory for the activity");
    activity_add(&row->recording, &request->selection, begin_ns, end_ns, columns, both, both + columns);
    double column_ns = (double)(end_ns - begin_ns) / columns;
    for (uint32_t i = 0; i < columns * 2 && column_ns > 0; i++)
        both[i] /= column_ns;
    return 0;
}
