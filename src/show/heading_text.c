#include "show/heading_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/overhead.h"
#include "analyse/series.h"
#include "base/bytes.h"
#include "base/quantity.h"
#include "show/heap_text.h"
#include "show/report_text.h"
#include "show/series_text.h"
#include "store/recording.h"

static uint64_t wall_ns(const struct recording *recording)
{
    uint64_t start = UINT64_MAX, end = 0;
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        const struct process *process = &recording->processes[i];
        start = process->start_ns < start ? process->start_ns : start;
        end = process->end_ns > end ? process->end_ns : end;
    }
    return end > start ? end - start : 0;
}

/* The word for each mode that a recording can say; others are shown as they are. */
static const char *mode_words(const char *mode)
{
    if (!mode)
        return "recording";
    if (strcmp(mode, "pstats") == 0)
        return "cProfile file";
    if (strcmp(mode, "sample") == 0)
        return "samples";
    if (strcmp(mode, "line") == 0)
        return "line times";
    if (strcmp(mode, "lprof") == 0)
        return "line_profiler file";
    if (strcmp(mode, "mem") == 0)
        return "memory";
    if (strcmp(mode, "mprof") == 0)
        return "mprof file";
    if (strcmp(mode, "line-memory") == 0)
        return "memory of lines";
    return strcmp(mode, "trace") == 0 ? "call trace" : mode;
}

static uint32_t count_threads(const struct recording *recording, const struct selection *selection)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i < recording->threads_count; i++)
        count += tree_selection_has(selection, recording, i);
    return count;
}

/* Whether it is of another time, module or region than those shown. */
static bool is_elsewhere(const struct selection *selection, const struct sample_row *sample)
{
    return (sample->state & SAMPLE_LEFT_OUT) || sample->time_ns < selection->begin_ns ||
           (selection->end_ns && sample->time_ns >= selection->end_ns);
}

/* Of the threads that are shown: those that were taken, and those that the selection leaves out. */
static void put_sample_counts(const struct recording *recording, const struct selection *selection,
                              struct bytes *out)
{
    uint64_t taken = 0, left_out = 0, elsewhere = 0;
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        const struct sample_row *sample = &recording->samples[i];
        if (!tree_selection_has(selection, recording, sample->thread))
            continue;
        if (is_elsewhere(selection, sample))
            elsewhere += sample->count;
        else if (tree_selection_has_sample(selection, recording, sample))
            taken += sample->count;
        else
            left_out += sample->count;
    }
    const char *errors = recording_meta(recording, "errors"), *rate = recording_meta(recording, "rate_hz");
    const char *achieved = recording_meta(recording, "achieved_hz"),
               *late = recording_meta(recording, "late_us_99");
    bytes_putf(out, "Samples: %s", quantity_count(taken + left_out + elsewhere).text);
    if (errors)
        bytes_putf(out, " Errors: %s", errors);
    if (rate)
        bytes_putf(out, " at %s Hz", rate);
    if (achieved && late)
        bytes_putf(out, " (%s reached, 99%% within %s us)", achieved, late);
    if (left_out)
        bytes_putf(out, ", %s %s left out", quantity_count(left_out).text,
                   selection->gil ? "without the GIL" : "idle");
    if (elsewhere)
        bytes_putf(out, ", %s outside the chosen part", quantity_count(elsewhere).text);
}

/* Times that include callees do not add up, and are not told as a sum. */
static void put_line_counts(const struct recording *recording, const struct functions *functions,
                            const struct selection *selection, struct bytes *out)
{
    uint64_t hits = 0;
    bool sums_only = false;
    for (uint32_t i = 0; i < recording->lines_count; i++) {
        const struct line_row *row = &recording->lines[i];
        if (!tree_selection_has(selection, recording, row->thread))
            continue;
        hits += row->hits;
        sums_only |= row->total_ns && !row->max_ns;
    }
    for (uint32_t i = 0; i < recording->line_memory_count; i++)
        if (tree_selection_has(selection, recording, recording->line_memory[i].thread))
            hits += recording->line_memory[i].hits;
    bytes_putf(out, "%s line hits in %u function%s", quantity_count(hits).text, functions->row_count,
               functions->row_count == 1 ? "" : "s");
    if (recording->lines_count && hits && !sums_only)
        bytes_putf(out, ", %.3f seconds in the lines themselves", (double)functions->total / 1e9);
}

static void put_counts(const struct recording *recording, const struct functions *functions,
                       const struct selection *selection, struct bytes *out)
{
    if (functions->from_lines) {
        put_line_counts(recording, functions, selection, out);
        return;
    }
    if (functions->sampled)
        put_sample_counts(recording, selection, out);
    else
        bytes_putf(out, "%s function calls", quantity_count(functions->total_calls).text);
    if (functions->total_primitive_calls != functions->total_calls)
        bytes_putf(out, " (%s primitive)", quantity_count(functions->total_primitive_calls).text);
    const char *clock = recording_meta(recording, "clock");
    bytes_putf(out, functions->sampled ? "; %.3f seconds" : " in %.3f seconds",
               (double)functions->total / 1e9);
    if (functions->sampled && clock)
        bytes_putf(out, " of %s time", strcmp(clock, "cpu") == 0 ? "CPU" : "wall");
    uint32_t thread_count = count_threads(recording, selection);
    if (thread_count > 1)
        bytes_putf(out, ", %u threads added up", thread_count);
}

static void put_number(struct bytes *line, uint32_t count, const char *noun, const char *plural)
{
    if (count)
        bytes_putf(line, ", %u %s%s", count, noun, count == 1 ? "" : plural);
}

static void put_machine(const struct recording *recording, struct bytes *line)
{
    const struct process *first = recording->processes_count > 1 ? &recording->processes[1] : NULL;
    const char *python = first && first->python ? recording_text(recording, first->python)
                                                : recording_meta(recording, "python");
    const char *host =
        first && first->host ? recording_text(recording, first->host) : recording_meta(recording, "host");
    if (python && python[0])
        bytes_putf(line, ", Python %s", python);
    if (host && host[0])
        bytes_putf(line, " on %s", host);
}

static void put_overhead(const struct recording *recording, const struct functions *functions,
                         struct bytes *line)
{
    struct overhead overhead = overhead_of(recording, functions);
    if (overhead.ns > 0)
        bytes_putf(line, ", overhead about %s (%s)", quantity_duration(overhead.ns).text,
                   quantity_share(overhead.share).text);
}

static void put_losses(const struct recording *recording, struct bytes *line)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; i < recording->notes_count; i++)
        lost += recording->notes[i].kind == NOTE_LOSS ? recording->notes[i].count : 0;
    if (lost)
        bytes_putf(line, ", %s lost", quantity_count(lost).text);
    else if (recording->damage.complete && !recording->damage.truncated && !recording->damage.damaged_chunks)
        bytes_put_text(line, ", nothing lost");
}

static int put_origin(const struct recording *recording, const struct functions *functions,
                      const struct report_options *options, struct bytes *line, struct err *err)
{
    const char *mode = mode_words(recording_meta(recording, "mode"));
    const char *merged = recording_meta(recording, "merged");
    const char *command = recording->processes_count > 1
                              ? recording_text(recording, recording->processes[1].command)
                              : recording_meta(recording, "command");
    if (options->name)
        bytes_putf(line, "%s: ", options->name);
    bytes_put_text(line, mode);
    if (merged)
        bytes_putf(line, " summed from %s files", merged);
    if (command && command[0])
        bytes_putf(line, " of %s", command);
    put_machine(recording, line);
    put_number(line, recording->processes_count ? recording->processes_count - 1 : 0, "process", "es");
    put_number(line, recording->threads_count ? recording->threads_count - 1 : 0, "thread", "s");
    uint64_t wall = wall_ns(recording);
    if (wall)
        bytes_putf(line, ", %s from start to end", quantity_duration((double)wall).text);
    bool is_all = tree_selection_is_all(&options->selection) && !options->module_count;
    if (is_all && !series_is_all(recording) && series_text_put_short(recording, line, err) < 0)
        return -1;
    if (is_all)
        put_overhead(recording, functions, line);
    put_losses(recording, line);
    if (options->selection.process)
        bytes_putf(line, "; only process %" PRIu64, recording->processes[options->selection.process].pid);
    if (options->selection.thread)
        bytes_putf(line, "; only thread %" PRIu64, recording->threads[options->selection.thread].tid);
    for (size_t i = 0; i < options->module_count; i++)
        bytes_putf(line, "%s %s", i ? " or" : "; only through", options->modules[i]);
    return 0;
}

/* What was recorded in the same run, and how it is shown. */
static void put_others(const struct recording *recording, enum measure shown, struct bytes *line)
{
    static const struct {
        enum measure measure;
        const char *words;
    } others[] = {{MEASURE_TIME, "calls"}, {MEASURE_SAMPLED, "samples"}, {MEASURE_PEAK, "memory"}};
    const char *before = "In the same recording: ";
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        enum measure measure = others[i].measure;
        bool is_shown = measure == shown || (measure == MEASURE_PEAK && measure_is_memory(shown));
        if (is_shown || !measure_is_offered(recording, measure))
            continue;
        bool has_calls = measure != MEASURE_TIME || recording->calls_count;
        bytes_putf(line, "%s%s (--measure %s)", before, has_calls ? others[i].words : "time",
                   measure_name(measure));
        before = ", ";
    }
}

static void put_paragraph(const struct report_options *options, struct bytes *line, struct bytes *out)
{
    if (!line->size)
        return;
    bytes_put_u8(line, '\0');
    if (!line->failed)
        terminal_wrap(&options->terminal, (const char *)line->data, 0, 2, out);
    bytes_reset(line);
}

int heading_text_put(const struct recording *recording, const struct functions *functions,
                     const struct report_options *options, struct bytes *out, struct err *err)
{
    struct bytes line = {0};
    int result = put_origin(recording, functions, options, &line, err);
    put_paragraph(options, &line, out);
    if (result < 0 || series_is_all(recording)) {
        bytes_clear(&line);
        return result;
    }
    put_others(recording, functions->measure, &line);
    put_paragraph(options, &line, out);
    if (measure_is_memory(functions->measure))
        result = heap_text_put_counts(recording, options, &line, err);
    else
        put_counts(recording, functions, &options->selection, &line);
    terminal_style(&options->terminal, TERMINAL_BOLD, out);
    put_paragraph(options, &line, out);
    terminal_style(&options->terminal, TERMINAL_PLAIN, out);
    bytes_clear(&line);
    return result;
}
