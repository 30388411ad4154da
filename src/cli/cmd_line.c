/* sonde line: hits and time of every line of chosen functions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/closing.h"
#include "cli/commands.h"
#include "cli/line_targets_option.h"
#include "cli/marks_option.h"
#include "cli/message.h"
#include "cli/part_options.h"
#include "cli/ranks_option.h"
#include "cli/run.h"
#include "show/lines_text.h"
#include "store/recording.h"

#define MEMORY_BYTES     ((int64_t)64 << 20)
#define SAMPLE_PERIOD_NS 1000000
#define HOT_MAX          1000

struct values {
    const char *output;
    const char *format;
    struct option_list functions;
    const char *setup;
    int64_t hot;
    bool view;
    double unit;
    bool skip_zero;
    bool threads;
    struct option_list with;
    struct part part;
    bool follow;
    struct marks_option marks;
    const char *module, *code, *ranks;
    bool mpi;
    const char *embed_source;
    struct live_view_options live;
};

static const struct values defaults = {.hot = 10,
                                       .unit = LINES_TEXT_UNIT_S,
                                       .follow = true,
                                       .embed_source = "auto",
                                       .marks = MARKS_OPTION_DEFAULTS};

static int check(const struct values *values, struct err *err)
{
    if (line_targets_option_check(&values->functions, err) < 0)
        return -1;
    if (values->hot < 0 || values->hot > HOT_MAX)
        return err_set(err, "--hot must be a number of functions, at most %d", HOT_MAX);
    for (size_t i = 0; i < values->with.count; i++)
        if (strcmp(values->with.items[i], "trace") != 0)
            return err_set(err, "there is no collector '%s' to go with line; --with knows: trace",
                           values->with.items[i]);
    if (values->setup && access(values->setup, R_OK) != 0)
        return err_set_errno(err, "cannot read the set-up script %s", values->setup);
    if (part_options_check(&values->part, false, err) < 0)
        return -1;
    return lines_text_check_unit(values->unit, err);
}

/* What is named needs no samples. */
static int64_t wanted_hot(const struct values *values)
{
    return values->functions.count ? 0 : values->hot;
}

static bool is_wanted(const struct values *values, const char *collector)
{
    for (size_t i = 0; i < values->with.count; i++)
        if (strcmp(values->with.items[i], collector) == 0)
            return true;
    return false;
}

static void put_settings(const struct values *values, struct bytes *out)
{
    if (is_wanted(values, "trace"))
        bytes_put_text(out, "trace=1\nc_calls=1\n");
    bytes_putf(out, "lines=1\nfollow=%d\nper_thread=%d\nmemory_bytes=%" PRId64 "\n", values->follow,
               values->threads, MEMORY_BYTES);
    if (wanted_hot(values))
        bytes_putf(out, "hot=%" PRId64 "\nsample_period_ns=%d\n", wanted_hot(values), SAMPLE_PERIOD_NS);
    if (values->setup)
        bytes_putf(out, "setup=%s\n", values->setup);
    line_targets_option_put_settings(&values->functions, out);
    part_options_put_settings(&values->part, out);
    bytes_put_u8(out, 0);
}

static void tell(const struct run *run, const struct recording *recording)
{
    uint64_t hits = 0;
    for (uint32_t i = 0; i < recording->lines_count; i++)
        hits += recording->lines[i].hits;
    closing_tell_notes(recording);
    message_hint("%" PRIu64 " line hits in %.3f s: %s", hits, (double)run->elapsed_ns / 1e9, run->path);
}

static int close_lines(const struct run *run, const void *raw)
{
    const struct values *values = raw;
    const struct report_options report = {.unit_s = values->unit, .skip_zero = values->skip_zero};
    if (!run->counted)
        part_options_tell_empty(&values->part);
    return closing_tell_run(run, tell, values->view, report);
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
        .output = values->output,
        .format = values->format,
        .ranks = values->ranks,
        .mpi = values->mpi,
        .settings = (char *)settings.data,
        .line_targets = (char *)targets.data,
        .line_functions = &values->functions,
        .hot = (uint32_t)wanted_hot(values),
        .embed_source = values->embed_source,
        .live = values->live,
        .marks = &values->marks,
        .target = {.module = values->module, .code = values->code, .argc = argc, .argv = argv},
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
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL,
     "Where the recording goes; x.lprof makes a file for line_profiler. %r, %p, %h and %{NAME} stand for "
     "rank, process, host and environment variable. Otherwise NAME.<run id>.sonde. " RUN_OUTPUT_OF_RANKS},
    {"format", 0, OPTION_CHOICE, "FORMAT", offsetof(struct values, format), conversion_names,
     "What FILE is to be: sonde, lprof, or a format of `sonde export`; otherwise FILE's suffix decides."},
    {"view", 'v', OPTION_FLAG, NULL, offsetof(struct values, view), NULL,
     "Print the lines to standard output when the program has ended."},
    {"unit", 'u', OPTION_REAL, "SECONDS", offsetof(struct values, unit), NULL,
     "The unit of times that --view prints."},
    {"skip-zero", 'z', OPTION_FLAG, NULL, offsetof(struct values, skip_zero), NULL,
     "Leave functions out of --view that were never called."},
    {"threads", 't', OPTION_FLAG, NULL, offsetof(struct values, threads), NULL,
     "Keep the times of each thread apart."},
    {"with", 0, OPTION_LIST, "COLLECTOR", offsetof(struct values, with), NULL,
     "Add a collector to the same recording: trace counts every call, too."},
    MARKS_OPTIONS(struct values, marks),
    RUN_SOURCE_OPTION(struct values),
    LIVE_VIEW_OPTIONS(struct values, live),
    RANKS_OPTION(struct values),
    RUN_MPI_OPTION(struct values),
    RUN_TARGET_OPTIONS(struct values),
    PART_OPTIONS(struct values, part, 0),
    {0},
};

const struct command command_line = {
    .name = "line",
    .group = "Record",
    .summary = "Record hits and time of every line of chosen functions",
    .arguments = RUN_ARGUMENTS,
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
