/* sonde record: where a program's threads are, sampled at random instants. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/collectors.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/run_check.h"

struct values {
    struct run_request request;
    int64_t rate;
    const char *duration, *clock;
    bool subprocesses; /* of a process that runs already; those of a launched one are followed anyway */
    bool nonblocking;  /* py-spy's: always so here */
    bool native, threads, gil, idle, function, nolineno, full_filenames;
    bool finalize, internals, async;
};

static const struct values defaults = {.request = RUN_REQUEST_DEFAULTS,
                                       .rate = COLLECTORS_RATE_HZ,
                                       .clock = "wall",
                                       .finalize = true,
                                       .async = true};

static int check(const struct values *values, int argc, uint64_t *duration_ns, struct err *err)
{
    if (target_check_options(&values->request.target, argc, err) < 0 || run_check_rate(values->rate, err) < 0)
        return -1;
    return run_check_duration(values->duration, duration_ns, err);
}

static void put_settings(const struct values *values, struct bytes *out)
{
    bytes_putf(out, "native=%d\ntasks=%d\ncpu_clock=%d\nsample_period_ns=%" PRId64 "\n", values->native,
               values->async, strcmp(values->clock, "cpu") == 0, INT64_C(1000000000) / values->rate);
    bytes_put_u8(out, 0);
}

/* The last line is py-spy's, which scripts look for. */
static int close_record(const struct run *run, const void *given)
{
    const struct values *values = given;
    double elapsed_ns = run->elapsed_ns ? (double)run->elapsed_ns : 1;
    if (!run->samples)
        part_options_tell_empty(&values->request.part);
    if (!run->samples && part_options_are_whole(&values->request.part))
        message_note("no sample was taken: the program was too short for this rate (-r), or the machine too "
                     "busy to look at it");
    message_note("%.3f s, %" PRIu32 " process%s: %s", elapsed_ns / 1e9, run->processes,
                 run->processes == 1 ? "" : "es", run->path);
    if (run->reached_hz && run->reached_hz * 2 < (uint64_t)values->rate)
        message_note(
            "%" PRIu64 " of %" PRId64
            " samples a second were reached: many threads take long to look at, or the machine is busy",
            run->reached_hz, values->rate);
    message_note("Overhead: program slowed by about %.1f%%, sampler %.1f%% of a CPU; lost: %" PRIu64,
                 100 * (double)run->overhead_ns / elapsed_ns, 100 * (double)run->sampler_cpu_ns / elapsed_ns,
                 run->errors);
    message_note("Samples: %" PRIu64 " Errors: %" PRIu64, run->samples, run->errors);
    return 0;
}

static int run_sampling(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    struct bytes settings = {0};
    uint64_t duration_ns;
    if (check(values, argc, &duration_ns, &err) < 0)
        return message_fail(&err);
    put_settings(values, &settings);
    const struct run_options options = {
        .mode = "record",
        .request = &values->request,
        .target = target_request_of(&values->request.target, argc, argv),
        .settings = (char *)settings.data,
        .rate_hz = (uint64_t)values->rate,
        .clock = values->clock,
        .ends_at_interrupt = true,
        .duration_ns = duration_ns,
        .conversion = {.selection = {.idle = values->idle, .gil = values->gil},
                       .frames = {.function = values->function,
                                  .no_lines = values->nolineno,
                                  .full_filenames = values->full_filenames},
                       .threads = values->threads,
                       .internals = values->internals},
        .finalize = values->finalize,
        .native = values->native,
        .tasks = values->async,
        .children = values->subprocesses,
    };
    int code = run_command(&options, close_record, values);
    bytes_clear(&settings);
    return code;
}

static const char *const clocks[] = {"wall", "cpu", NULL};

static const struct option options[] = {
    RUN_REQUEST_OUTPUT(struct values, request, ""),
    RUN_REQUEST_FORMAT(struct values, request, 'f', "speedscope, flamegraph, raw, chrometrace, sonde, …"),
    {"rate", 'r', OPTION_NUMBER, "HZ", offsetof(struct values, rate), NULL,
     "Samples a second of each thread (default 1000), at random intervals."},
    {"clock", 0, OPTION_CHOICE, "CLOCK", offsetof(struct values, clock), clocks,
     "What samples stand for: wall, the time that passes for each thread (default), or cpu, the time that it "
     "runs on "
     "a CPU; then sleeping threads give none."},
    {"duration", 'd', OPTION_TEXT, "SECONDS", offsetof(struct values, duration), NULL,
     "End sampling after this time and write the recording. The program goes on, and sonde waits for it."},
    {"native", 'n', OPTION_FLAG, NULL, offsetof(struct values, native), NULL,
     "Native frames too: C, C++, Fortran and Cython functions between the Python ones, and threads that run "
     "no Python."},
    {"pid", 'p', OPTION_NUMBER, "PID", offsetof(struct values, request.target.pid), NULL,
     "Sample a Python that runs already. Its running threads are held for about 20 us a sample: at 1000 Hz "
     "that costs "
     "it a few percent, at -r 100 less than one. It runs on when sampling ends."},
    {"subprocesses", 's', OPTION_FLAG, NULL, offsetof(struct values, subprocesses), NULL,
     "With --pid: sample the Python processes that it starts, too. Those of a program that sonde starts "
     "always are, "
     "but for --no-follow."},
    {"threads", 't', OPTION_FLAG, NULL, offsetof(struct values, threads), NULL,
     "Keep threads apart in formats that would add them up."},
    {"gil", 'g', OPTION_FLAG, NULL, offsetof(struct values, gil), NULL,
     "Show only samples of the thread that held the GIL. The others are recorded, too."},
    {"idle", 'i', OPTION_FLAG, NULL, offsetof(struct values, idle), NULL,
     "Show sleeping threads too. They are always recorded."},
    {"function", 'F', OPTION_FLAG, NULL, offsetof(struct values, function), NULL,
     "Add up by function, not by line."},
    {"nolineno", 0, OPTION_FLAG, NULL, offsetof(struct values, nolineno), NULL, "Leave out line numbers."},
    {"full-filenames", 0, OPTION_FLAG, NULL, offsetof(struct values, full_filenames), NULL,
     "Show whole paths."},
    {"internals", 0, OPTION_FLAG, NULL, offsetof(struct values, internals), NULL, CONVERSION_INTERNALS_HELP},
    {"async", 0, OPTION_FLAG, NULL, offsetof(struct values, async), NULL,
     "Show the real stack only of a task of asyncio. Otherwise, with Python 3.14 and later, the coroutines "
     "that "
     "await it stand above it, and the name that the program gave it."},
    {"finalize", 0, OPTION_FLAG, NULL, offsetof(struct values, finalize), NULL,
     "Leave native frames without names; sonde finalize gives them later."},
    {"nonblocking", 0, OPTION_FLAG, NULL, offsetof(struct values, nonblocking), NULL, NULL},
    RUN_REQUEST_OPTIONS(struct values, request),
    PART_OPTIONS(struct values, request.part, 0),
    {0},
};

const struct command command_record = {
    .name = "record",
    .group = "Record",
    .summary = "Sample where a program spends its time",
    .arguments = TARGET_ARGUMENTS "\n-p PID",
    .description =
        "Runs the program under its own interpreter and notes at random instants what each of its "
        "threads does. "
        "A running thread writes down its own stack, a sleeping one is read: no sample shows a "
        "stack that never "
        "was. The program is not stopped.\n\nSampling ends with the program, after --duration, or at Ctrl-C "
        "(which the "
        "program gets as well). The recording is then written at once; a program that goes on is "
        "not killed but waited for, and its exit code is passed on.",
    .examples =
        "sonde record sim.py --steps 10\trecords into sim.<run id>.sonde\n"
        "sonde record -r 200 -m pytest tests/\ttwo hundred samples a second\n"
        "sonde record --with trace,line,mem sim.py\tevery call, hot lines and allocations, too, in one run\n"
        "sonde record -p 4711 -d 10 -f flamegraph -o x.svg\tten seconds of a program that runs already\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .has_target = true,
    .run = run_sampling,
};
