/* sonde trace: every call of a program, exactly. */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/ranking.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/closing.h"
#include "cli/collectors.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"
#include "store/recording.h"

#define TIMELINE_BYTES ((int64_t)128 << 20)

struct values {
    struct run_request request;
    bool print;
    struct option_list sort;
    const char *include, *exclude;
    bool exclude_library, include_library;
    bool lines;
    int64_t depth;
    bool throttle;
    bool c_calls;
    int64_t max_size;
    bool timeline, ring;
    int64_t timeline_limit;
};

static const struct values defaults = {.request = RUN_REQUEST_DEFAULTS,
                                       .c_calls = true,
                                       .max_size = COLLECTORS_TRACE_MEMORY,
                                       .timeline_limit = TIMELINE_BYTES};

/* The target compiles it again, of the same kind (collect/inside/filter.c); a mistake is told before it runs. */
static int check_expression(const char *text, struct err *err)
{
    regex_t regex;
    char reason[128];
    if (!text)
        return 0;
    if (strchr(text, '\n'))
        return err_set(err, "a regular expression cannot hold a line break");
    int code = regcomp(&regex, text, REG_EXTENDED | REG_NOSUB);
    if (code == 0) {
        regfree(&regex);
        return 0;
    }
    regerror(code, &regex, reason, sizeof reason);
    return err_set(err, "the expression '%s' is not valid: %s", text, reason);
}

static int check(const struct values *values, struct err *err)
{
    for (size_t i = 0; i < values->sort.count; i++)
        if (ranking_check_key(values->sort.items[i], err) < 0)
            return -1;
    if (values->depth < 0 || values->depth > UINT32_MAX)
        return err_set(err, "--depth must be a number of calls, 0 for any");
    if (values->max_size < 1 << 20)
        return err_set(err, "--max-size must be at least 1M");
    if (!values->timeline && (values->ring || values->timeline_limit != TIMELINE_BYTES))
        return err_set(err, "--ring and --timeline-limit go with --timeline");
    if (values->timeline_limit < 1 << 16)
        return err_set(err, "--timeline-limit must be at least 64K");
    if (check_expression(values->include, err) < 0)
        return -1;
    return check_expression(values->exclude, err);
}

static void put_settings(const struct values *values, bool of_pytest, struct bytes *out)
{
    bool exclude_library = values->exclude_library || (of_pytest && !values->include_library);
    bytes_putf(out, "trace=1\nc_calls=%d\nthrottle=%d\nexclude_library=%d\n", values->c_calls,
               values->throttle, exclude_library);
    if (values->lines)
        bytes_putf(out, "lines=1\nall_lines=1\nlibrary_lines=%d\n", values->include_library);
    bytes_putf(out, "depth=%" PRId64 "\nmemory_bytes=%" PRId64 "\n", values->depth, values->max_size);
    if (values->timeline)
        bytes_putf(out, "timeline=1\ntimeline_ring=%d\ntimeline_bytes=%" PRId64 "\n", values->ring,
                   values->timeline_limit);
    if (values->include)
        bytes_putf(out, "include=%s\n", values->include);
    if (values->exclude)
        bytes_putf(out, "exclude=%s\n", values->exclude);
    bytes_put_u8(out, 0);
}

static uint64_t sum_calls(const struct recording *recording)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; i < recording->calls_count; i++)
        calls += recording->calls[i].calls;
    for (uint32_t i = 0; i < recording->functions_count; i++)
        calls += recording->functions[i].calls;
    return calls;
}

static void tell(const struct run *run, const struct recording *recording, const void *values)
{
    (void)values;
    message_hint("%" PRIu64 " calls in %.3f s, %" PRIu32 " process%s: %s", sum_calls(recording),
                 (double)run->elapsed_ns / 1e9, run->processes, run->processes == 1 ? "" : "es", run->path);
}

static int close_trace(const struct run *run, const void *raw)
{
    const struct values *values = raw;
    if (!run->counted)
        part_options_tell_empty(&values->request.part);
    const struct report_options report = {.sort = values->sort.items, .sort_count = values->sort.count};
    return closing_tell_run(run, tell, raw, values->print, report);
}

static int run_trace(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    struct bytes settings = {0};
    if (check(values, &err) < 0)
        return message_fail(&err);
    const struct target_request target = target_request_of(&values->request.target, argc, argv);
    put_settings(values, target_is_pytest(&target), &settings);
    const struct run_options options = {
        .mode = "trace", .request = &values->request, .target = target, .settings = (char *)settings.data};
    int code = run_command(&options, close_trace, values);
    bytes_clear(&settings);
    return code;
}

static const struct option options[] = {
    RUN_REQUEST_OUTPUT(struct values, request, "; x.prof makes a file for pstats"),
    RUN_REQUEST_FORMAT(struct values, request, 'f',
                       "sonde, pstats as cProfile writes, or a format of `sonde export`"),
    {"print", 0, OPTION_FLAG, NULL, offsetof(struct values, print), NULL,
     "Print the report to standard output when the program has ended."},
    {"sort", 's', OPTION_LIST, "KEY", offsetof(struct values, sort), NULL,
     "How --print sorts: a key of pstats such as tottime, cumtime, ncalls, name."},
    {"include", 0, OPTION_TEXT, "REGEX", offsetof(struct values, include), NULL,
     "Record only functions whose module.name or file:name matches; the time of others is their caller's."},
    {"exclude", 0, OPTION_TEXT, "REGEX", offsetof(struct values, exclude), NULL,
     "Leave out functions whose module.name or file:name matches."},
    {"exclude-library", 0, OPTION_FLAG, NULL, offsetof(struct values, exclude_library), NULL,
     "Leave out the standard library and installed packages. So it is for pytest."},
    {"include-library", 0, OPTION_FLAG, NULL, offsetof(struct values, include_library), NULL,
     "Of pytest: record them, and pytest itself, too. With --lines: their lines."},
    {"lines", 'l', OPTION_FLAG, NULL, offsetof(struct values, lines), NULL,
     "Count the lines of the functions, too, but for those of libraries: how often each ran, and how long it "
     "took."},
    {"depth", 0, OPTION_NUMBER, "N", offsetof(struct values, depth), NULL,
     "Tell calls apart only N deep; deeper ones are their caller's time."},
    {"throttle", 0, OPTION_FLAG, NULL, offsetof(struct values, throttle), NULL,
     "Switch off functions called more than 100,000 times at under 10 microseconds a call, and say so."},
    {"c-calls", 0, OPTION_FLAG, NULL, offsetof(struct values, c_calls), NULL,
     "Leave out calls of C functions, which are recorded otherwise, as cProfile does. Cheaper."},
    {"max-size", 0, OPTION_SIZE, "BYTES", offsetof(struct values, max_size), NULL,
     "Memory for the call tree of each process (default 256M, used only as needed). When it is full, new "
     "call "
     "paths count as their caller's time, and the loss is stated."},
    {"timeline", 0, OPTION_FLAG, NULL, offsetof(struct values, timeline), NULL,
     "Keep each call by itself, with its beginning and its end, too: what happened when, in the page's "
     "timeline, "
     "in `sonde export -f chrome`, and in all tables of a part of the time (--range). With --lines each line "
     "that "
     "ran, too."},
    {"timeline-limit", 0, OPTION_SIZE, "BYTES", offsetof(struct values, timeline_limit), NULL,
     "What single calls may take in the recording (default 128M, 1 to 4 bytes a call). From half of it on "
     "the "
     "shortest calls are left out, then longer ones; when it is full, all. Counts and times in tables stay "
     "exact, "
     "and what is left out is stated."},
    {"ring", 0, OPTION_FLAG, NULL, offsetof(struct values, ring), NULL,
     "Keep the last calls of each process that fit into --timeline-limit, not the first."},
    RUN_REQUEST_OPTIONS(struct values, request),
    PART_OPTIONS(struct values, request.part, 'p'),
    {0},
};

const struct command command_trace = {
    .name = "trace",
    .group = "Record",
    .summary = "Record every call of a program: counts, times and call paths",
    .arguments = TARGET_ARGUMENTS,
    .description = "Runs the program under its own interpreter and records each call of each Python and C "
                   "function, in all "
                   "threads and processes, with its whole call path. The program's input, output, exit code "
                   "and signals are "
                   "its own.\n\n"
                   "SCRIPT is a Python file or an installed Python program found on PATH. After -- any "
                   "command may stand; "
                   "the Pythons (3.9 to 3.15) that it starts are recorded.\n\n"
                   "Nothing is lost when the program is killed. sonde exits as the program did, or with 2 "
                   "when it could not "
                   "do its own work.",
    .examples =
        "sonde trace sim.py --steps 10\trecords into sim.<run id>.sonde\n"
        "sonde trace -o out.prof sim.py\ta file for pstats, SnakeViz and gprof2dot\n"
        "sonde trace --print -s cumtime -m pytest tests/\tprints the table at the end\n"
        "sonde trace -p -l sim.py\tonly where it has enabled a sonde.Profiler, by line too\n"
        "sonde trace --timeline sim.py\teach call with its times, for the timeline\n"
        "sonde trace --exclude-library -- mpirun -n 4 python sim.py\tonly the program's own functions\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .has_target = true,
    .run = run_trace,
};
