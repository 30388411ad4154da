/* sonde mem: what a program allocates, by which line, when, and what of it stays. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "cli/closing.h"
#include "cli/collectors.h"
#include "cli/commands.h"
#include "cli/mem_lines.h"
#include "cli/mem_rss.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/run_check.h"
#include "show/memory_lines_text.h"
#include "store/recording.h"

struct values {
    struct run_request request;
    bool exact, log, native, python_allocators;
    int64_t sample_bytes;
    const char *duration;
    struct mem_lines lines;
    struct mem_rss rss;
    bool finalize;
};

static const struct values defaults = {.request = RUN_REQUEST_DEFAULTS,
                                       .sample_bytes = COLLECTORS_HEAP_SAMPLE_BYTES,
                                       .lines = MEM_LINES_DEFAULTS,
                                       .finalize = true};

static const char *const of_stacks[] = {"sample", "exact", "log", "native", "python-allocators", NULL};
static const char *const of_lines[] = {"function", "pdb-at", "pdb-mmem", "precision", "threads", NULL};
static const char *const of_sizes[] = {"interval", "children", NULL};

static const char *first_typed(const char *const *names)
{
    while (*names && !options_is_typed(*names))
        names++;
    return *names;
}

/* What is typed and would do nothing is refused. */
static int check_kind(const struct values *values, struct err *err)
{
    bool sizes = mem_rss_is_wanted(&values->rss);
    const char *stacks = first_typed(of_stacks), *lines = first_typed(of_lines),
               *looks = first_typed(of_sizes);
    if (values->lines.wanted && sizes)
        return err_set(err, "--lines and --rss are different recordings: give one of them");
    if (stacks && (values->lines.wanted || sizes))
        return err_set(err, "--%s is about the stacks that allocate: it cannot go with --%s", stacks,
                       values->lines.wanted ? "lines" : "rss");
    if (lines && !values->lines.wanted)
        return err_set(err, "--%s is about lines: add --lines", lines);
    if (looks && !sizes)
        return err_set(err, "--%s is about memory seen from outside: add --rss", looks);
    if (options_is_typed("sample") && (options_is_typed("exact") || options_is_typed("log")))
        return err_set(err, "--sample counts some of the blocks, --exact and --log all: give one of them");
    if (values->lines.wanted && options_is_typed("duration"))
        return err_set(err, "lines are measured until the program ends: --duration cannot go with --lines");
    return 0;
}

static int check(const struct values *values, int argc, uint64_t *duration_ns, struct err *err)
{
    bool rss = mem_rss_is_wanted(&values->rss);
    if (values->request.mpi && (values->lines.wanted || rss))
        return err_set(err, "--mpi goes with stacks: not with --lines or --rss");
    if (check_kind(values, err) < 0)
        return -1;
    if (values->sample_bytes < 1)
        return err_set(err, "--sample must be a number of bytes between samples, such as 512k");
    if (target_check_options(&values->request.target, argc, err) < 0)
        return -1;
    return run_check_duration(values->duration, duration_ns, err);
}

/* --log needs every block. */
static bool is_exact(const struct values *values)
{
    return (values->exact && !options_is_typed("sample")) || values->log;
}

static void put_settings(const struct values *values, struct bytes *out)
{
    bytes_putf(out,
               "heap=1\nnative=%d\nheap_log=%d\nheap_python=%d\nheap_sample_bytes=%" PRId64
               "\nmemory_bytes=%" PRId64 "\n",
               values->native, values->log, values->python_allocators,
               is_exact(values) ? 0 : values->sample_bytes, COLLECTORS_HEAP_MEMORY);
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

static void tell(const struct run *run, const struct recording *recording, const void *raw)
{
    const struct values *values = raw;
    struct quantity peak = quantity_bytes((double)peak_of(recording));
    struct quantity tracker = quantity_bytes((double)run->memory_bytes);
    if (!recording->heap_count)
        part_options_tell_empty(&values->request.part);
    message_hint("peak %s of heap in %.3f s, %s of memory for the recording: %s", peak.text,
                 (double)run->elapsed_ns / 1e9, tracker.text, run->path);
}

static int close_mem(const struct run *run, const void *raw)
{
    return closing_tell_run(run, tell, raw, false, (struct report_options){0});
}

static int run_heap(const struct values *values, const struct target_request *target, uint64_t duration_ns)
{
    struct bytes settings = {0};
    put_settings(values, &settings);
    const struct run_options options = {
        .mode = "mem",
        .request = &values->request,
        .target = *target,
        .settings = (char *)settings.data,
        .finalize = values->finalize && values->native,
        .heap = true,
        .heap_sample_bytes = is_exact(values) ? 0 : (uint64_t)values->sample_bytes,
        .duration_ns = duration_ns,
    };
    int code = run_command(&options, close_mem, values);
    bytes_clear(&settings);
    return code;
}

static int run_mem(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    uint64_t duration_ns;
    if (check(values, argc, &duration_ns, &err) < 0)
        return message_fail(&err);
    const struct target_request target = target_request_of(&values->request.target, argc, argv);
    if (values->lines.wanted)
        return mem_lines_run(&values->lines, &values->request, &target);
    if (mem_rss_is_wanted(&values->rss))
        return mem_rss_run(&values->rss, &values->request, &target, duration_ns);
    return run_heap(values, &target, duration_ns);
}

static const struct option options[] = {
    RUN_REQUEST_OUTPUT(struct values, request, ""),
    RUN_REQUEST_FORMAT(struct values, request, 0, "sonde, or a format of `sonde export`"),
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
    {"pid", 'p', OPTION_NUMBER, "PID", offsetof(struct values, request.target.pid), NULL,
     "Count the allocations of a Python (3.14 or later) that runs already, from now on: it loads the "
     "counting itself, "
     "between two instructions, and is rid of it again at the end. With --rss: any process."},
    {"duration", 'd', OPTION_TEXT, "SECONDS", offsetof(struct values, duration), NULL,
     "End counting after this time and write the recording. The program goes on."},
    {"lines", 0, OPTION_FLAG, NULL, offsetof(struct values, lines.wanted), NULL,
     "Instead: what each line of chosen functions adds to memory, as memory_profiler tells it; by heap, and "
     "by resident size."},
    {"function", 'f', OPTION_LIST, "TARGET", offsetof(struct values, lines.functions), NULL,
     "With --lines: of this function, class, module, package or file, as in `sonde line`, besides those with "
     "@profile. May be given several times."},
    {"pdb-at", 0, OPTION_REAL, "MIB", offsetof(struct values, lines.stop_at_mb), NULL,
     "With --lines: stop in the debugger, at the next line of a chosen function, once so much is resident."},
    {"pdb-mmem", 0, OPTION_REAL, "MIB", offsetof(struct values, lines.stop_at_mb), NULL,
     "The same, by memory_profiler's name."},
    {"precision", 0, OPTION_NUMBER, "N", offsetof(struct values, lines.precision), NULL,
     "With --lines: digits behind the point."},
    {"view", 0, OPTION_FLAG, NULL, offsetof(struct values, lines.view), NULL,
     "With --lines: do not print the table when the program has ended."},
    {"threads", 't', OPTION_FLAG, NULL, offsetof(struct values, lines.threads), NULL,
     "With --lines: keep the figures of each thread apart."},
    {"finalize", 0, OPTION_FLAG, NULL, offsetof(struct values, finalize), NULL,
     "Leave native frames without names until `sonde finalize`."},
    RUN_REQUEST_OPTIONS(struct values, request),
    MEM_RSS_OPTIONS(struct values, rss),
    PART_OPTIONS(struct values, request.part, 0),
    {0},
};

const struct command command_mem = {
    .name = "mem",
    .group = "Record",
    .summary = "Record what a program allocates, and what of it stays",
    .arguments = TARGET_ARGUMENTS "\n-p PID",
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
