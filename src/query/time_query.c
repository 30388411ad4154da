/* time: what one thread did as it happened, as rectangles on the time axis; regions: the same of the parts with names. */
#include "analyse/call_order.h"
#include "analyse/region_order.h"
#include "analyse/series.h"
#include "analyse/time_order.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"
#include "query/time_rows.h"

int time_query(struct opened *opened, struct opened_recording *row, const struct request *request,
               struct answer *answer, struct err *err)
{
    (void)opened;
    struct time_order order;
    const struct recording *recording = &row->recording;
    struct timeline_axis axis = series_whole_axis(recording);
    uint32_t thread = request->selection.thread;
    uint64_t begin_ns = request->from_ns ? request->from_ns : axis.begin_ns;
    uint64_t end_ns = request->to_ns ? request->to_ns : axis.end_ns;
    if (thread >= recording->threads_count)
        return err_set(err, "there is no thread %u", thread);
    int built = recording->call_events_count
                    ? call_order_build(recording, thread, begin_ns, end_ns, request->columns, &order, err)
                    : time_order_build(recording, &request->selection, thread, request->from_ns,
                                       request->to_ns, request->columns, &order, err);
    if (built < 0)
        return -1;
    time_rows_put(answer, &order, axis.end_ns - axis.begin_ns);
    time_order_clear(&order);
    return 0;
}

int time_query_regions(struct opened *opened, struct opened_recording *row, const struct request *request,
                       struct answer *answer, struct err *err)
{
    (void)opened;
    struct time_order order;
    const struct recording *recording = &row->recording;
    struct timeline_axis axis = series_whole_axis(recording);
    uint64_t begin_ns = request->from_ns ? request->from_ns : axis.begin_ns;
    uint64_t end_ns = request->to_ns ? request->to_ns : axis.end_ns;
    if (request->selection.thread >= recording->threads_count)
        return err_set(err, "there is no thread %u", request->selection.thread);
    if (region_order_build(recording, request->selection.thread, begin_ns, end_ns, request->columns, &order,
                           err) < 0)
        return -1;
    time_rows_put(answer, &order, axis.end_ns - axis.begin_ns);
    time_order_clear(&order);
    return 0;
}
