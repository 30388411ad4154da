#include "show/rank_text.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/mpi_suspects.h"
#include "analyse/rank_findings.h"
#include "analyse/rank_rows.h"
#include "analyse/restrict.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/amount_text.h"
#include "show/mpi_text.h"
#include "show/rank_tree.h"
#include "show/report_text.h"
#include "show/terminal.h"

#define LABEL_COLUMN 93 /* where a function's name begins */
#define HOSTS_NAMED  4
#define MPI_ROWS     8 /* of each table of what ranks did with one another */
#define HOST_COLUMN  66

/* ---- heading ---- */

/* How many hosts the ranks are on; the first few are named in `names`. */
static uint32_t count_hosts(const struct rank_table *table, struct bytes *names)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->rank_count; i++) {
        uint32_t host = table->ranks[i].host;
        bool is_known = false;
        for (uint32_t j = i; j > 0 && !is_known; j--) /* ranks of a host mostly follow one another */
            is_known = table->ranks[j - 1].host == host;
        if (is_known)
            continue;
        if (count < HOSTS_NAMED)
            bytes_putf(names, "%s%s", count ? ", " : "", recording_text(&table->names, host));
        count++;
    }
    bytes_put_text(names, count > HOSTS_NAMED ? ", ..." : "");
    return count;
}

static const char *what_is_counted(const struct rank_table *table)
{
    if (measure_is_memory(table->measure))
        return "blocks";
    return table->sampled ? "samples" : "calls";
}

static const char *what_it_is(const struct rank_table *table)
{
    if (measure_is_memory(table->measure))
        return "memory";
    return table->sampled ? "samples" : "call trace";
}

static void put_amounts(const struct rank_table *table, struct bytes *line)
{
    uint64_t calls = 0, samples = 0;
    for (uint32_t i = 0; i < table->rank_count; i++) {
        calls += table->ranks[i].calls;
        samples += table->ranks[i].samples;
    }
    if (measure_is_memory(table->measure))
        bytes_putf(line, ", bytes %s", measure_words(table->measure));
    else if (table->sampled)
        bytes_putf(line, ", %s samples", quantity_count(samples).text);
    else
        bytes_putf(line, ", %s function calls", quantity_count(calls).text);
}

static void put_line(const struct report_options *options, struct bytes *line, struct bytes *out)
{
    bytes_put_u8(line, '\0');
    if (!line->failed)
        terminal_wrap(&options->terminal, (const char *)line->data, 0, 2, out);
    bytes_reset(line);
}

static void put_heading(const struct rank_table *table, const struct report_options *options,
                        const struct rank_efficiency *efficiency, struct bytes *out)
{
    struct bytes line = {0}, hosts = {0};
    uint32_t host_count = count_hosts(table, &hosts);
    if (options->name)
        bytes_putf(&line, "%s: ", options->name);
    bytes_putf(&line, "%s of %u ranks on %u host%s", what_it_is(table), table->rank_count, host_count,
               host_count == 1 ? "" : "s");
    if (hosts.size && !hosts.failed)
        bytes_putf(&line, " (%.*s)", (int)hosts.size, hosts.data);
    if (efficiency->wall_ns)
        bytes_putf(&line, ", %s from start to end", quantity_duration((double)efficiency->wall_ns).text);
    put_amounts(table, &line);
    put_line(options, &line, out);
    bytes_clear(&line);
    bytes_clear(&hosts);
}

static void put_efficiency(const struct rank_table *table, const struct report_options *options,
                           const struct rank_efficiency *efficiency, struct bytes *out)
{
    struct bytes line = {0};
    if (!efficiency->is_known)
        return;
    if (efficiency->knows_mpi)
        bytes_putf(
            &line,
            "Parallel efficiency %s = load balance %s x communication %s; outside MPI a rank has %s in "
            "the mean (%s)",
            quantity_share(efficiency->parallel).text, quantity_share(efficiency->load_balance).text,
            quantity_share(efficiency->communication).text, quantity_duration(efficiency->useful.mean).text,
            table->mpi_is_measured ? "MPI's calls were measured"
                                   : "MPI's time is that in frames of mpi4py; --mpi measures it");
    else
        bytes_putf(&line, "Load balance %s; nothing is known of MPI (record with --mpi)",
                   quantity_share(efficiency->load_balance).text);
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    put_line(options, &line, out);
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    bytes_clear(&line);
}

/* ---- functions ---- */

int rank_text_rows(const struct rank_table *table, const struct report_options *options,
                   struct rank_rows *rows, uint32_t *all, struct err *err)
{
    enum rank_value value =
        rank_rows_are_of_self(options->sort, options->sort_count) ? RANK_SELF : RANK_TOTAL;
    if (rank_rows_build(table, value, options->paths, rows, err) < 0)
        return -1;
    if (all)
        *all = rows->ranking.count;
    if (rank_rows_sort(rows, options->sort, options->sort_count, options->reverse, err) < 0 ||
        restrict_apply(&rows->ranking, options->restrictions, options->restriction_count, err) < 0) {
        rank_rows_clear(rows);
        return -1;
    }
    int64_t limit = report_text_limit(options);
    if (limit >= 0 && rows->ranking.count > limit)
        rows->ranking.count = (uint32_t)limit;
    return 0;
}

static void put_at_rank(const struct rank_table *table, double value, uint32_t rank, struct bytes *out)
{
    amount_text_put(table->measure, value, out);
    bytes_putf(out, " %5u ", table->ranks[rank].number);
}

static void put_row(const struct rank_table *table, const struct report_options *options,
                    const struct ranking_row *row, const struct rank_stats *stats, struct bytes *out)
{
    bytes_putf(out, "%9" PRIu64 " ", table->sampled ? row->total_samples : row->calls);
    amount_text_put(table->measure, stats->mean, out);
    bytes_put_u8(out, ' ');
    put_at_rank(table, stats->min, stats->min_rank, out);
    put_at_rank(table, stats->max, stats->max_rank, out);
    amount_text_put(table->measure, stats->deviation, out);
    bytes_putf(out, " %5.1f%% ", stats->imbalance_share * 100);
    amount_text_put(table->measure, stats->imbalance, out);
    bytes_putf(out, " %5u/%-5u ", stats->present, table->rank_count);
    terminal_fit(&options->terminal, row->label, LABEL_COLUMN, out);
    bytes_put_u8(out, '\n');
}

static void put_order(const struct report_options *options, uint32_t shown, uint32_t all, struct bytes *out)
{
    bytes_put_text(out, "ordered by ");
    for (size_t i = 0; i < options->sort_count; i++)
        bytes_putf(out, "%s%s", i ? ", " : "", rank_rows_key_words(options->sort[i]));
    bytes_putf(out, "%s%s; ", options->sort_count ? "" : "mean", options->reverse ? ", reversed" : "");
    if (shown == all)
        bytes_putf(out, "%s function%s\n\n", quantity_count(all).text, all == 1 ? "" : "s");
    else
        bytes_putf(out, "%u of %s functions%s\n\n", shown, quantity_count(all).text,
                   report_text_limit(options) == shown ? " (--limit all for more)" : "");
}

static int put_functions(const struct rank_table *table, const struct report_options *options,
                         struct bytes *out, struct err *err)
{
    struct rank_rows rows;
    uint32_t all;
    if (rank_text_rows(table, options, &rows, &all, err) < 0)
        return -1;
    bool self = rank_rows_are_of_self(options->sort, options->sort_count);
    bytes_putf(out, "Each function on one rank, %s; ", self ? "itself alone" : "with what it calls");
    put_order(options, rows.ranking.count, all, out);
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    bytes_putf(out,
               "%9s     mean      min  rank      max  rank      std imbal.  max-mean  present "
               "filename:lineno(function)\n",
               what_is_counted(table));
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    for (uint32_t i = 0; i < rows.ranking.count; i++)
        put_row(table, options, &rows.ranking.rows[i], &rows.stats[rows.ranking.rows[i].id], out);
    rank_rows_clear(&rows);
    return 0;
}

/* ---- all ---- */

static int put_findings(const struct rank_table *table, const struct report_options *options,
                        const struct rank_efficiency *efficiency, struct bytes *out, struct err *err)
{
    struct findings findings;
    if (options->no_findings)
        return 0;
    if (rank_findings_build(table, efficiency, &findings, err) < 0)
        return -1;
    report_text_put_findings(options, &findings, out);
    findings_clear(&findings);
    return 0;
}

static int put_top(const struct rank_table *table, const struct report_options *options, struct bytes *out,
                   struct err *err)
{
    struct rank_efficiency efficiency;
    if (rank_efficiency_of(table, &efficiency, err) < 0 ||
        put_findings(table, options, &efficiency, out, err) < 0)
        return -1;
    put_heading(table, options, &efficiency, out);
    put_efficiency(table, options, &efficiency, out);
    bytes_put_u8(out, '\n');
    return 0;
}

/* What the ranks did with one another, in short; `report --mpi` has all of it. */
static int put_mpi(const struct rank_table *table, const struct report_options *options, struct bytes *out,
                   struct err *err)
{
    struct mpi_suspects mpi;
    if (!table->mpi)
        return 0;
    if (mpi_suspects_init(&mpi, table->mpi, err) < 0)
        return -1;
    mpi_text_put(&mpi, &options->terminal, MPI_TABLE_CALLS, MPI_ROWS, out);
    mpi_text_put(&mpi, &options->terminal, MPI_TABLE_WAITS, MPI_ROWS, out);
    mpi_text_put(&mpi, &options->terminal, MPI_TABLE_MESSAGES, MPI_ROWS, out);
    bytes_put_text(
        out,
        "\nsonde report --mpi all: more of it: call paths, all waits, who came last, each rank's time.\n");
    mpi_suspects_clear(&mpi);
    return 0;
}

int rank_text_put(const struct rank_table *table, const struct report_options *options, struct bytes *out,
                  struct err *err)
{
    if (put_top(table, options, out, err) < 0 || put_functions(table, options, out, err) < 0 ||
        put_mpi(table, options, out, err) < 0)
        return -1;
    return out->failed ? err_set(err, "not enough memory for the report") : 0;
}

int rank_text_put_tree(const struct rank_table *table, const struct report_options *options,
                       struct bytes *out, struct err *err)
{
    return put_top(table, options, out, err) < 0 ? -1 : rank_tree_put(table, options, out, err);
}

static void put_rank(const struct rank_table *table, const struct report_options *options,
                     const struct rank_row *rank, struct bytes *out)
{
    bytes_putf(out, "%6u ", rank->number);
    amount_text_put(MEASURE_TIME, (double)rank->wall_ns, out);
    bytes_put_u8(out, ' ');
    amount_text_put(table->measure, (double)rank->amount, out);
    bytes_put_u8(out, ' ');
    amount_text_put(table->measure, (double)rank->mpi, out);
    bytes_putf(out, " %12" PRIu64 " %9u  ", table->sampled ? rank->samples : rank->calls, rank->processes);
    terminal_fit(&options->terminal, recording_text(&table->names, rank->host), HOST_COLUMN, out);
    if (rank->problems)
        bytes_put_text(out, " (not whole)");
    bytes_put_u8(out, '\n');
}

int rank_text_put_ranks(const struct rank_table *table, const struct report_options *options,
                        struct bytes *out, struct err *err)
{
    if (put_top(table, options, out, err) < 0)
        return -1;
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    bytes_putf(out, "  rank  elapsed %8s      MPI %12s processes  host\n",
               measure_is_memory(table->measure) ? measure_name(table->measure) : "all",
               what_is_counted(table));
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    for (uint32_t i = 0; i < table->rank_count; i++)
        put_rank(table, options, &table->ranks[i], out);
    return out->failed ? err_set(err, "not enough memory for the report") : 0;
}
