#include "analyse/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/recording.h"

static uint32_t first_of(const struct recording *recording, uint64_t counter)
{
    uint32_t low = 0, high = recording->series_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (recording->series[middle].counter < counter)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct series as_series(const struct recording *recording, const struct counter *counter)
{
    bool is_time = strcmp(recording_text(recording, counter->unit), "ns") == 0;
    return (struct series){.kind = counter->kind, .scale = is_time ? 1 : 1e9};
}

double series_value(const struct series *series, const struct series_row *row)
{
    return series->kind == COUNTER_REAL ? recording_real(row->value) : (double)row->value;
}

struct series series_of(const struct recording *recording, uint32_t counter)
{
    struct series series = as_series(recording, &recording->counters[counter]);
    uint32_t first = first_of(recording, counter), end = first_of(recording, (uint64_t)counter + 1);
    series.rows = end > first ? recording->series + first : NULL;
    series.count = end - first;
    return series;
}

/* ---- all of a name ---- */

static int by_time(const void *left, const void *right)
{
    const struct series_row *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return (a->counter > b->counter) - (a->counter < b->counter);
}

/* A hostile file may hold anything: what does not fit wraps round. */
static int64_t difference(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* The same of values of that kind, whose zero is zero in both. */
static int64_t step_between(uint8_t kind, int64_t before, int64_t after)
{
    if (kind != COUNTER_REAL)
        return difference(after, before);
    return recording_real_bits(recording_real(after) - recording_real(before));
}

/* The steps of one level: by how much the sum of all changes at each of its points. */
static uint32_t put_steps(const struct series *series, struct series_row *steps)
{
    for (uint32_t i = 0; i < series->count; i++) {
        steps[i] = series->rows[i];
        steps[i].value = step_between(series->kind, i ? series->rows[i - 1].value : 0, steps[i].value);
    }
    if (!series->count)
        return 0;
    /* A process that has ended has nothing any more; it was not seen to end when the next look was not due yet. */
    const struct series_row *last = &series->rows[series->count - 1];
    uint64_t usual_ns =
        series->count > 1 ? (last->time_ns - series->rows[0].time_ns) / (series->count - 1) : 0;
    steps[series->count] = *last;
    steps[series->count].time_ns += last->time_ns < UINT64_MAX - usual_ns ? usual_ns + 1 : 0;
    steps[series->count].value = step_between(series->kind, last->value, 0);
    return series->count + 1;
}

static bool is_named(const struct recording *recording, uint32_t counter, const char *name)
{
    return strcmp(recording_text(recording, recording->counters[counter].name), name) == 0;
}

/* Steps up to the last point become their running sum; those of one instant are one point. */
static uint32_t add_up(uint8_t kind, struct series_row *steps, uint32_t count, uint64_t last_ns)
{
    uint32_t kept = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < count && steps[i].time_ns <= last_ns; i++) {
        sum = step_between(kind, step_between(kind, steps[i].value, 0), sum);
        if (kept && steps[kept - 1].time_ns == steps[i].time_ns)
            kept--;
        steps[kept] = steps[i];
        steps[kept++].value = sum;
    }
    return kept;
}

/* Levels hold until the next point of their process. */
static uint32_t sum_levels(const struct recording *recording, const char *name, uint8_t kind,
                           struct series_row *rows)
{
    uint32_t count = 0;
    uint64_t last_ns = 0;
    for (uint32_t i = 1; i < recording->counters_count; i++) {
        if (!is_named(recording, i, name) || recording->counters[i].kind != kind)
            continue;
        struct series one = series_of(recording, i);
        if (one.count && one.rows[one.count - 1].time_ns > last_ns)
            last_ns = one.rows[one.count - 1].time_ns;
        count += put_steps(&one, rows + count);
    }
    qsort(rows, count, sizeof *rows, by_time);
    return add_up(kind, rows, count, last_ns);
}

/* A process begins or ends to grow at that rate. */
struct bend {
    uint64_t time_ns;
    double rate;
};

static int by_bend(const void *left, const void *right)
{
    const struct bend *a = left, *b = right;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static uint32_t put_bends(const struct series *series, struct bend *bends)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i + 1 < series->count; i++) {
        const struct series_row *row = &series->rows[i];
        double length_ns = (double)(row[1].time_ns - row->time_ns);
        double rate = length_ns > 0 ? ((double)row[1].value - (double)row->value) / length_ns : 0;
        bends[count++] = (struct bend){row->time_ns, rate};
        bends[count++] = (struct bend){row[1].time_ns, -rate};
    }
    return count;
}

/* The rates of all processes together, as a curve that grows like that. Bends nearer than this become one: a point is a
 * whole number, and between two that are too near its fraction would count. */
#define BENDS_APART_NS 1000000u

static uint32_t join_bends(const struct bend *bends, uint32_t count, struct series_row *rows)
{
    uint32_t kept = 0;
    double rate = 0, value = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            value += rate * (double)(bends[i].time_ns - bends[i - 1].time_ns);
        rate += bends[i].rate;
        bool is_near =
            kept > 1 && i + 1 < count && bends[i].time_ns - rows[kept - 1].time_ns < BENDS_APART_NS;
        bool is_same = kept && rows[kept - 1].time_ns == bends[i].time_ns;
        if (!is_near && !is_same)
            rows[kept++] = (struct series_row){.time_ns = bends[i].time_ns, .value = (int64_t)value};
    }
    return kept;
}

/* Sums grow evenly between the points of their process: those of several fall to different times. */
static int sum_sums(const struct recording *recording, const char *name, struct series_row *rows,
                    uint32_t *count, struct err *err)
{
    struct bend *bends = malloc(((size_t)recording->series_count + 1) * 2 * sizeof *bends);
    uint32_t bend_count = 0;
    if (!bends)
        return err_set(err, "out of memory");
    for (uint32_t i = 1; i < recording->counters_count; i++) {
        const struct series one = series_of(recording, i);
        if (is_named(recording, i, name) && recording->counters[i].kind == COUNTER_SUM)
            bend_count += put_bends(&one, bends + bend_count);
    }
    qsort(bends, bend_count, sizeof *bends, by_bend);
    *count = join_bends(bends, bend_count, rows);
    free(bends);
    return 0;
}

int series_sum(const struct recording *recording, const char *name, struct series_row **rows,
               struct series *series, struct err *err)
{
    *series = (struct series){.scale = 1};
    /* Of a level each process may have a point more, for its end; of a sum each piece has two bends. */
    size_t room = (size_t)recording->series_count * 2 + recording->counters_count + 1;
    *rows = malloc(room * sizeof **rows);
    if (!*rows)
        return err_set(err, "out of memory");
    for (uint32_t i = recording->counters_count; i-- > 1;)
        if (is_named(recording, i, name))
            *series = as_series(recording, &recording->counters[i]);
    series->rows = *rows;
    if (series->kind != COUNTER_SUM)
        series->count = sum_levels(recording, name, series->kind, *rows);
    else if (sum_sums(recording, name, *rows, &series->count, err) < 0) {
        free(*rows);
        *rows = NULL;
        return -1;
    }
    return 0;
}

/* ---- pieces: a value that holds from one instant to another ---- */

uint32_t series_piece_count(const struct series *series)
{
    return series->kind == COUNTER_SUM && series->count ? series->count - 1 : series->count;
}

struct series_piece series_piece_at(const struct series *series, uint32_t index)
{
    const struct series_row *row = &series->rows[index];
    bool is_last = index + 1 == series->count;
    struct series_piece piece = {row->time_ns, is_last ? row->time_ns : row[1].time_ns,
                                 series_value(series, row)};
    if (series->kind != COUNTER_SUM)
        return piece;
    double length_ns = (double)(piece.end_ns - piece.begin_ns);
    double growth = (double)row[1].value - (double)row->value;
    piece.value = length_ns > 0 ? growth / length_ns * series->scale : 0;
    return piece;
}

struct series_summary series_summarise(const struct series *series)
{
    struct series_summary summary = {.points = series->count};
    double area = 0;
    uint32_t pieces = series_piece_count(series);
    for (uint32_t i = 0; i < pieces; i++) {
        struct series_piece piece = series_piece_at(series, i);
        if (i == 0)
            summary.first = summary.least = summary.most = piece.value;
        if (piece.value > summary.most || i == 0) {
            summary.most = piece.value;
            summary.most_ns = piece.begin_ns;
        }
        summary.least = fmin(summary.least, piece.value);
        summary.last = piece.value;
        area += piece.value * (double)(piece.end_ns - piece.begin_ns);
    }
    if (series->count) {
        summary.begin_ns = series->rows[0].time_ns;
        summary.end_ns = series->rows[series->count - 1].time_ns;
    }
    double length_ns = (double)(summary.end_ns - summary.begin_ns);
    summary.mean = length_ns > 0 ? area / length_ns : summary.first;
    return summary;
}

static void take(double *least, double *most, uint32_t column, double value)
{
    least[column] = fmin(least[column], value);
    most[column] = fmax(most[column], value);
}

void series_columns(const struct series *series, uint64_t begin_ns, uint64_t end_ns, uint32_t columns,
                    double *least, double *most)
{
    for (uint32_t i = 0; i < columns; i++)
        least[i] = most[i] = NAN;
    double column_ns = (double)(end_ns - begin_ns) / columns;
    uint32_t pieces = end_ns > begin_ns ? series_piece_count(series) : 0;
    for (uint32_t i = 0; i < pieces; i++) {
        struct series_piece piece = series_piece_at(series, i);
        if (piece.end_ns < begin_ns || piece.begin_ns >= end_ns)
            continue;
        double from = piece.begin_ns > begin_ns ? (double)(piece.begin_ns - begin_ns) / column_ns : 0;
        double to = fmin((double)(piece.end_ns - begin_ns) / column_ns, columns);
        uint32_t column = fmin(from, columns - 1);
        do
            take(least, most, column, piece.value);
        while (++column < to && column < columns);
    }
}

const char *series_memory_name(const struct recording *recording)
{
    static const char *const names[] = {"rss", "pss", "uss", "heap"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (uint32_t i = 1; i < recording->counters_count; i++)
            if (is_named(recording, i, names[n]) && recording->counters[i].kind != COUNTER_REAL)
                return names[n];
    return NULL;
}

bool series_is_all(const struct recording *recording)
{
    return recording->counters_count > 1 && !recording->samples_count && !recording->calls_count &&
           !recording->functions_count && !recording->lines_count && !recording->heap_count &&
           !recording->allocations_count && !recording->line_memory_count && recording->nodes_count < 2 &&
           !recording_meta(recording, "rate_hz"); /* samples were to be taken */
}

struct timeline_axis series_axis(const struct recording *recording)
{
    struct timeline_axis axis = {.begin_ns = UINT64_MAX};
    for (uint32_t i = 0; i < recording->series_count; i++) {
        uint64_t time_ns = recording->series[i].time_ns;
        axis.begin_ns = time_ns < axis.begin_ns ? time_ns : axis.begin_ns;
        axis.end_ns = time_ns > axis.end_ns ? time_ns : axis.end_ns;
    }
    return recording->series_count ? axis : (struct timeline_axis){0};
}

struct timeline_axis series_whole_axis(const struct recording *recording)
{
    struct timeline_axis samples = timeline_axis(recording), counters = series_axis(recording);
    if (!samples.end_ns || !recording->series_count)
        return samples.end_ns ? samples : counters;
    if (counters.begin_ns < samples.begin_ns)
        samples.begin_ns = counters.begin_ns;
    if (counters.end_ns > samples.end_ns)
        samples.end_ns = counters.end_ns;
    return samples;
}
