/* sonde line: hits and time of every line of chosen functions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/closing.h"
#include "cli/collectors.h"
#include "cli/commands.h"
#include "cli/line_targets_option.h"
#include "cli/message.h"
#include "cli/run.h"
#include "show/lines_text.h"
#include "store/recording.h"

#define HOT_MAX 1000

struct values {
    struct run_request request;
    struct option_list functions;
    const char *setup;
    int64_t hot;
    bool view;
    double unit;
    bool skip_zero;
    bool threads;
};

static const struct values defaults = {
    .request = RUN_REQUEST_DEFAULTS, .hot = COLLECTORS_HOT, .unit = LINES_TEXT_UNIT_S};

static int check(const struct values *values, struct err *err)
{
    if (line_targets_option_check(&values->functions, err) < 0)
        return -1;
    if (values->hot < 0 || values->hot > HOT_MAX)
        return err_set(err, "--hot must be a number of functions, at most %d", HOT_MAX);
    if (options_is_typed("hot") && options_is_typed("function"))
        return err_set(err, "--hot lets sonde choose the functions, --function names them: give one of them");
    if (values->setup && access(values->setup, R_OK) != 0)
        return err_set_errno(err, "cannot read the set-up script %s", values->setup);
    return lines_text_check_unit(values->unit, err);
}

/* What is named needs no samples. */
static int64_t wanted_hot(const struct values *values)
{
    return values->functions.count ? 0 : values->hot;
}

static void put_settings(const struct values *values, struct bytes *out)
{
    bytes_putf(out, "lines=1\nper_thread=%d\nmemory_bytes=%" PRId64 "\n", values->threads,
               COLLECTORS_LINE_MEMORY);
    if (wanted_hot(values))
        bytes_putf(out, "hot=%" PRId64 "\nsample_period_ns=%d\n", wanted_hot(values),
                   1000000000 / COLLECTORS_RATE_HZ);
    if (values->setup)
        bytes_putf(out, "setup=%s\n", values->setup);
    line_targets_option_put_settings(&values->functions, out);
    bytes_put_u8(out, 0);
}

static void tell(const struct run *run, const struct recording *recording, const void *values)
{
    (void)values;
    uint64_t hits = 0;
    for (uint32_t i = 0; i < recording->lines_count; i++)
        hits += recording->lines[i].hits;
    message_hint("%" PRIu64 " line hits in %.3f s: %s", hits, (double)run->elapsed_ns / 1e9, run->path);
}

static int close_lines(const struct run *run, const void *raw)
{
    const struct values *values = raw;
    const struct report_options report = {.unit_s = values->unit, .skip_zero = values->skip_zero};
    if (!run->counted)
        part_options_tell_empty(&values->request.part);
    return closing_tell_run(run, tell, raw, values->view, report);
}

static int run_line(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    struct bytes settings = {0}, targets = {0};
    if (check(values, &err) < 0)
        return message_fail(&err);
    put_settings(values, &settings);
    line_targets_option_put_words(&values->functions, &targets);
    const struct run_options options = {
        .mode = "line",
        .request = &values->request,
        .target = target_request_of(&values->request.target, argc, argv),
        .settings = (char *)settings.data,
        .line_targets = (char *)targets.data,
        .line_functions = &values->functions,
        .hot = (uint32_t)wanted_hot(values),
    };
    int code = run_command(&options, close_lines, values);
    bytes_clear(&settings);
    bytes_clear(&targets);
    return code;
}

static const struct option options[] = {
    {"function", 'f', OPTION_LIST, "TARGET", offsetof(struct values, functions), NULL,
     "Time the lines of this function, class, module, package or file: a dotted name, a path, or file:line. "
     "May be given several times. A name without dots is looked for in the program's main file."},
    {"setup", 's', OPTION_TEXT, "FILE", offsetof(struct values, setup), NULL,
     "Run this Python file first, in a namespace of its own, without timing it."},
    {"hot", 0, OPTION_NUMBER, "N", offsetof(struct values, hot), NULL,
     "Without a target: sample the program, and time the lines of the N functions that take the most time, "
     "in the same run (default 10)."},
    RUN_REQUEST_OUTPUT(struct values, request, "; x.lprof makes a file for line_profiler"),
    RUN_REQUEST_FORMAT(struct values, request, 0, "sonde, lprof, or a format of `sonde export`"),
    {"view", 'v', OPTION_FLAG, NULL, offsetof(struct values, view), NULL,
     "Print the lines to standard output when the program has ended."},
    {"unit", 'u', OPTION_REAL, "SECONDS", offsetof(struct values, unit), NULL,
     "The unit of times that --view prints."},
    {"skip-zero", 'z', OPTION_FLAG, NULL, offsetof(struct values, skip_zero), NULL,
     "Leave functions out of --view that were never called."},
    {"threads", 't', OPTION_FLAG, NULL, offsetof(struct values, threads), NULL,
     "Keep the times of each thread apart."},
    RUN_REQUEST_OPTIONS(struct values, request),
    PART_OPTIONS(struct values, request.part, 0),
    {0},
};

const struct command command_line = {
    .name = "line",
    .group = "Record",
    .summary = "Record hits and time of every line of chosen functions",
    .arguments = TARGET_ARGUMENTS,
    .description =
        "Runs the program under its own interpreter and counts, for each line of the chosen functions, how "
        "often it ran and how long it took: with the functions that it called, and without.\n\n"
        "Functions are chosen by -f, by @profile in the program (which needs no import and means nothing "
        "when sonde does not run it), or, without either, by sampling the program first.\n\n"
        "Code that is not chosen runs at full speed.",
    .examples = "sonde line sim.py --steps 10\tthe lines of the functions that take the most time\n"
                "sonde line -f solve -f Grid.step -v sim.py\tof these, printed at the end\n"
                "sonde line -f sim.forces -o sim.lprof -m sim\ta file for python -m line_profiler\n"
                "mpirun -n 4 sonde line -o s.lprof%r sim.py\tone file for each rank\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .has_target = true,
    .run = run_line,
};
