#include "show/rank_bars.h"

#include <inttypes.h>
#include <stdio.h>

#include "analyse/labels.h"
#include "analyse/rank_rows.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "show/amount_text.h"
#include "show/report_text.h"

#define BAR_WIDTH_MAX 60
#define BAR_WIDTH_MIN 10
#define BAR_COLUMN    44 /* where a bar begins */
#define BINS          10

struct bars {
    const struct rank_table *table;
    const struct rank_cells *cells;
    struct rank_stats stats;
    enum rank_value value;
    unsigned width; /* of the longest */
};

static unsigned bar_width(const struct terminal *terminal)
{
    unsigned width = terminal->width > BAR_COLUMN + 2 ? terminal->width - BAR_COLUMN - 2 : BAR_WIDTH_MAX;
    width = width < BAR_WIDTH_MIN ? BAR_WIDTH_MIN : width;
    return width > BAR_WIDTH_MAX ? BAR_WIDTH_MAX : width;
}

static void put_bar(double part, unsigned width, struct bytes *out)
{
    unsigned length = (unsigned)(part * width + 0.5);
    for (unsigned i = 0; i < (length ? length : part > 0); i++)
        bytes_put_u8(out, '#');
    bytes_put_u8(out, '\n');
}

static double value_at(const struct bars *bars, uint32_t rank)
{
    const struct rank_cell *cell = rank_table_cell(bars->cells, rank);
    return cell ? rank_stats_value(cell, bars->value) : 0;
}

static void put_rank(const struct bars *bars, uint32_t rank, struct bytes *out)
{
    const struct rank_cell *cell = rank_table_cell(bars->cells, rank);
    double value = value_at(bars, rank);
    uint64_t counted = !cell ? 0 : bars->table->sampled ? cell->samples : cell->calls;
    bytes_putf(out, "%11u ", bars->table->ranks[rank].number);
    amount_text_put(bars->table->measure, value, out);
    bytes_putf(out, " %12" PRIu64 "          ", counted);
    put_bar(bars->stats.max > 0 ? value / bars->stats.max : 0, bars->width, out);
}

/* Ranks from `first` up to `end` as one bar. */
static void put_group(const struct bars *bars, uint32_t first, uint32_t end, struct bytes *out)
{
    double least = value_at(bars, first), most = least, sum = 0;
    for (uint32_t rank = first; rank < end; rank++) {
        double value = value_at(bars, rank);
        least = value < least ? value : least;
        most = value > most ? value : most;
        sum += value;
    }
    char range[24];
    snprintf(range, sizeof range, "%u-%u", bars->table->ranks[first].number,
             bars->table->ranks[end - 1].number);
    bytes_putf(out, "%11s ", range);
    amount_text_put(bars->table->measure, sum / (end - first), out);
    bytes_put_u8(out, ' ');
    amount_text_put(bars->table->measure, least, out);
    bytes_put_text(out, " ... ");
    amount_text_put(bars->table->measure, most, out);
    bytes_put_u8(out, ' ');
    put_bar(bars->stats.max > 0 ? sum / (end - first) / bars->stats.max : 0, bars->width, out);
}

static void put_ranks(const struct bars *bars, const struct report_options *options, struct bytes *out)
{
    uint32_t count = bars->table->rank_count;
    uint32_t each = options->limit < 0 ? 1 : (count + RANK_BARS_MAX - 1) / RANK_BARS_MAX;
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    bytes_putf(out, "       rank %8s%s\n",
               each > 1                                         ? "mean"
               : measure_suffix(bars->table->measure)[0] == 'n' ? "seconds"
                                                                : "amount",
               each > 1               ? "    least         most"
               : bars->table->sampled ? "      samples"
                                      : "        calls");
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    for (uint32_t first = 0; first < count; first += each) {
        if (each == 1)
            put_rank(bars, first, out);
        else
            put_group(bars, first, first + each < count ? first + each : count, out);
    }
}

static void put_histogram(const struct bars *bars, struct bytes *out)
{
    uint32_t counts[BINS], most = 1;
    const struct rank_stats *stats = &bars->stats;
    if (stats->max <= stats->min)
        return;
    rank_stats_histogram(bars->table, bars->cells, bars->value, stats->min, stats->max, counts, BINS);
    for (uint32_t i = 0; i < BINS; i++)
        most = counts[i] > most ? counts[i] : most;
    bytes_put_text(out, "\n                 from           to    ranks\n");
    for (uint32_t i = 0; i < BINS; i++) {
        double step = (stats->max - stats->min) / BINS;
        bytes_put_text(out, "             ");
        amount_text_put(bars->table->measure, stats->min + step * i, out);
        bytes_put_text(out, " ... ");
        amount_text_put(bars->table->measure, stats->min + step * (i + 1), out);
        bytes_putf(out, " %8u ", counts[i]);
        put_bar((double)counts[i] / most, bars->width, out);
    }
}

static void put_stats(const struct bars *bars, const char *name, const struct report_options *options,
                      struct bytes *out)
{
    const struct rank_table *table = bars->table;
    const struct rank_stats *stats = &bars->stats;
    enum measure measure = table->measure;
    struct bytes line = {0};
    bytes_putf(&line, "%s%s: ", name, bars->value == RANK_SELF ? " itself" : "");
    bytes_putf(&line, "mean %s, ", measure_quantity(measure, (uint64_t)stats->mean).text);
    bytes_putf(&line, "least %s (rank %u), ", measure_quantity(measure, (uint64_t)stats->min).text,
               table->ranks[stats->min_rank].number);
    bytes_putf(&line, "most %s (rank %u), ", measure_quantity(measure, (uint64_t)stats->max).text,
               table->ranks[stats->max_rank].number);
    bytes_putf(&line, "standard deviation %s, ", measure_quantity(measure, (uint64_t)stats->deviation).text);
    bytes_putf(&line, "imbalance %s (%s), ", quantity_share(stats->imbalance_share).text,
               measure_quantity(measure, (uint64_t)stats->imbalance).text);
    bytes_putf(&line, "on %u of %u ranks", stats->present, table->rank_count);
    bytes_put_u8(&line, '\0');
    if (!line.failed)
        terminal_wrap(&options->terminal, (const char *)line.data, 0, 2, out);
    bytes_clear(&line);
}

int rank_bars_put(const struct rank_table *table, uint32_t code, const struct report_options *options,
                  struct bytes *out, struct err *err)
{
    struct bars bars = {.table = table,
                        .cells = &table->functions[code],
                        .value = rank_rows_are_of_self(options->sort, options->sort_count) ? RANK_SELF
                                                                                           : RANK_TOTAL,
                        .width = bar_width(&options->terminal)};
    struct bytes name = {0};
    bars.stats = rank_stats_of(table, bars.cells, bars.value);
    labels_words(&table->names, code, &name);
    bytes_put_u8(&name, '\0');
    if (!name.failed)
        put_stats(&bars, (const char *)name.data, options, out);
    bytes_clear(&name);
    bytes_put_u8(out, '\n');
    put_ranks(&bars, options, out);
    put_histogram(&bars, out);
    return out->failed ? err_set(err, "not enough memory for the report") : 0;
}
