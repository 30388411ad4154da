#include "analyse/mark_order.h"

#include "base/err.h"
#include "store/recording.h"

#define WIDTH 4 /* columns of one mark */

static uint32_t first_of(const struct recording *recording, uint32_t thread)
{
    uint32_t low = 0, high = recording->marks_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->marks[middle].thread < thread)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool mark_order_has(const struct recording *recording, uint32_t thread)
{
    uint32_t first = first_of(recording, thread);
    return first < recording->marks_count && recording->marks[first].thread == thread;
}

int mark_order_build(const struct recording *recording, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
                     uint32_t columns, struct time_order *order, struct err *err)
{
    *order = (struct time_order){0};
    uint64_t width_ns = columns && end_ns > begin_ns ? WIDTH * (end_ns - begin_ns) / columns : 0;
    for (uint32_t i = first_of(recording, thread);
         i < recording->marks_count && recording->marks[i].thread == thread; i++) {
        uint64_t time_ns = recording->marks[i].time_ns;
        struct time_order_row *last = order->count ? &order->rows[order->count - 1] : NULL;
        const struct time_order_row row = {time_ns, time_ns + width_ns, .code = i, .calls = 1};
        if (row.end_ns < begin_ns || time_ns >= end_ns)
            continue;
        if (last && time_ns < last->end_ns) {
            last->calls++;
        } else if (!time_order_add(order, &row)) {
            time_order_clear(order);
            return err_set(err, "out of memory while laying out marks");
        }
    }
    time_order_sort(order);
    return 0;
}
