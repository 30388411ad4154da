#include "analyse/activity.h"

#include "analyse/tree.h"
#include "store/recording.h"

/* A sample's time is spread over the time that it stands for: charged to its instant, samples farther apart than
 * columns would look like a comb, and those a little nearer would beat. */
static void spread(double *columns_ns, uint32_t columns, double from, double to, double weight_ns)
{
    if (!(to > from)) {
        uint32_t column = from < 0 ? 0 : (uint32_t)from;
        if (column < columns)
            columns_ns[column] += weight_ns;
        return;
    }
    for (uint32_t column = from < 0 ? 0 : (uint32_t)from; column < columns && column < to; column++) {
        double left = column > from ? column : from, right = column + 1 < to ? column + 1 : to;
        columns_ns[column] += weight_ns * (right - left) / (to - from);
    }
}

void activity_add(const struct recording *recording, const struct selection *selection, uint64_t begin_ns,
                  uint64_t end_ns, uint32_t columns, double *running_ns, double *gil_ns)
{
    if (end_ns <= begin_ns)
        return;
    double per_ns = (double)columns / (double)(end_ns - begin_ns);
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        if (row->time_ns < begin_ns || row->time_ns >= end_ns || !(row->state & SAMPLE_RUNNING) ||
            !tree_selection_has_sample(selection, recording, row))
            continue;
        double from = (double)(row->time_ns - begin_ns) * per_ns;
        double to = from + (double)row->weight_ns * per_ns;
        spread(running_ns, columns, from, to, (double)row->weight_ns);
        if (row->state & SAMPLE_GIL)
            spread(gil_ns, columns, from, to, (double)row->weight_ns);
    }
}
