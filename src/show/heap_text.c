#include "show/heap_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/heap_totals.h"
#include "analyse/heap_weights.h"
#include "analyse/series.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "show/amount_text.h"
#include "show/report_text.h"
#include "store/recording.h"

#define MORE_ROWS    5
#define HOT_SHARE    0.10
#define LABEL_COLUMN 46
#define BAR_WIDTH    30

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void put_total(const struct heap_total *total, const char *noun, const char *words, struct bytes *out)
{
    bytes_putf(out, "%s in %s %s%s%s", quantity_bytes((double)total->bytes).text,
               quantity_count(total->count).text, noun, plural(total->count), words);
}

/* How the numbers came about, and what it took to get them. */
static void put_quality(const struct recording *recording, const struct heap_totals *totals,
                        struct bytes *out)
{
    const char *own = recording_meta(recording, "memory_bytes");
    if (totals->sampled && totals->sample_bytes)
        bytes_putf(out, "; estimated from one allocation for each %s",
                   quantity_bytes((double)totals->sample_bytes).text);
    else
        bytes_put_text(out, totals->sampled ? "; estimated from samples" : "; every allocation counted");
    if (own)
        bytes_putf(out, "; the tracker itself took %s", quantity_bytes(strtod(own, NULL)).text);
}

static void put_range(const struct recording *recording, const struct heap_totals *totals, struct bytes *out)
{
    put_total(&totals->of[MEASURE_TOTAL], "allocation", " in this time, of which ", out);
    put_total(&totals->of[MEASURE_PEAK], "block", " were not freed in it", out);
    if (!heap_weights_is_exact(recording))
        bytes_put_text(out, " (net growth of each stack, as of the last whole second or so; sonde mem --log "
                            "knows each block)");
}

static void put_run(const struct recording *recording, const struct heap_totals *totals, struct bytes *out)
{
    struct timeline_axis axis = series_whole_axis(recording);
    bytes_put_text(out, "Peak ");
    put_total(&totals->of[MEASURE_PEAK], "block", "", out);
    if (totals->peak_ns > axis.begin_ns)
        bytes_putf(out, " after %s", quantity_duration((double)(totals->peak_ns - axis.begin_ns)).text);
    if (totals->outside.bytes)
        bytes_putf(out, ", %s of it outside of Python functions",
                   quantity_bytes((double)totals->outside.bytes).text);
    bytes_put_text(out, "; ");
    put_total(&totals->of[MEASURE_TOTAL], "allocation", " in all; ", out);
    put_total(&totals->of[MEASURE_LEAKED], "block", totals->ended ? " never freed" : " alive at the end",
              out);
    if (totals->kept.bytes)
        bytes_putf(out, " (without %s that the interpreter keeps)",
                   quantity_bytes((double)totals->kept.bytes).text);
    if (totals->of[MEASURE_TEMPORARY].count)
        bytes_putf(out, "; %s temporary", quantity_count(totals->of[MEASURE_TEMPORARY].count).text);
}

int heap_text_put_counts(const struct recording *recording, const struct report_options *options,
                         struct bytes *out, struct err *err)
{
    struct heap_totals totals;
    if (heap_totals_build(recording, &options->selection, &totals, err) < 0)
        return -1;
    if (heap_weights_of_range(&options->selection))
        put_range(recording, &totals, out);
    else
        put_run(recording, &totals, out);
    put_quality(recording, &totals, out);
    return 0;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void put_row(const struct recording *recording, const struct report_options *options,
                    const struct ranking_row *row, const struct functions *functions, struct bytes *out)
{
    double share = share_of(row->self, functions->total);
    bool hot = share >= HOT_SHARE;
    if (hot)
        terminal_style(&options->terminal, TERMINAL_HOT, out);
    amount_text_put(functions->measure, (double)row->self, out);
    if (hot)
        terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    bytes_putf(out, " %6.1f%% ", share * 100);
    amount_text_put(functions->measure, (double)row->total, out);
    bytes_putf(out, " %6.1f%% %9" PRIu64 "  ", share_of(row->total, functions->total) * 100, row->samples);
    report_text_put_label(recording, options, row, LABEL_COLUMN, out);
    bytes_put_u8(out, '\n');
}

const char *heap_text_words(const struct report_options *options, enum measure measure)
{
    if (!heap_weights_of_range(&options->selection))
        return measure_words(measure);
    switch (measure) {
    case MEASURE_TOTAL:
    case MEASURE_TOTAL_COUNT:
        return "allocated in this time";
    case MEASURE_TEMPORARY:
    case MEASURE_TEMPORARY_COUNT:
        return "freed at once in this time";
    default:
        return "allocated in this time and not freed";
    }
}

void heap_text_put_table(const struct recording *recording, const struct report_options *options,
                         const struct ranking *ranking, const struct functions *functions, struct bytes *out)
{
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    bytes_putf(out, "     own       %%    total       %%    blocks  %s\n", report_text_noun(options->by));
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    for (uint32_t i = 0; i < ranking->count; i++)
        put_row(recording, options, &ranking->rows[i], functions, out);
}

static int put_measure(const struct recording *recording, const struct report_options *given,
                       enum measure measure, struct bytes *out, struct err *err)
{
    struct report_options options = *given;
    struct functions functions;
    struct ranking ranking = {0};
    options.selection.measure = measure;
    options.limit = MORE_ROWS;
    if (functions_build(recording, &options.selection, &functions, err) < 0)
        return -1;
    int result = functions.total ? report_text_rows(recording, &functions, &options, &ranking, NULL, err) : 0;
    if (result == 0 && functions.total) {
        bytes_putf(out, "\n%s %s (--sort %s)\n\n", measure_quantity(measure, functions.total).text,
                   measure_words(measure), measure_name(measure));
        heap_text_put_table(recording, &options, &ranking, &functions, out);
    }
    ranking_clear(&ranking);
    functions_clear(&functions);
    return result;
}

static void put_bar(uint64_t count, uint64_t most, struct bytes *out)
{
    unsigned width = most ? (unsigned)((double)count / (double)most * BAR_WIDTH + 0.5) : 0;
    for (unsigned i = 0; i < width; i++)
        bytes_put_text(out, "█");
    if (!width && count)
        bytes_put_text(out, "▏");
}

static void put_sizes(const struct heap_histogram *histogram, struct bytes *out)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < histogram->count; i++)
        most = histogram->rows[i].count > most ? histogram->rows[i].count : most;
    for (uint32_t i = 0; i < histogram->count; i++) {
        const struct heap_histogram_row *row = &histogram->rows[i];
        bytes_putf(out, "%8s %14s %8s  ", quantity_bytes((double)row->floor_bytes).text,
                   quantity_count(row->count).text, quantity_bytes((double)row->total_bytes).text);
        put_bar(row->count, most, out);
        bytes_put_u8(out, '\n');
    }
}

static int put_histogram(const struct recording *recording, const struct report_options *options,
                         struct bytes *out, struct err *err)
{
    struct heap_histogram histogram;
    if (heap_totals_histogram(recording, &options->selection, &histogram, err) < 0)
        return -1;
    if (histogram.count) {
        bytes_put_text(out, "\nAllocations by size\n\n");
        terminal_style(&options->terminal, TERMINAL_BOLD, out);
        bytes_put_text(out, "    from    allocations    bytes\n");
        terminal_style(&options->terminal, TERMINAL_PLAIN, out);
        put_sizes(&histogram, out);
    }
    free(histogram.rows);
    return 0;
}

int heap_text_put_more(const struct recording *recording, const struct report_options *options,
                       struct bytes *out, struct err *err)
{
    static const enum measure others[] = {MEASURE_TOTAL, MEASURE_LEAKED, MEASURE_TEMPORARY};
    if (heap_weights_of_range(&options->selection))
        return 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (put_measure(recording, options, others[i], out, err) < 0)
            return -1;
    return put_histogram(recording, options, out, err);
}
