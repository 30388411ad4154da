/* sonde merge: many recordings → one, a file at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/functions.h"
#include "analyse/line_table.h"
#include "analyse/merge.h"
#include "analyse/native_stacks.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/damage_note.h"
#include "cli/folder.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/staged.h"
#include "export/lprof_writer.h"
#include "export/pstats_writer.h"
#include "import/formats.h"
#include "store/compress.h"
#include "store/rewrite.h"
#include "store/writer.h"

#define PROGRESS_FILES 50 /* fewer are merged before anyone could read it */

struct values {
    const char *output;
    const char *format;
    bool keep_going;
};

/* The sum so far. For .prof and .lprof it is all in `sum`. For .sonde the stacks have gone to the file already, and `sum`
 * holds the flat rows and metas. Either way memory does not grow with the number of files. */
struct job {
    struct staged file;
    struct writer *writer; /* NULL = a .prof or .lprof file is made */
    bool lines;            /* .lprof */
    struct merge sum;
    size_t added;
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

static int job_open(struct job *job, const char *output, const char *format, struct err *err)
{
    job->lines = strcmp(format, "lprof") == 0;
    bool profile = job->lines || strcmp(format, "pstats") == 0;
    if (!profile && strcmp(format, "sonde") != 0)
        return err_set(err, "cannot merge into the format %s; use --format sonde, pstats or lprof", format);
    if (staged_open(&job->file, output, err) != 0)
        return -1;
    if (profile)
        return 0;
    struct writer_options options = {.sink = staged_append, .context = &job->file, .compress = compress_zstd};
    job->writer = writer_new(&options, err);
    return job->writer ? 0 : -1;
}

static void job_clear(struct job *job)
{
    if (job->writer)
        writer_abandon(job->writer);
    staged_discard(&job->file);
    merge_clear(&job->sum);
}

/* The stacks go to the file at once. */
static int add_to_recording(struct job *job, const struct recording *recording, struct err *err)
{
    struct recording stacks = *recording;
    stacks.functions_count = stacks.edges_count = stacks.metas_count = 0;
    if (rewrite_recording(job->writer, &stacks, err) != 0)
        return -1;
    return merge_add_totals(&job->sum, recording, err);
}

static int add_to_lines(struct job *job, const struct recording *recording, const char *path, struct err *err)
{
    if (!recording->lines_count)
        message_warn("%s holds no line times and adds nothing", path);
    return merge_add_lines(&job->sum, recording, err);
}

static int add_to_profile(struct job *job, const struct recording *recording, struct err *err)
{
    struct functions functions;
    if (functions_build(recording, &(struct selection){0}, &functions, err) != 0)
        return -1;
    int result = merge_add_functions(&job->sum, recording, &functions, err);
    functions_clear(&functions);
    return result;
}

static int add_file(struct job *job, const char *path, bool keep_going, struct err *err)
{
    struct recording recording = {0};
    struct err unreadable = {0};
    if (input_read(path, &recording, &unreadable) != 0) {
        recording_clear(&recording);
        if (!keep_going)
            return err_set(err, "%s", unreadable.text);
        message_warn("left out: %s", unreadable.text);
        return 0;
    }
    int result = damage_note_add(&recording, path, err); /* the sum must not look whole */
    if (result == 0 && !job->writer)                     /* a .sonde file keeps the addresses */
        result = native_stacks_name(&recording, false, err);
    if (result == 0)
        result = job->writer  ? add_to_recording(job, &recording, err)
                 : job->lines ? add_to_lines(job, &recording, path, err)
                              : add_to_profile(job, &recording, err);
    recording_clear(&recording);
    job->added += result == 0;
    return result;
}

static void show_progress(size_t done, size_t count)
{
    if (count < PROGRESS_FILES || options_common.quiet || !isatty(STDERR_FILENO))
        return;
    if (done == count)
        fprintf(stderr, "\r\033[K");
    else if (done % (count / 100 + 1) == 0)
        fprintf(stderr, "\rmerging %zu of %zu", done, count);
}

static int put_functions(const struct recording *sum, struct bytes *out, struct err *err)
{
    struct functions functions;
    if (functions_build(sum, &(struct selection){0}, &functions, err) != 0)
        return -1;
    int result = pstats_writer_write(sum, &functions, out, err);
    functions_clear(&functions);
    return result;
}

static int put_lines(const struct recording *sum, struct bytes *out, struct err *err)
{
    struct line_table table;
    if (line_table_build(sum, &(struct selection){0}, GROUP_FUNCTION, &table, err) != 0)
        return -1;
    int result = lprof_writer_write(sum, &table, out, err);
    line_table_clear(&table);
    return result;
}

static int finish_profile(struct job *job, const struct recording *sum, struct err *err)
{
    struct bytes out = {0};
    int result = job->lines ? put_lines(sum, &out, err) : put_functions(sum, &out, err);
    if (result == 0)
        result = staged_append(&job->file, out.data, out.size, err);
    bytes_clear(&out);
    return result;
}

static int finish_recording(struct job *job, const struct recording *sum, struct err *err)
{
    if (rewrite_recording(job->writer, sum, err) != 0)
        return -1;
    int result = writer_close(job->writer, err);
    job->writer = NULL;
    return result;
}

static int job_finish(struct job *job, struct err *err)
{
    struct recording sum = {0};
    int result = merge_take(&job->sum, &sum, err);
    if (result == 0)
        result = job->writer ? finish_recording(job, &sum, err) : finish_profile(job, &sum, err);
    recording_clear(&sum);
    return result == 0 ? staged_commit(&job->file, err) : result;
}

static int merge_files(const struct input_paths *inputs, const char *output, const struct values *values,
                       struct err *err)
{
    struct job job = {0};
    const char *format = output_format(values->format, output, NULL);
    int result = job_open(&job, output, format ? format : common_format(inputs), err);
    for (size_t i = 0; i < inputs->count && result == 0; i++) {
        show_progress(i, inputs->count);
        result = add_file(&job, inputs->items[i], values->keep_going, err);
    }
    show_progress(inputs->count, inputs->count);
    if (result == 0 && job.added == 0)
        result = err_set(err, "none of the inputs could be read; %s was not written", output);
    if (result == 0)
        result = job_finish(&job, err);
    job_clear(&job);
    if (result == 0)
        message_note("merged %zu recording%s into %s", job.added, job.added == 1 ? "" : "s", output);
    return result;
}

static int check_and_merge(const struct values *values, int argc, char **argv, struct err *err)
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
        result = merge_files(&inputs, output, values, err);
    input_clear(&inputs);
    free(output);
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
    return check_and_merge(values, argc, argv, &err) == 0 ? 0 : message_fail(&err);
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
        "number.",
    .examples = "sonde merge cpu_*.prof -o all.prof\tone cProfile file from those of all ranks\n"
                "sonde merge s.lprof* -o all.lprof\tone line_profiler file from those of all ranks\n"
                "sonde merge 'base.*.part' -o base.dat\tthe same kind as the parts\n"
                "sonde merge run.20261115-122430-k7/ -o run.sonde\tall ranks of a run\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
