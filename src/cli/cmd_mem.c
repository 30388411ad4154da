/* sonde mem: what a program allocates, by which line, when, and what of it stays. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "cli/closing.h"
#include "cli/commands.h"
#include "cli/marks_option.h"
#include "cli/mem_lines.h"
#include "cli/mem_rss.h"
#include "cli/message.h"
#include "cli/ranks_option.h"
#include "cli/run.h"
#include "show/memory_lines_text.h"
#include "store/recording.h"

#define MEMORY_BYTES ((int64_t)512 << 20)
#define SAMPLE_BYTES ((int64_t)512 << 10)

struct values {
    const char *output;
    const char *format;
    bool exact, log, native, python_allocators;
    int64_t sample_bytes;
    int64_t pid;
    const char *duration;
    bool lines, view, threads;
    struct option_list functions;
    double stop_at_mb;
    int64_t precision;
    struct mem_rss rss;
    struct part part;
    bool follow;
    bool finalize;
    struct marks_option marks;
    const char *module, *code, *ranks;
    bool mpi;
    const char *embed_source;
    struct live_view_options live;
};

static const struct values defaults = {.sample_bytes = SAMPLE_BYTES,
                                       .pid = RUN_NO_PID,
                                       .view = true,
                                       .precision = MEMORY_LINES_TEXT_PRECISION,
                                       .follow = true,
                                       .finalize = true,
                                       .embed_source = "auto",
                                       .marks = MARKS_OPTION_DEFAULTS};

static int check(const struct values *values, bool has_words, uint64_t *duration_ns, struct err *err)
{
    bool has_target = has_words || values->module || values->code;
    if (run_check_pid(values->pid, err) < 0 || run_duration(values->duration, duration_ns, err) < 0)
        return -1;
    if (values->pid != RUN_NO_PID && has_target)
        return err_set(err, "-p names a process that runs already; there is nothing to start beside it");
    if (values->sample_bytes < 1)
        return err_set(err, "--sample must be a number of bytes between samples, such as 512k");
    bool from_outside = values->pid != RUN_NO_PID || mem_rss_is_wanted(&values->rss);
    return part_options_check(&values->part, from_outside, err);
}

/* --log needs every block. */
static bool is_exact(const struct values *values)
{
    return values->exact || values->log;
}

static void put_settings(const struct values *values, struct bytes *out)
{
    bytes_putf(out,
               "heap=1\nfollow=%d\nnative=%d\nheap_log=%d\nheap_python=%d\nheap_sample_bytes=%" PRId64
               "\nmemory_bytes=%" PRId64 "\n",
               values->follow, values->native, values->log, values->python_allocators,
               is_exact(values) ? 0 : values->sample_bytes, MEMORY_BYTES);
    part_options_put_settings(&values->part, out);
    bytes_put_u8(out, 0);
}

static uint64_t peak_of(const struct recording *recording)
{
    int64_t peak = 0;
    for (uint32_t i = 0; i < recording->series_count; i++) {
        const struct series_row *row = &recording->series[i];
        const char *name = recording_text(recording, recording->counters[row->counter].name);
        if (row->value > peak && strcmp(name, "heap") == 0)
            peak = row->value;
    }
    return (uint64_t)peak;
}

static void tell(const struct run *run, const struct recording *recording)
{
    struct quantity peak = quantity_bytes((double)peak_of(recording));
    struct quantity tracker = quantity_bytes((double)run->memory_bytes);
    for (uint32_t i = 0; i < recording->notes_count; i++) {
        const struct note *note = &recording->notes[i];
        if (note->kind == NOTE_LOSS)
            message_warn("%" PRIu64 " %s", note->count, recording_text(recording, note->text));
    }
    message_hint("peak %s of heap in %.3f s, %s of memory for the recording: %s", peak.text,
                 (double)run->elapsed_ns / 1e9, tracker.text, run->path);
}

static int close_mem(const struct run *run, const void *raw)
{
    (void)raw;
    return closing_tell_run(run, tell, false, (struct report_options){0});
}

static int run_lines(const struct values *values, int argc, char **argv)
{
    struct err err = {0};
    if (values->pid != RUN_NO_PID) {
        err_set(&err, "lines are measured from a program's beginning on: --lines cannot go with -p");
        return message_fail(&err);
    }
    const struct mem_lines_options options = {
        .output = values->output,
        .format = values->format,
        .ranks = values->ranks,
        .functions = values->functions,
        .stop_at_mb = values->stop_at_mb,
        .precision = values->precision,
        .view = values->view,
        .threads = values->threads,
        .follow = values->follow,
        .part = values->part,
        .embed_source = values->embed_source,
        .live = values->live,
        .marks = &values->marks,
        .target = {.module = values->module, .code = values->code, .argc = argc, .argv = argv},
    };
    return mem_lines_run(&options);
}

static int watch_size(const struct values *values, uint64_t duration_ns, int argc, char **argv)
{
    const struct mem_rss_target target = {.output = values->output,
                                          .format = values->format,
                                          .ranks = values->ranks,
                                          .pid = run_pid(values->pid),
                                          .duration_ns = duration_ns,
                                          .live = values->live,
                                          .marks = &values->marks,
                                          .module = values->module,
                                          .code = values->code,
                                          .argc = argc,
                                          .argv = argv};
    return mem_rss_run(&values->rss, &target);
}

static int run_mem(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    if (values->mpi && (values->lines || mem_rss_is_wanted(&values->rss))) {
        err_set(&err, "--mpi goes with stacks: not with --lines or --rss");
        return message_fail(&err);
    }
    if (values->lines)
        return run_lines(values, argc, argv);
    struct bytes settings = {0};
    uint64_t duration_ns;
    if (check(values, argc > 0, &duration_ns, &err) < 0)
        return message_fail(&err);
    if (mem_rss_is_wanted(&values->rss))
        return watch_size(values, duration_ns, argc, argv);
    put_settings(values, &settings);
    const struct run_options options = {
        .mode = "mem",
        .output = values->output,
        .format = values->format,
        .ranks = values->ranks,
        .mpi = values->mpi,
        .settings = (char *)settings.data,
        .embed_source = values->embed_source,
        .live = values->live,
        .marks = &values->marks,
        .finalize = values->finalize && values->native,
        .heap = true,
        .heap_sample_bytes = is_exact(values) ? 0 : (uint64_t)values->sample_bytes,
        .duration_ns = duration_ns,
        .target = {.pid = run_pid(values->pid),
                   .module = values->module,
                   .code = values->code,
                   .argc = argc,
                   .argv = argv},
    };
    int code = run_command(&options, close_mem, values);
    bytes_clear(&settings);
    return code;
}

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL,
     "Where the recording goes. %r, %p, %h and %{NAME} stand for rank, process, host and environment "
     "variable. Otherwise NAME.<run id>.sonde. " RUN_OUTPUT_OF_RANKS},
    {"format", 0, OPTION_CHOICE, "FORMAT", offsetof(struct values, format), conversion_names,
     "What FILE is to be: sonde, or a format of `sonde export`; otherwise FILE's suffix decides."},
    {"sample", 0, OPTION_SIZE, "BYTES", offsetof(struct values, sample_bytes), NULL,
     "Count one block for about so many bytes that are allocated (default 512k); what it stands for is "
     "estimated without bias."},
    {"exact", 0, OPTION_FLAG, NULL, offsetof(struct values, exact), NULL,
     "Count every block. Costs some tens of nanoseconds for each."},
    {"log", 0, OPTION_FLAG, NULL, offsetof(struct values, log), NULL,
     "Keep every allocation and every free with its time, for questions about stretches of time. Implies "
     "--exact."},
    {"native", 0, OPTION_FLAG, NULL, offsetof(struct values, native), NULL,
     "Native frames too: C, C++, Fortran and Cython functions between the Python ones."},
    {"python-allocators", 0, OPTION_FLAG, NULL, offsetof(struct values, python_allocators), NULL,
     "Count the blocks of Python's own allocators, and not the arenas that it takes for them."},
    {"pid", 'p', OPTION_NUMBER, "PID", offsetof(struct values, pid), NULL,
     "Count the allocations of a Python (3.14 or later) that runs already, from now on: it loads the "
     "counting itself, "
     "between two instructions, and is rid of it again at the end. With --rss: any process."},
    {"duration", 'd', OPTION_TEXT, "SECONDS", offsetof(struct values, duration), NULL,
     "End counting after this time and write the recording. The program goes on."},
    {"lines", 0, OPTION_FLAG, NULL, offsetof(struct values, lines), NULL,
     "Instead: what each line of chosen functions adds to memory, as memory_profiler tells it; by heap, and "
     "by resident size."},
    {"function", 'f', OPTION_LIST, "TARGET", offsetof(struct values, functions), NULL,
     "With --lines: of this function, class, module, package or file, as in `sonde line`, besides those with "
     "@profile. May be given several times."},
    {"pdb-at", 0, OPTION_REAL, "MIB", offsetof(struct values, stop_at_mb), NULL,
     "With --lines: stop in the debugger, at the next line of a chosen function, once so much is resident."},
    {"pdb-mmem", 0, OPTION_REAL, "MIB", offsetof(struct values, stop_at_mb), NULL,
     "The same, by memory_profiler's name."},
    {"precision", 0, OPTION_NUMBER, "N", offsetof(struct values, precision), NULL,
     "With --lines: digits behind the point."},
    {"view", 0, OPTION_FLAG, NULL, offsetof(struct values, view), NULL,
     "With --lines: do not print the table when the program has ended."},
    {"threads", 't', OPTION_FLAG, NULL, offsetof(struct values, threads), NULL,
     "With --lines: keep the figures of each thread apart."},
    {"finalize", 0, OPTION_FLAG, NULL, offsetof(struct values, finalize), NULL,
     "Leave native frames without names until `sonde finalize`."},
    MARKS_OPTIONS(struct values, marks),
    RUN_SOURCE_OPTION(struct values),
    LIVE_VIEW_OPTIONS(struct values, live),
    RANKS_OPTION(struct values),
    RUN_MPI_OPTION(struct values),
    RUN_TARGET_OPTIONS(struct values),
    MEM_RSS_OPTIONS(struct values, rss),
    PART_OPTIONS(struct values, part, 0),
    {0},
};

const struct command command_mem = {
    .name = "mem",
    .group = "Record",
    .summary = "Record what a program allocates, and what of it stays",
    .arguments = RUN_ARGUMENTS "\n-p PID",
    .description =
        "Runs the program under its own interpreter and notes who allocates memory: every malloc, calloc, "
        "realloc, free, mmap and the like of its Python and native code, with the Python stack.\n\n"
        "The recording says for each stack what was alive when the heap was at its largest, what was "
        "allocated in all, what was freed at once, and what was never freed.\n\n"
        "By default blocks are sampled by bytes, which is cheap enough to leave on; --exact counts all of "
        "them.",
    .examples = "sonde mem sim.py --steps 10\twhat is allocated where, sampled\n"
                "sonde mem --exact -o sim.sonde sim.py\tevery block\n"
                "sonde mem -p 4711 -d 60\ta minute of a program that runs already\n"
                "sonde mem --lines -f solve sim.py\twhat each line of a function adds to memory\n"
                "sonde mem --native -- python3.12 sim.py\twith the functions of numpy and other libraries\n"
                "sonde mem --rss --children -- make -j4\thow much memory any program has over time\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .has_target = true,
    .run = run_mem,
};
