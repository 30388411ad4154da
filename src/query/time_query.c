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

/* `run_ns`: of what their shares are. */
static void put_rows(struct answer *answer, const struct time_order *order, uint64_t run_ns)
{
    uint32_t *level = answer_numbers(answer, "level", order->levels + 1);
    for (uint32_t i = 0; level && i < order->count; i++)
        level[order->rows[i].depth + 1] = i + 1;
    double *start = answer_reals(answer, "start", order->count);
    for (uint32_t i = 0; start && i < order->count; i++)
        start[i] = (double)order->rows[i].start_ns;
    double *total = answer_reals(answer, "total", order->count);
    for (uint32_t i = 0; total && i < order->count; i++)
        total[i] = (double)(order->rows[i].end_ns - order->rows[i].start_ns);
    double *share = answer_reals(answer, "share", order->count);
    for (uint32_t i = 0; share && i < order->count; i++)
        share[i] = answer_share((double)(order->rows[i].end_ns - order->rows[i].start_ns), (double)run_ns);
    uint32_t *code = answer_numbers(answer, "code", order->count);
    for (uint32_t i = 0; code && i < order->count; i++)
        code[i] = order->rows[i].code;
    uint32_t *calls = answer_numbers(answer, "calls", order->count);
    for (uint32_t i = 0; calls && i < order->count; i++)
        calls[i] = order->rows[i].calls;
}

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
    put_rows(answer, &order, axis.end_ns - axis.begin_ns);
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
    put_rows(answer, &order, axis.end_ns - axis.begin_ns);
    time_order_clear(&order);
    return 0;
}
