#include "show/series_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chart.h"
#include "analyse/regions.h"
#include "analyse/series.h"
#include "analyse/trend.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "show/report_text.h"
#include "show/terminal.h"
#include "store/recording.h"

#define MIB    1048576.0
#define LEAK_S 10.0 /* of a shorter run nobody can tell a leak from a start */

static bool is_of(const struct recording *recording, uint32_t counter, const char *name)
{
    return strcmp(recording_text(recording, recording->counters[counter].name), name) == 0;
}

void series_text_put_peaks(const struct recording *recording, const char *name, struct bytes *out)
{
    const char *memory = series_memory_name(recording);
    bool is_first = true;
    for (uint32_t i = 1; memory && i < recording->counters_count; i++) {
        const struct series series = series_of(recording, i);
        if (!is_of(recording, i, memory) || !series.count)
            continue;
        double most = series_summarise(&series).most / MIB;
        uint64_t pid = recording->processes[recording->counters[i].process].pid;
        if (is_first)
            bytes_putf(out, "%s\t%.3f MiB\n", name ? name : "recording", most);
        else
            bytes_putf(out, "  Child %" PRIu64 "\t\t\t%.3f MiB\n", pid, most);
        is_first = false;
    }
}

static int summarise(const struct recording *recording, const char *name, struct series_summary *summary,
                     struct err *err)
{
    struct series_row *rows;
    struct series series;
    if (series_sum(recording, name, &rows, &series, err) < 0)
        return -1;
    *summary = series_summarise(&series);
    free(rows);
    return 0;
}

int series_text_put_short(const struct recording *recording, struct bytes *line, struct err *err)
{
    const char *memory = series_memory_name(recording);
    struct series_summary bytes = {0}, cpu = {0};
    if ((memory && summarise(recording, memory, &bytes, err) < 0) ||
        summarise(recording, "cpu", &cpu, err) < 0)
        return -1;
    if (bytes.points)
        bytes_putf(line, ", at most %s resident", quantity_bytes(bytes.most).text);
    if (cpu.points > 1)
        bytes_putf(line, ", %.2f CPUs in use", cpu.mean);
    return 0;
}

static const char *memory_words(const char *name)
{
    if (strcmp(name, "pss") == 0)
        return "resident, shared pages divided (PSS)";
    if (strcmp(name, "uss") == 0)
        return "resident and not shared (USS)";
    return strcmp(name, "heap") == 0 ? "of heap" : "resident (RSS)";
}

static void put_memory(const struct recording *recording, const char *name,
                       const struct series_summary *summary, struct bytes *line)
{
    uint32_t processes = 0;
    for (uint32_t i = 1; i < recording->counters_count; i++)
        processes += is_of(recording, i, name) && series_of(recording, i).count;
    double length_s = (double)(summary->end_ns - summary->begin_ns) / 1e9;
    bytes_putf(line, "At most %s %s", quantity_bytes(summary->most).text, memory_words(name));
    if (processes > 1)
        bytes_putf(line, " in all %u processes together", processes);
    bytes_putf(line, ", after %s", quantity_duration((double)(summary->most_ns - summary->begin_ns)).text);
    bytes_putf(line, "; %s at the end, %s in the mean; looked at %s times in %s",
               quantity_bytes(summary->last).text, quantity_bytes(summary->mean).text,
               quantity_count(summary->points).text, quantity_duration(length_s * 1e9).text);
}

/* Only what is surely more than nothing. */
static int put_growth(const struct recording *recording, const char *name, struct bytes *line,
                      struct err *err)
{
    struct series_row *rows;
    struct series series;
    struct trend trend = {0};
    if (series_sum(recording, name, &rows, &series, err) < 0)
        return -1;
    struct chart_point *points = calloc((size_t)series.count + 1, sizeof *points);
    int result = points ? 0 : err_set(err, "out of memory");
    for (uint32_t i = 0; points && i < series.count; i++)
        points[i] = (struct chart_point){.time_s = (double)(rows[i].time_ns - rows[0].time_ns) / 1e9,
                                         .value = series_value(&series, &rows[i])};
    if (points)
        result = trend_fit(points, series.count, &trend, err);
    if (trend.found && trend.low > 0 && trend.to_s - trend.from_s >= LEAK_S)
        bytes_putf(line, "; it grows by %s a second (95 %%: %s to %s)", quantity_bytes(trend.per_second).text,
                   quantity_bytes(trend.low).text, quantity_bytes(trend.high).text);
    free(points);
    free(rows);
    return result;
}

static void put_line(const struct report_options *options, struct bytes *line, struct bytes *out)
{
    bytes_put_u8(line, '\0');
    if (!line->failed)
        terminal_wrap(&options->terminal, (const char *)line->data, 0, 2, out);
    bytes_reset(line);
}

static int put_words(const struct recording *recording, const struct report_options *options,
                     struct bytes *out, struct err *err)
{
    const char *memory = series_memory_name(recording);
    struct series_summary bytes = {0}, cpu = {0};
    struct bytes line = {0};
    if ((memory && summarise(recording, memory, &bytes, err) < 0) ||
        summarise(recording, "cpu", &cpu, err) < 0)
        return -1;
    int result = 0;
    if (bytes.points) {
        put_memory(recording, memory, &bytes, &line);
        result = put_growth(recording, memory, &line, err);
        put_line(options, &line, out);
    }
    if (cpu.points > 1) {
        bytes_putf(&line, "%.2f CPUs in use in the mean, %.2f at most", cpu.mean, cpu.most);
        put_line(options, &line, out);
    }
    if (!bytes.points && cpu.points < 2)
        bytes_put_text(out, "Nothing was measured: the program was too short, or the file is cut\n");
    bytes_clear(&line);
    return result;
}

static int put_regions(const struct recording *recording, const struct report_options *options,
                       struct bytes *out, struct err *err)
{
    struct regions regions;
    if (regions_build(recording, NULL, &regions, err) < 0)
        return -1;
    if (regions.count)
        bytes_put_text(out, "\n   calls    seconds     grown   highest  function\n");
    for (uint32_t i = 0; i < regions.count; i++) {
        const struct regions_row *row = &regions.rows[i];
        bytes_putf(out, "%8" PRIu64 " %10.3f %9s %9s  ", row->count, (double)row->total_ns / 1e9,
                   quantity_bytes((double)row->growth).text, quantity_bytes((double)row->most).text);
        terminal_fit(&options->terminal, recording_text(recording, recording->regions[row->region].name), 41,
                     out);
        bytes_put_u8(out, '\n');
    }
    regions_clear(&regions);
    return 0;
}

int series_text_put(const struct recording *recording, const struct report_options *options,
                    struct bytes *out, struct err *err)
{
    if (put_words(recording, options, out, err) < 0)
        return -1;
    return put_regions(recording, options, out, err);
}
