#include "cli/conversion.h"

#include <string.h>

#include "analyse/functions.h"
#include "analyse/line_table.h"
#include "analyse/native_stacks.h"
#include "analyse/owners.h"
#include "base/err.h"
#include "cli/damage_note.h"
#include "cli/staged.h"
#include "cli/staged_folder.h"
#include "export/caliper_writer.h"
#include "export/chrome_writer.h"
#include "export/collapsed_writer.h"
#include "export/flamegraph_writer.h"
#include "export/lprof_writer.h"
#include "export/mprof_writer.h"
#include "export/otf2_writer.h"
#include "export/page_writer.h"
#include "export/ppk_writer.h"
#include "export/pstats_writer.h"
#include "export/speedscope_writer.h"
#include "export/stream.h"
#include "export/tau_writer.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/rewrite.h"
#include "store/writer.h"

/* One conversion at work. */
struct job {
    const struct conversion *conversion;
    struct recording *recording;
    const char *name;
    struct selection selection;
    struct frame_style style;
    struct stream stream;
    struct staged_folder *folder; /* of a format that is many files */
};

struct conversion_format {
    const char *name;
    int (*put)(struct job *job, struct err *err);
    bool text;
    bool stacks;             /* it shows nothing else */
    bool folder;             /* it is a folder of files */
    const char *suffixes[4]; /* that name it, the usual one first; NULL-ended */
};

static int write_recording(const struct writer_options *options, const struct recording *recording,
                           struct err *err)
{
    struct writer *writer = writer_new(options, err);
    if (!writer)
        return -1;
    if (rewrite_recording(writer, recording, err) == 0)
        return writer_close(writer, err);
    writer_abandon(writer);
    return -1;
}

static int put_sonde(struct job *job, struct err *err)
{
    struct writer_options options = {
        .sink = job->stream.sink, .context = job->stream.context, .compress = compress_zstd};
    return write_recording(&options, job->recording, err);
}

/* The page carries the recording as a .sonde file, whatever it was read from. */
static int put_html(struct job *job, struct err *err)
{
    struct bytes bytes = {0};
    struct writer_options options = {.sink = writer_sink_bytes, .context = &bytes, .compress = compress_zstd};
    int result = write_recording(&options, job->recording, err);
    const struct page_writer_file file = {.name = job->name, .data = bytes.data, .size = bytes.size};
    if (result == 0)
        result = page_writer_write(&file, 1, &job->stream, err);
    bytes_clear(&bytes);
    return result;
}

static int put_pstats(struct job *job, struct err *err)
{
    struct functions functions;
    if (functions_build(job->recording, &job->selection, &functions, err) < 0)
        return -1;
    int result = pstats_writer_write(job->recording, &functions, &job->stream.out, err);
    functions_clear(&functions);
    return result;
}

static int refuse_without_lines(const struct job *job, struct err *err)
{
    struct bytes why = {0};
    line_table_explain(job->recording, &why);
    bytes_put_u8(&why, '\0');
    err_set(err, "%s: nothing for a .lprof file. %s", job->name, why.failed ? "" : (const char *)why.data);
    bytes_clear(&why);
    return -1;
}

static int put_lprof(struct job *job, struct err *err)
{
    struct line_table table;
    if (!job->recording->lines_count)
        return refuse_without_lines(job, err);
    if (line_table_build(job->recording, &job->selection, GROUP_FUNCTION, &table, err) < 0)
        return -1;
    int result = lprof_writer_write(job->recording, &table, &job->stream.out, err);
    line_table_clear(&table);
    return result;
}

/* Frames have a place of their own for the file here, so it is told whole. */
static int put_speedscope(struct job *job, struct err *err)
{
    job->style.full_filenames = true;
    if (!job->recording->samples_count && !job->recording->calls_count && !measure_has_memory(job->recording))
        return err_set(err,
                       "%s holds no stacks; a flame graph can be estimated from who called whom "
                       "(--format flamegraph)",
                       job->name);
    return speedscope_writer_write(job->recording, &job->selection, &job->style, job->name, &job->stream,
                                   err);
}

static int put_chrome(struct job *job, struct err *err)
{
    job->style.full_filenames = true;
    return chrome_writer_write(job->recording, &job->selection, &job->style, &job->stream, err);
}

/* Threads are kept apart when asked for, processes always: they are different programs. */
static int build_tree(struct job *job, struct tree *tree, struct err *err)
{
    bool processes = job->recording->processes_count > 2;
    if (owners_insert(job->recording, processes, job->conversion->threads, err) < 0)
        return -1;
    job->selection.lines = frames_have_lines(&job->style);
    return tree_build(job->recording, &job->selection, tree, err);
}

static int put_collapsed(struct job *job, struct err *err)
{
    struct tree tree;
    job->style.exact_names = true;
    if (build_tree(job, &tree, err) < 0)
        return -1;
    int result = collapsed_writer_write(job->recording, &tree, &job->style, &job->stream, err);
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
    const char *command = command_of(job->recording);
    struct flamegraph_options options = {.title = command ? command : job->name,
                                         .upward = job->conversion->upward};
    if (build_tree(job, &tree, err) < 0)
        return -1;
    int result = flamegraph_writer_write(job->recording, &tree, &job->style, &options, &job->stream, err);
    tree_clear(&tree);
    return result;
}

static int put_mprof(struct job *job, struct err *err)
{
    return mprof_writer_write(job->recording, job->name, &job->stream, err);
}

static int refuse_without_stacks(const struct job *job, struct err *err)
{
    if (job->recording->samples_count || job->recording->calls_count)
        return 0;
    return err_set(err, "%s holds no stacks, of which %s files are made", job->name,
                   job->conversion->format->name);
}

static int put_caliper(struct job *job, struct err *err)
{
    if (refuse_without_stacks(job, err) < 0)
        return -1;
    return caliper_writer_write(job->recording, &job->selection, &job->style, &job->stream, err);
}

static int add_file(void *context, const char *name, const struct bytes *text, struct err *err)
{
    return staged_folder_add(context, name, text->data, text->size, err);
}

static int put_tau(struct job *job, struct err *err)
{
    if (refuse_without_stacks(job, err) < 0)
        return -1;
    return tau_writer_write(job->recording, &job->selection, add_file, job->folder, err);
}

static int put_ppk(struct job *job, struct err *err)
{
    if (refuse_without_stacks(job, err) < 0)
        return -1;
    return ppk_writer_write(job->recording, &job->selection, &job->stream, err);
}

static int put_otf2(struct job *job, struct err *err)
{
    const struct recording *recording = job->recording;
    if (!recording->call_events_count && !recording->region_events_count && !recording->messages_count &&
        !recording->collectives_count)
        return err_set(err,
                       "%s has nothing with a begin and an end; record with sonde trace --timeline or --mpi",
                       job->name);
    return otf2_writer_write(recording, job->folder->temporary, err);
}

static const struct conversion_format formats_written[] = {
    {"caliper", put_caliper, true, true, false, {".cali.json", ".caliper.json"}},
    {"chrome", put_chrome, true, true, false, {".trace.json", ".chrome.json", ".trace"}},
    {"chrometrace", put_chrome, true, true, false, {".trace.json"}},
    {"speedscope", put_speedscope, true, true, false, {".speedscope.json", ".speedscope", ".json"}},
    {"flamegraph", put_flamegraph, true, true, false, {".svg"}},
    {"html", put_html, true, false, false, {".html", ".htm"}},
    {"collapsed", put_collapsed, true, true, false, {".collapsed", ".folded", ".txt"}},
    {"raw", put_collapsed, true, true, false, {".raw"}},
    {"pstats", put_pstats, false, false, false, {".prof", ".pstats"}},
    {"lprof", put_lprof, false, false, false, {".lprof"}},
    {"mprof", put_mprof, true, false, false, {".dat"}},
    {"ppk", put_ppk, false, true, false, {".ppk"}},
    {"tau", put_tau, false, true, true, {".tau"}},
    {"otf2", put_otf2, false, true, true, {".otf2"}},
    {"sonde", put_sonde, false, false, false, {".sonde"}},
    {NULL},
};

const char *const conversion_names[] = {
    "html",  "speedscope", "flamegraph", "collapsed", "raw", "chrome", "chrometrace", "pstats",
    "lprof", "mprof",      "caliper",    "tau",       "ppk", "otf2",   "sonde",       NULL};

static bool ends_with(const char *path, size_t size, const char *suffix)
{
    size_t suffix_size = strlen(suffix);
    return size > suffix_size && strncmp(path + size - suffix_size, suffix, suffix_size) == 0;
}

/* Also before the number of a rank: "s.lprof12"; of a folder also before a slash. */
static bool has_suffix(const char *path, const char *suffix)
{
    size_t size = strlen(path);
    while (size && path[size - 1] == '/')
        size--;
    if (ends_with(path, size, suffix))
        return true;
    while (size && path[size - 1] >= '0' && path[size - 1] <= '9')
        size--;
    return ends_with(path, size, suffix);
}

static bool names(const struct conversion_format *format, const char *path)
{
    for (int i = 0; i < 4 && format->suffixes[i]; i++)
        if (has_suffix(path, format->suffixes[i]))
            return true;
    return false;
}

const struct conversion_format *conversion_find(const char *name, const char *path)
{
    for (const struct conversion_format *format = formats_written; format->name; format++)
        if (name ? strcmp(format->name, name) == 0 : path && names(format, path))
            return format;
    return NULL;
}

const char *conversion_suffix(const struct conversion_format *format)
{
    return format->suffixes[0];
}

bool conversion_can_be_read(const struct conversion_format *format)
{
    return format->put == put_sonde || format->put == put_pstats || format->put == put_lprof ||
           format->put == put_mprof || format->put == put_tau || format->put == put_ppk;
}

bool conversion_is_text(const struct conversion_format *format)
{
    return format->text;
}

/* Whether the format says nothing but times. */
static bool needs_time(const struct conversion_format *format)
{
    return format->put == put_pstats || format->put == put_chrome || format->put == put_lprof ||
           format->put == put_caliper || format->put == put_tau || format->put == put_ppk;
}

static int put_to(struct job *job, struct staged *file, struct err *err)
{
    job->stream.sink = staged_append;
    job->stream.context = file;
    int result = job->conversion->format->put(job, err);
    if (result == 0)
        result = stream_finish(&job->stream, err);
    stream_clear(&job->stream);
    return result;
}

static int write_file(struct job *job, const char *path, struct err *err)
{
    struct staged file = {0};
    if (staged_open(&file, path, err) < 0)
        return -1;
    if (put_to(job, &file, err) == 0)
        return staged_commit(&file, err);
    staged_discard(&file);
    return -1;
}

static int write_folder(struct job *job, const char *path, struct err *err)
{
    struct staged_folder folder = {0};
    if (staged_folder_open(&folder, path, err) < 0)
        return -1;
    job->folder = &folder;
    if (job->conversion->format->put(job, err) == 0)
        return staged_folder_commit(&folder, err);
    staged_folder_discard(&folder);
    return -1;
}

int conversion_write(const struct conversion *conversion, struct recording *recording, const char *name,
                     const char *path, struct err *err)
{
    struct job job = {.conversion = conversion,
                      .recording = recording,
                      .name = name,
                      .selection = conversion->selection,
                      .style = conversion->frames};
    if (damage_note_add(recording, name, err) < 0)
        return -1;
    /* A .sonde file keeps the addresses, so that they can still be named. */
    if (conversion->format->put != put_sonde && native_stacks_name(recording, conversion->internals, err) < 0)
        return -1;
    if (selection_options_narrow(&conversion->part, recording, err) < 0)
        return -1;
    bool needs = needs_time(conversion->format);
    if (needs && job.selection.measure == MEASURE_NATURAL && measure_is_offered(recording, MEASURE_TIME))
        job.selection.measure = MEASURE_TIME;
    if (needs && measure_is_memory(measure_of(recording, &job.selection)))
        return err_set(err,
                       "%s is about memory, which %s files cannot say; --format flamegraph, speedscope and "
                       "collapsed can",
                       name, conversion->format->name);
    if (conversion->format->stacks && functions_are_of_lines(recording))
        return err_set(
            err, "%s holds line times and no stacks; 'sonde report' prints them, --format html shows them",
            name);
    return conversion->format->folder ? write_folder(&job, path, err) : write_file(&job, path, err);
}
