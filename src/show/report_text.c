#include "show/report_text.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/findings.h"
#include "analyse/restrict.h"
#include "analyse/series.h"
#include "analyse/source_block.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "show/callers_text.h"
#include "show/heading_text.h"
#include "show/heap_text.h"
#include "show/lines_text.h"
#include "show/memory_lines_text.h"
#include "show/regions_text.h"
#include "show/series_text.h"
#include "show/tree_text.h"
#include "store/recording.h"

#define HOT_SHARE     0.10
#define WARM_SHARE    0.02
#define CALLS_WIDTH   9
#define SOURCE_MIN    16 /* columns; less of a line's text says nothing */
#define TIMES_WIDTH   37 /* four columns of seconds and the space after them */
#define REGIONS_SHOWN 10 /* below the functions */

static const char *const default_sort[] = {"tottime"};

int64_t report_text_limit(const struct report_options *options)
{
    if (options->limit)
        return options->limit;
    return options->restriction_count ? -1 : REPORT_TEXT_LIMIT;
}

int report_text_rows(const struct recording *recording, const struct functions *functions,
                     const struct report_options *options, struct ranking *ranking, uint32_t *all,
                     struct err *err)
{
    const char *const *keys = options->sort_count ? options->sort : default_sort;
    size_t key_count = options->sort_count ? options->sort_count : 1;
    int built = options->by == GROUP_FUNCTION
                    ? ranking_build(recording, functions, options->paths, ranking, err)
                    : groups_build(recording, &options->selection, options->by, options->paths, ranking, err);
    if (built < 0)
        return -1;
    if (all)
        *all = ranking->count;
    if (ranking_sort(ranking, keys, key_count, options->reverse, err) < 0 ||
        restrict_apply(ranking, options->restrictions, options->restriction_count, err) < 0) {
        ranking_clear(ranking);
        return -1;
    }
    int64_t limit = report_text_limit(options);
    if (limit >= 0 && ranking->count > limit)
        ranking->count = (uint32_t)limit;
    return 0;
}

void report_text_put_findings(const struct report_options *options, const struct findings *findings,
                              struct bytes *out)
{
    if (!findings->count)
        return;
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    bytes_put_text(out, "Findings\n");
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    for (uint32_t i = 0; i < findings->count; i++) {
        bytes_putf(out, "%2u. ", i + 1);
        terminal_wrap(&options->terminal, findings->rows[i].text, 4, 4, out);
    }
    bytes_put_u8(out, '\n');
}

static void put_seconds(double ns, bool known, struct bytes *out)
{
    if (known)
        bytes_putf(out, " %8.3f", ns / 1e9);
    else
        bytes_putf(out, " %8s", "");
}

struct calls_text {
    char text[48];
    int size;
};

/* What the first column says: calls, or samples that ended here. */
static struct calls_text calls_text(const struct ranking_row *entry, bool sampled)
{
    struct calls_text calls;
    calls.size = snprintf(calls.text, sizeof calls.text, "%" PRIu64, sampled ? entry->samples : entry->calls);
    if (entry->primitive_calls != entry->calls)
        calls.size += snprintf(calls.text + calls.size, sizeof calls.text - (size_t)calls.size, "/%" PRIu64,
                               entry->primitive_calls);
    return calls;
}

static double share_of(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* The figure by which a row is hot. */
static void put_own_time(const struct report_options *options, const struct ranking_row *entry,
                         uint64_t total, struct bytes *out)
{
    double share = share_of(entry->self, total);
    enum terminal_style style = share >= HOT_SHARE    ? TERMINAL_HOT
                                : share >= WARM_SHARE ? TERMINAL_WARM
                                                      : TERMINAL_PLAIN;
    if (style)
        terminal_style(&options->terminal, style, out);
    put_seconds((double)entry->self, true, out);
    if (style)
        terminal_style(&options->terminal, TERMINAL_PLAIN, out);
}

/* The text of a line without what it is indented by; "" when it is not known. */
static const char *line_text(const struct recording *recording, uint32_t code, uint32_t line, size_t *size)
{
    const struct source_file *source = recording_source(recording, recording->codes[code].file);
    const char *text = "";
    *size = 0;
    if (!source || !line)
        return text;
    struct source_lines lines =
        source_block_seek(recording_source_text(recording, source), source->size_bytes, line);
    if (!source_block_next(&lines, &text, size))
        return "";
    for (; *size && (*text == ' ' || *text == '\t'); text++)
        --*size;
    return text;
}

void report_text_put_label(const struct recording *recording, const struct report_options *options,
                           const struct ranking_row *row, unsigned used, struct bytes *out)
{
    size_t size = 0, width = options->terminal.width, taken = used + terminal_columns(row->label) + 2;
    const char *text = options->by == GROUP_LINE ? line_text(recording, row->id, row->line, &size) : "";
    terminal_fit(&options->terminal, row->label, used, out);
    if (!size || (width && taken + SOURCE_MIN > width))
        return;
    terminal_style(&options->terminal, TERMINAL_DIM, out);
    bytes_put_text(out, "  ");
    terminal_put_source(text, width && size > width - taken ? width - taken : size, out);
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
}

static void put_row(const struct recording *recording, const struct report_options *options,
                    const struct ranking_row *entry, int calls_width, const struct functions *functions,
                    struct bytes *out)
{
    bytes_putf(out, "%*s", calls_width, calls_text(entry, functions->sampled).text);
    put_own_time(options, entry, functions->total, out);
    if (functions->sampled) {
        bytes_putf(out, " %7.1f%% %8" PRIu64 " %7.1f%%", share_of(entry->self, functions->total) * 100,
                   entry->total_samples, share_of(entry->total, functions->total) * 100);
    } else {
        put_seconds((double)entry->self / (double)entry->calls, entry->calls, out);
        put_seconds((double)entry->total, true, out);
        put_seconds((double)entry->total / (double)entry->primitive_calls, entry->primitive_calls, out);
    }
    bytes_put_u8(out, ' ');
    report_text_put_label(recording, options, entry, (unsigned)calls_width + TIMES_WIDTH, out);
    bytes_put_u8(out, '\n');
}

const char *report_text_noun(enum group_by by)
{
    static const char *const names[] = {"filename:lineno(function)", "module", "file", "thread", "process",
                                        "filename:lineno(function)"};
    return names[by];
}

static void put_table(const struct recording *recording, const struct report_options *options,
                      const struct ranking *ranking, const struct functions *functions, struct bytes *out)
{
    int width = CALLS_WIDTH;
    if (measure_is_memory(functions->measure)) {
        heap_text_put_table(recording, options, ranking, functions, out);
        return;
    }
    for (uint32_t i = 0; i < ranking->count; i++) {
        int size = calls_text(&ranking->rows[i], functions->sampled).size;
        width = size > width ? size : width;
    }
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    bytes_putf(out, "%*s  tottime %s %s\n", width, functions->sampled ? "own" : "ncalls",
               functions->sampled ? "       %    total        %" : " percall  cumtime  percall",
               report_text_noun(options->by));
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    for (uint32_t i = 0; i < ranking->count; i++)
        put_row(recording, options, &ranking->rows[i], width, functions, out);
}

/* pstats' words are of times; of memory they are what the table's columns are called. */
static const char *key_words(const char *key, bool memory)
{
    const char *words = ranking_key_words(key);
    if (memory && strcmp(words, "internal time") == 0)
        return "own";
    return memory && strcmp(words, "cumulative time") == 0 ? "total" : words;
}

static void put_keys(const struct report_options *options, bool memory, struct bytes *out)
{
    for (size_t i = 0; i < options->sort_count; i++)
        bytes_putf(out, "%s%s", i ? ", " : "", key_words(options->sort[i], memory));
    bytes_putf(out, "%s%s", options->sort_count ? "" : key_words(default_sort[0], memory),
               options->reverse ? ", reversed" : "");
}

static void put_order(const struct report_options *options, const struct functions *functions, uint32_t shown,
                      uint32_t all, struct bytes *out)
{
    static const char *const nouns[] = {"function", "module", "file", "thread", "process", "line"};
    const char *noun = nouns[options->by];
    const char *plural = all == 1 ? "" : options->by == GROUP_PROCESS ? "es" : "s";
    bool memory = measure_is_memory(functions->measure);
    if (memory)
        bytes_putf(out, "%s %s; ", measure_quantity(functions->measure, functions->total).text,
                   heap_text_words(options, functions->measure));
    bytes_put_text(out, memory ? "ordered by " : "Ordered by ");
    put_keys(options, memory, out);
    bytes_put_text(out, "; ");
    if (shown == all)
        bytes_putf(out, "%s %s%s\n\n", quantity_count(all).text, noun, plural);
    else
        bytes_putf(out, "%u of %s %s%s%s\n\n", shown, quantity_count(all).text, noun, plural,
                   report_text_limit(options) == shown ? " (--limit all for more)" : "");
}

static const char *what_is_missing(const struct recording *recording, enum measure measure)
{
    if (measure_is_memory(measure))
        return "memory of this measure was recorded";
    if (recording->samples_count)
        return "samples of running threads are (--idle shows the others)";
    return measure_is_of_samples(recording, measure) ? "samples were taken" : "calls were recorded";
}

static int put_rows(const struct recording *recording, const struct functions *functions,
                    const struct report_options *options, struct bytes *out, struct err *err)
{
    struct ranking ranking;
    uint32_t all;
    if (report_text_rows(recording, functions, options, &ranking, &all, err) < 0)
        return -1;
    int result = 0;
    if (all)
        put_order(options, functions, ranking.count, all, out);
    if (!all)
        bytes_putf(out, "Nothing to show: no %s here\n", what_is_missing(recording, functions->measure));
    else if (options->view == REPORT_TABLE || options->by != GROUP_FUNCTION)
        put_table(recording, options, &ranking, functions, out);
    else
        result = callers_text_put(recording, functions, &ranking, options, out, err);
    ranking_clear(&ranking);
    return result;
}

/* Samples of a recording of lines have only served to find the functions. */
static bool is_of_lines(const struct recording *recording)
{
    const char *mode = recording_meta(recording, "mode");
    return mode && strcmp(mode, "line") == 0;
}

static bool is_of_line_memory(const struct recording *recording)
{
    const char *mode = recording_meta(recording, "mode");
    return recording->line_memory_count || (mode && strcmp(mode, "line-memory") == 0);
}

/* The table of functions, and below it their lines, or why there are none; a recording of lines needs no table. */
static int put_table_and_lines(const struct recording *recording, const struct functions *functions,
                               const struct report_options *options, struct bytes *out, struct err *err)
{
    bool memory = measure_is_memory(functions->measure);
    bool of_lines = is_of_lines(recording);
    bool lines = (recording->lines_count || functions->from_lines || of_lines) &&
                 options->by != GROUP_MODULE && options->by != GROUP_FILE && options->by != GROUP_LINE &&
                 !memory;
    bool table = !lines || (!functions->from_lines && !(of_lines && recording->lines_count));
    if (table && put_rows(recording, functions, options, out, err) < 0)
        return -1;
    if (memory && options->by == GROUP_FUNCTION && options->selection.measure == MEASURE_NATURAL)
        return heap_text_put_more(recording, options, out, err);
    if (lines)
        bytes_put_u8(out, '\n');
    if (lines && is_of_line_memory(recording))
        return memory_lines_text_put(recording, options, out, err);
    return lines ? lines_text_put(recording, options, out, err) : 0;
}

static int put_view(const struct recording *recording, const struct functions *functions,
                    const struct report_options *options, struct bytes *out, struct err *err)
{
    if (options->view != REPORT_TABLE && functions->from_lines)
        return err_set(err, "%s holds %s, and nothing of who called whom; leave the view out to see them",
                       options->name ? options->name : "the recording",
                       is_of_line_memory(recording) ? "memory of lines" : "line times");
    if (options->view == REPORT_REGIONS)
        return regions_text_put(recording, options, 0, out, err);
    if (options->view == REPORT_TREE || options->view == REPORT_BOTTOM_UP)
        return tree_text_put(recording, options, out, err);
    if (options->view == REPORT_TABLE)
        return put_table_and_lines(recording, functions, options, out, err);
    return put_rows(recording, functions, options, out, err);
}

static int put_all(const struct recording *recording, const struct functions *functions,
                   const struct report_options *options, struct bytes *out, struct err *err)
{
    struct findings findings = {0};
    bool only_series = series_is_all(recording) && !is_of_lines(recording) && !is_of_line_memory(recording);
    if (options->view == REPORT_REGIONS && !recording->region_events_count)
        return err_set(err, "%s holds no regions; sonde.timed_region, zones and --marks make some",
                       options->name ? options->name : "the recording");
    if (only_series && options->view != REPORT_TABLE && options->view != REPORT_REGIONS)
        return err_set(err, "%s holds memory over time, and nothing of who called whom; leave the view out",
                       options->name ? options->name : "the recording");
    if (only_series) {
        series_text_put_peaks(recording, options->name, out);
        bytes_put_u8(out, '\n');
    }
    if (!options->no_findings &&
        findings_build_from(recording, &options->selection, functions, NULL, &findings, err) < 0)
        return -1;
    report_text_put_findings(options, &findings, out);
    findings_clear(&findings);
    if (heading_text_put(recording, functions, options, out, err) < 0 ||
        (only_series && options->view == REPORT_TABLE
             ? series_text_put(recording, options, out, err)
             : put_view(recording, functions, options, out, err)) < 0)
        return -1;
    if (!only_series && options->view == REPORT_TABLE && !options->no_findings &&
        regions_text_put(recording, options, REGIONS_SHOWN, out, err) < 0)
        return -1;
    return out->failed ? err_set(err, "not enough memory for the report") : 0;
}

int report_text_put(const struct recording *recording, const struct report_options *options,
                    struct bytes *out, struct err *err)
{
    struct functions functions;
    if (functions_build(recording, &options->selection, &functions, err) < 0)
        return -1;
    int result = put_all(recording, &functions, options, out, err);
    functions_clear(&functions);
    return result;
}

int report_text_print(const struct recording *recording, const struct report_options *options, FILE *stream,
                      struct err *err)
{
    struct bytes out = {0};
    int result = report_text_put(recording, options, &out, err);
    if (result == 0 && (fwrite(out.data, 1, out.size, stream) != out.size || fflush(stream) != 0))
        result = err_set_errno(err, "cannot write the report");
    bytes_clear(&out);
    return result;
}
