/* region_sums: the time in each region, of the selection's threads; marks: those of a thread, with their words. */
#include <stdlib.h>

#include "analyse/mark_order.h"
#include "analyse/regions.h"
#include "analyse/series.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"
#include "query/time_rows.h"

struct column {
    const char *name;
    double (*value)(const struct regions_row *row, uint64_t run_ns);
};

static double calls(const struct regions_row *row, uint64_t run_ns)
{
    (void)run_ns;
    return (double)row->count;
}

static double total(const struct regions_row *row, uint64_t run_ns)
{
    (void)run_ns;
    return (double)row->total_ns;
}

static double self(const struct regions_row *row, uint64_t run_ns)
{
    (void)run_ns;
    return (double)row->self_ns;
}

static double mean(const struct regions_row *row, uint64_t run_ns)
{
    (void)run_ns;
    return (double)row->lengths_ns / (double)row->count;
}

static double share(const struct regions_row *row, uint64_t run_ns)
{
    return answer_share((double)row->total_ns, (double)run_ns);
}

static const struct column columns[] = {
    {"calls", calls}, {"total", total}, {"self", self}, {"mean", mean}, {"share", share}};

int region_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                 struct answer *answer, struct err *err)
{
    (void)opened;
    struct regions regions;
    if (regions_build(&row->recording, &request->selection, &regions, err) < 0)
        return -1;
    uint32_t *region = answer_numbers(answer, "region", regions.count);
    for (uint32_t i = 0; region && i < regions.count; i++)
        region[i] = regions.rows[i].region;
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
        double *values = answer_reals(answer, columns[c].name, regions.count);
        for (uint32_t i = 0; values && i < regions.count; i++)
            values[i] = columns[c].value(&regions.rows[i], regions.run_ns);
    }
    regions_clear(&regions);
    return 0;
}

/* "name: text", a text for each row. */
static int put_words(struct answer *answer, const struct recording *recording, const struct time_order *order,
                     struct err *err)
{
    struct bytes words = {0};
    uint32_t *ends = malloc(((size_t)order->count + 1) * sizeof *ends);
    for (uint32_t i = 0; ends && i < order->count; i++) {
        const struct mark_row *mark = &recording->marks[order->rows[i].code];
        bytes_put_text(&words, recording_text(recording, mark->name));
        if (mark->text)
            bytes_putf(&words, ": %s", recording_text(recording, mark->text));
        ends[i] = (uint32_t)words.size;
    }
    if (ends && !words.failed)
        answer_texts(answer, "words", &words, ends, order->count);
    int result = ends && !words.failed ? 0 : err_set(err, "out of memory for the marks");
    free(ends);
    bytes_clear(&words);
    return result;
}

int region_query_marks(struct opened *opened, struct opened_recording *row, const struct request *request,
                       struct answer *answer, struct err *err)
{
    (void)opened;
    const struct recording *recording = &row->recording;
    struct timeline_axis axis = series_whole_axis(recording);
    struct time_order order;
    uint64_t begin_ns = request->from_ns ? request->from_ns : axis.begin_ns;
    uint64_t end_ns = request->to_ns ? request->to_ns : axis.end_ns;
    if (mark_order_build(recording, request->selection.thread, begin_ns, end_ns, request->columns, &order,
                         err) < 0)
        return -1;
    time_rows_put(answer, &order, axis.end_ns - axis.begin_ns);
    int result = put_words(answer, recording, &order, err);
    time_order_clear(&order);
    return result;
}
