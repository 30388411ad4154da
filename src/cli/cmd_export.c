/* sonde export: one recording in the formats of other tools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/functions.h"
#include "analyse/owners.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/staged.h"
#include "export/chrome_writer.h"
#include "export/collapsed_writer.h"
#include "export/flamegraph_writer.h"
#include "export/frames.h"
#include "export/pstats_writer.h"
#include "export/speedscope_writer.h"
#include "export/stream.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/writer.h"

struct values {
    const char *format, *output;
    bool function, nolineno, full_filenames;
    bool threads, idle, gil;
    bool upward;
};

/* What one export works with. */
struct job {
    const struct values *values;
    struct recording recording;
    struct selection selection;
    struct frame_style style;
    struct stream stream;
    char *name; /* of the input */
};

/* ---- formats ---- */

static int put_sonde(struct job *job, struct err *err)
{
    struct writer_options options = {
        .sink = job->stream.sink, .context = job->stream.context, .compress = compress_zstd};
    struct writer *writer = writer_new(&options, err);
    if (!writer)
        return -1;
    writer_put_recording(writer, &job->recording);
    return writer_close(writer, err);
}

static int put_pstats(struct job *job, struct err *err)
{
    struct functions functions;
    if (functions_build(&job->recording, &job->selection, &functions, err) < 0)
        return -1;
    int result = pstats_writer_write(&job->recording, &functions, &job->stream.out, err);
    functions_clear(&functions);
    return result;
}

static int put_speedscope(struct job *job, struct err *err)
{
    if (!job->recording.samples_count && !job->recording.calls_count)
        return err_set(err,
                       "%s holds no stacks; a flame graph can be estimated from who called whom "
                       "(--format flamegraph)",
                       job->name);
    return speedscope_writer_write(&job->recording, &job->selection, &job->style, job->name, &job->stream,
                                   err);
}

static int put_chrome(struct job *job, struct err *err)
{
    return chrome_writer_write(&job->recording, &job->selection, &job->style, &job->stream, err);
}

/* Threads are kept apart when asked for, processes always: they are different programs. */
static int build_tree(struct job *job, struct tree *tree, struct err *err)
{
    bool processes = job->recording.processes_count > 2;
    if (owners_insert(&job->recording, processes, job->values->threads, err) < 0)
        return -1;
    job->selection.lines = frames_have_lines(&job->style);
    return tree_build(&job->recording, &job->selection, tree, err);
}

static int put_collapsed(struct job *job, struct err *err)
{
    struct tree tree;
    job->style.plain_names = true;
    if (build_tree(job, &tree, err) < 0)
        return -1;
    int result = collapsed_writer_write(&job->recording, &tree, &job->style, &job->stream, err);
    tree_clear(&tree);
    return result;
}

static const char *command_of(const struct recording *recording)
{
    const char *command = recording->processes_count > 1
                              ? recording_text(recording, recording->processes[1].command)
                              : recording_meta(recording, "command");
    return command && command[0] ? command : NULL;
}

static int put_flamegraph(struct job *job, struct err *err)
{
    struct tree tree;
    const char *command = command_of(&job->recording);
    struct flamegraph_options options = {.title = command ? command : job->name,
                                         .upward = job->values->upward};
    if (build_tree(job, &tree, err) < 0)
        return -1;
    int result = flamegraph_writer_write(&job->recording, &tree, &job->style, &options, &job->stream, err);
    tree_clear(&tree);
    return result;
}

struct format_row {
    const char *name;
    int (*put)(struct job *job, struct err *err);
    bool text;               /* may be shown on a terminal */
    const char *suffixes[4]; /* that name it, the first is usual; NULL-ended */
};

static const struct format_row format_rows[] = {
    {"chrome", put_chrome, true, {".trace.json", ".chrome.json", ".trace"}},
    {"chrometrace", put_chrome, true, {NULL}},
    {"speedscope", put_speedscope, true, {".speedscope.json", ".speedscope", ".json"}},
    {"flamegraph", put_flamegraph, true, {".svg"}},
    {"collapsed", put_collapsed, true, {".collapsed", ".folded", ".txt"}},
    {"raw", put_collapsed, true, {".raw"}},
    {"pstats", put_pstats, false, {".prof", ".pstats"}},
    {"sonde", put_sonde, false, {".sonde"}},
    {NULL},
};

/* py-spy's names among them. */
static const char *const format_choices[] = {"speedscope",  "flamegraph", "collapsed", "raw", "chrome",
                                             "chrometrace", "pstats",     "sonde",     NULL};

static bool has_suffix(const char *path, const char *suffix)
{
    size_t size = strlen(path), suffix_size = strlen(suffix);
    return size > suffix_size && strcmp(path + size - suffix_size, suffix) == 0;
}

static const struct format_row *format_by_suffix(const char *path)
{
    for (const struct format_row *row = format_rows; row->name; row++)
        for (int i = 0; i < 4 && row->suffixes[i]; i++)
            if (has_suffix(path, row->suffixes[i]))
                return row;
    return NULL;
}

static const struct format_row *choose_format(const struct values *values, struct err *err)
{
    const struct format_row *row = format_rows;
    if (!values->format) {
        row = values->output ? format_by_suffix(values->output) : NULL;
        if (!row)
            err_set(err,
                    "export must be told the format: --format speedscope, flamegraph, collapsed, chrome, "
                    "pstats or sonde");
        return row;
    }
    while (strcmp(row->name, values->format) != 0)
        row++;
    return row;
}

/* ---- the command ---- */

static int write_to(struct job *job, const struct format_row *format, const char *output, struct err *err)
{
    struct staged file = {0};
    if (staged_open(&file, output, err) < 0)
        return -1;
    job->stream.sink = staged_append;
    job->stream.context = &file;
    int result = format->put(job, err);
    if (result == 0)
        result = stream_finish(&job->stream, err);
    if (result == 0)
        return staged_commit(&file, err);
    staged_discard(&file);
    return -1;
}

static int export_one(struct job *job, int argc, char **argv, struct err *err)
{
    const struct values *values = job->values;
    const char *output = values->output ? values->output : "-";
    const struct format_row *format = choose_format(values, err);
    if (!format)
        return -1;
    if (strcmp(output, "-") == 0 && !format->text && isatty(STDOUT_FILENO))
        return err_set(err, "%s is not for a terminal; name a file with -o", format->name);
    if (input_read_all(argc, argv, &job->recording, &job->name, err) < 0)
        return -1;
    job->selection = (struct selection){.idle = values->idle, .gil = values->gil};
    job->style = (struct frame_style){
        .function = values->function, .no_lines = values->nolineno, .full_filenames = values->full_filenames};
    return write_to(job, format, output, err);
}

static int run(void *given, int argc, char **argv)
{
    struct job job = {.values = given};
    struct err err = {0};
    int result = export_one(&job, argc, argv, &err);
    stream_clear(&job.stream);
    recording_clear(&job.recording);
    free(job.name);
    return result < 0 ? message_fail(&err) : 0;
}

#define FIELD(name) offsetof(struct values, name)

static const struct option options[] = {
    {"format", 'f', OPTION_CHOICE, "FORMAT", FIELD(format), format_choices,
     "Otherwise the suffix of -o decides: .speedscope.json or .json, .svg, .collapsed, .trace.json, .prof, "
     ".sonde."},
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), NULL, "Write to FILE instead of standard output."},
    {"Which samples", .kind = OPTION_HEADING},
    {"idle", 'i', OPTION_FLAG, NULL, FIELD(idle), NULL, "Those of idle threads, too."},
    {"gil", 'g', OPTION_FLAG, NULL, FIELD(gil), NULL, "Only those of threads that held the GIL."},
    {"Frames", .kind = OPTION_HEADING},
    {"function", 'F', OPTION_FLAG, NULL, FIELD(function), NULL,
     "A function is one frame, at its first line, whatever line it was at."},
    {"nolineno", 0, OPTION_FLAG, NULL, FIELD(nolineno), NULL, "The same, and no line numbers are shown."},
    {"full-filenames", 0, OPTION_FLAG, NULL, FIELD(full_filenames), NULL,
     "Show paths as they were recorded, not shortened to the package."},
    {"threads", 't', OPTION_FLAG, NULL, FIELD(threads), NULL,
     "Keep threads apart in flame graphs and collapsed stacks; the other formats always do."},
    {"upward", 0, OPTION_FLAG, NULL, FIELD(upward), NULL,
     "Draw the flame graph from the bottom up, the program at the bottom."},
    {NULL},
};

const struct command command_export = {
    .name = "export",
    .group = "Convert",
    .summary = "Write a recording for other tools: speedscope, flame graph, Perfetto",
    .arguments = "[FILE]",
    .description =
        "Formats: speedscope (speedscope.app), flamegraph (an SVG that zooms and searches in a browser), "
        "collapsed or raw (one line for each stack, for flame graph tools), chrome (Perfetto, "
        "chrome://tracing), pstats (cProfile's), sonde.\n\n"
        "Samples keep their times in speedscope and chrome: all threads share one axis, and idle time is a "
        "gap. Traced calls are written as stacks weighted by their own time; they have no order in time, "
        "so there is no Chrome trace of them.",
    .examples = "sonde export -o profile.svg\ta flame graph of the newest recording\n"
                "sonde export run.sonde -o run.speedscope.json\tfor speedscope.app\n"
                "sonde export -f collapsed -F -t run.sonde\tstacks by function, threads apart\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
