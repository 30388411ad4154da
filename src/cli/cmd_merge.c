/* sonde merge: many recordings → one, a file at a time. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/crew.h"
#include "cli/folder.h"
#include "cli/input.h"
#include "cli/merge_job.h"
#include "cli/merge_shares.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/staged.h"
#include "import/formats.h"

struct values {
    const char *output;
    const char *format;
    bool keep_going;
    bool totals;
    bool alone;
};

static bool same_file(const char *left, const char *right)
{
    struct stat a, b;
    return stat(left, &a) == 0 && stat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static bool names(int argc, char **argv, const char *path)
{
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], path) == 0 || (!folder_is(argv[i]) && same_file(argv[i], path)))
            return true;
    return false;
}

/* A result of an earlier merge that a pattern or folder picks up is left out; one that was named is refused. */
static int leave_out_output(struct input_paths *inputs, const char *output, int argc, char **argv,
                            struct err *err)
{
    if (names(argc, argv, output))
        return err_set(err, "%s is an input, too, and would be lost; name another output with -o", output);
    size_t kept = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        if (!same_file(inputs->items[i], output)) {
            inputs->items[kept++] = inputs->items[i];
            continue;
        }
        message_note("leaving out %s, which is the output", inputs->items[i]);
        free(inputs->items[i]);
    }
    inputs->count = kept;
    return kept ? 0 : err_set(err, "there is nothing to merge into %s", output);
}

static int refuse_foreign(const char *output, struct err *err)
{
    struct stat status;
    if (stat(output, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0 || folder_sniff(output))
        return 0;
    return err_set(err, "%s exists and is no recording; remove it, or name another output with -o", output);
}

/* pstats or lprof when all inputs that can be read are; a sonde file can hold every kind. */
static const char *common_format(const struct input_paths *inputs)
{
    const struct format *common = NULL;
    for (size_t i = 0; i < inputs->count; i++) {
        const struct format *format = folder_sniff(inputs->items[i]);
        if (common && format && format != common)
            return "sonde";
        common = format ? format : common;
    }
    bool kept = common && (strcmp(common->name, "pstats") == 0 || strcmp(common->name, "lprof") == 0);
    return kept ? common->name : "sonde";
}

/* Who shares the work reads files twice: standard input and pipes cannot be. */
static bool can_be_shared(const struct input_paths *inputs)
{
    struct stat status;
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->items[i], "-") == 0 ||
            (stat(inputs->items[i], &status) == 0 && !S_ISREG(status.st_mode)))
            return false;
    return true;
}

static int merge_alone(const struct input_paths *inputs, struct merge_job *job, const char *format,
                       struct staged *file, struct err *err)
{
    if (merge_job_begin(job, format, staged_append, file, err) != 0 ||
        merge_job_add(job, inputs, 0, inputs->count, err) != 0)
        return -1;
    return merge_job_finish(job, staged_append, file, err);
}

static int merge_files(const struct input_paths *inputs, const char *output, const struct values *values,
                       struct crew *crew, struct err *err)
{
    struct merge_job job = {.keep_going = values->keep_going, .totals = values->totals};
    struct staged file = {0};
    const char *format = output_format(values->format, output, NULL);
    if (!format)
        format = common_format(inputs);
    bool shared = crew->size > 1 && strcmp(format, "sonde") == 0 && can_be_shared(inputs);
    int result = staged_open(&file, output, err);
    merge_shares_invite(crew, shared ? inputs : NULL, err);
    if (result == 0)
        result = shared ? merge_shares_lead(crew, inputs, &job, &file, err)
                        : merge_alone(inputs, &job, format, &file, err);
    if (result == 0)
        result = staged_commit(&file, err);
    if (result == 0)
        message_note("merged %zu recording%s into %s", job.added, job.added == 1 ? "" : "s", output);
    staged_discard(&file);
    merge_job_clear(&job);
    return result;
}

static int check_and_merge(const struct values *values, int argc, char **argv, struct crew *crew,
                           struct err *err)
{
    struct output_context context;
    output_context_init(&context);
    char *output = NULL;
    struct input_paths inputs = {0};
    int result = output_path(values->output, "merged", ".sonde", &context, &output, err);
    if (result == 0)
        result = input_expand(argc, argv, &inputs, err);
    if (result == 0)
        result = leave_out_output(&inputs, output, argc, argv, err);
    if (result == 0)
        result = refuse_foreign(output, err);
    if (result == 0)
        result = merge_files(&inputs, output, values, crew, err);
    else
        merge_shares_invite(crew, NULL, err);
    input_clear(&inputs);
    free(output);
    return result;
}

/* Under an MPI launcher the first process does what one would do alone, and the others help it. */
static int run_crew(const struct values *values, int argc, char **argv, struct err *err)
{
    struct crew crew = {.size = 1, .socket = -1};
    if (!values->alone && !crew_join(&crew))
        return 0;
    int result = 0;
    if (crew.rank == 0) {
        result = check_and_merge(values, argc, argv, &crew, err);
    } else {
        struct merge_job job = {.keep_going = values->keep_going, .totals = values->totals};
        merge_shares_help(&crew, &job);
        merge_job_clear(&job);
    }
    crew_leave(&crew);
    return result;
}

static int run(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    if (!values->output) {
        err_set(&err, "merge must be told where the result goes");
        return message_fail_with(&err, "for example: sonde merge %s%s -o merged.sonde",
                                 argc ? argv[0] : "a.prof b.prof", argc > 1 ? " ..." : "");
    }
    if (argc == 0) {
        err_set(&err, "merge must be told what to merge");
        return message_fail_with(&err, "for example: sonde merge 'rank.*.prof' -o %s", values->output);
    }
    return run_crew(values, argc, argv, &err) == 0 ? 0 : message_fail(&err);
}

static const char *const format_choices[] = {"sonde", "pstats", "lprof", NULL};

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL,
     "Where the result goes. An existing recording there is replaced when the result is whole."},
    {"format", 'f', OPTION_CHOICE, "FORMAT", offsetof(struct values, format), format_choices,
     "sonde, pstats as cProfile writes, or lprof as line_profiler writes. Otherwise FILE's suffix decides, "
     "or else the inputs' kind."},
    {"keep-going", 'k', OPTION_FLAG, NULL, offsetof(struct values, keep_going), NULL,
     "Leave out inputs that cannot be read, and say which."},
    {"totals", 0, OPTION_FLAG, NULL, offsetof(struct values, totals), NULL,
     "Add up samples by thread and stack, and leave out when things happened: single calls, messages, "
     "regions, "
     "counters, the log of allocations. For thousands of sampled ranks."},
    {"alone", 0, OPTION_FLAG, NULL, offsetof(struct values, alone), NULL,
     "Take no help from other processes of an MPI job."},
    {0},
};

const struct command command_merge = {
    .name = "merge",
    .group = "Convert",
    .summary = "Add up recordings of several runs, ranks or processes",
    .arguments = "FILE... -o FILE",
    .description =
        "Makes one recording of many, .sonde, .prof and .lprof in any mixture. Calls and times of the same "
        "function "
        "are "
        "added; processes and threads of .sonde files stay apart.\n\n"
        "A FILE may be a pattern in quotes, so that thousands of files fit on the line, or a folder, which "
        "stands for the recordings in it. Files are read one after the other; memory does not grow with "
        "their "
        "number.\n\n"
        "Started by an MPI launcher as several processes, these share the work; the .sonde file that they "
        "make "
        "is the same to the byte.",
    .examples = "sonde merge cpu_*.prof -o all.prof\tone cProfile file from those of all ranks\n"
                "sonde merge s.lprof* -o all.lprof\tone line_profiler file from those of all ranks\n"
                "sonde merge 'base.*.part' -o base.dat\tthe same kind as the parts\n"
                "sonde merge run.20261115-122430-k7/ -o run.sonde\tall ranks of a run\n"
                "mpirun -n 8 sonde merge run.slurm-1234.0 -o run.sonde\tthe same by eight processes\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
