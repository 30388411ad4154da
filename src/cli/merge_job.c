#include "cli/merge_job.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyse/functions.h"
#include "analyse/line_table.h"
#include "analyse/native_stacks.h"
#include "analyse/timeless.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/damage_note.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "export/lprof_writer.h"
#include "export/pstats_writer.h"
#include "store/compress.h"
#include "store/reader.h"
#include "store/rewrite.h"

#define TOTALS_REMARK                                                                                        \
    "merged with --totals: times, single calls, messages, regions and counters were left out"
#define PROGRESS_FILES 50 /* fewer are merged before anyone could read it */

int merge_job_begin(struct merge_job *job, const char *format, writer_sink *sink, void *context,
                    struct err *err)
{
    job->lines = strcmp(format, "lprof") == 0;
    if (job->lines || strcmp(format, "pstats") == 0)
        return 0;
    if (strcmp(format, "sonde") != 0)
        return err_set(err, "cannot merge into the format %s; use --format sonde, pstats or lprof", format);
    struct writer_options options = {.sink = sink, .context = context, .compress = compress_zstd};
    job->writer = writer_new(&options, err);
    return job->writer ? 0 : -1;
}

void merge_job_clear(struct merge_job *job)
{
    writer_abandon(job->writer);
    merge_clear(&job->sum);
    *job = (struct merge_job){0};
}

/* ---- one file ---- */

/* When the file was closed, by its own clocks. */
static void keep_clock(struct writer *writer, const struct recording *recording)
{
    const struct chunk_info *last =
        recording->chunks_count ? &recording->chunks[recording->chunks_count - 1] : NULL;
    writer_set_clock(writer, last ? last->clock_ns : 0, last ? last->real_ns : 0);
}

/* The stacks go to the sink at once. */
static int add_to_recording(struct merge_job *job, const struct recording *recording, const char *path,
                            struct err *err)
{
    char loss[DAMAGE_NOTE_BYTES];
    struct recording stacks = *recording;
    stacks.functions_count = stacks.edges_count = stacks.metas_count = 0;
    keep_clock(job->writer, recording);
    if (rewrite_recording(job->writer, &stacks, err) != 0 || writer_flush(job->writer) != 0)
        return writer_state(job->writer, err);
    if (damage_note_tell(recording, path, loss, sizeof loss) && /* the sum must not look whole */
        merge_add_note(&job->sum, NOTE_LOSS, loss, err) != 0)
        return -1;
    return merge_add_totals(&job->sum, recording, err);
}

static int add_to_lines(struct merge_job *job, const struct recording *recording, const char *path,
                        struct err *err)
{
    if (!recording->lines_count)
        message_warn("%s holds no line times and adds nothing", path);
    return merge_add_lines(&job->sum, recording, err);
}

static int add_to_profile(struct merge_job *job, const struct recording *recording, struct err *err)
{
    struct functions functions;
    if (functions_build(recording, &(struct selection){0}, &functions, err) != 0)
        return -1;
    int result = merge_add_functions(&job->sum, recording, &functions, err);
    functions_clear(&functions);
    return result;
}

static int add_recording(struct merge_job *job, struct recording *recording, const char *path,
                         struct err *err)
{
    if (job->writer) /* a .sonde file keeps the addresses */
        return add_to_recording(job, recording, path, err);
    if (damage_note_add(recording, path, err) != 0 || native_stacks_name(recording, false, err) != 0)
        return -1;
    return job->lines ? add_to_lines(job, recording, path, err) : add_to_profile(job, recording, err);
}

static int add_file(struct merge_job *job, const char *path, struct err *err)
{
    struct recording recording = {0};
    struct err unreadable = {0};
    if (input_read(path, &recording, &unreadable) != 0) {
        recording_clear(&recording);
        if (!job->keep_going)
            return err_set(err, "%s", unreadable.text);
        message_warn("left out: %s", unreadable.text);
        return 0;
    }
    int result = job->totals ? timeless_reduce(&recording, err) : 0;
    if (result == 0)
        result = add_recording(job, &recording, path, err);
    recording_clear(&recording);
    job->added += result == 0;
    return result;
}

int merge_job_add(struct merge_job *job, const struct input_paths *inputs, size_t first, size_t end,
                  struct err *err)
{
    size_t count = end - first;
    bool shown = count >= PROGRESS_FILES && progress_is_wanted();
    int result = 0;
    for (size_t i = first; i < end && result == 0; i++) {
        if (shown && (i - first) % (count / 100 + 1) == 0)
            progress_show_part("merging", i - first, count);
        result = add_file(job, inputs->items[i], err);
    }
    progress_wipe();
    return result;
}

/* ---- the end ---- */

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

static int finish_recording(struct merge_job *job, const struct recording *sum, struct err *err)
{
    writer_set_clock(job->writer, 0, 0);
    if (rewrite_recording(job->writer, sum, err) != 0)
        return -1;
    int result = writer_close(job->writer, err);
    job->writer = NULL;
    return result;
}

int merge_job_finish(struct merge_job *job, writer_sink *sink, void *context, struct err *err)
{
    struct recording sum = {0};
    struct bytes out = {0};
    if (job->added == 0)
        return err_set(err, "none of the inputs could be read; nothing was written");
    if (job->totals && merge_add_note(&job->sum, NOTE_REMARK, TOTALS_REMARK, err) != 0)
        return -1;
    int result = merge_take(&job->sum, &sum, err);
    if (result == 0 && job->writer)
        result = finish_recording(job, &sum, err);
    else if (result == 0)
        result = job->lines ? put_lines(&sum, &out, err) : put_functions(&sum, &out, err);
    if (result == 0 && out.size)
        result = sink(context, out.data, out.size, err);
    bytes_clear(&out);
    recording_clear(&sum);
    return result;
}

/* ---- parts ---- */

int merge_job_take_sum(struct merge_job *job, struct bytes *out, struct err *err)
{
    struct recording sum = {0};
    struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    struct writer *writer = writer_new(&options, err);
    int result = writer ? merge_take(&job->sum, &sum, err) : -1;
    if (result == 0)
        result = rewrite_recording(writer, &sum, err);
    if (result == 0)
        result = writer_close(writer, err);
    else
        writer_abandon(writer);
    recording_clear(&sum);
    return result;
}

int merge_job_add_sum(struct merge_job *job, const void *data, size_t size, struct err *err)
{
    struct recording sum = {0};
    int result = reader_read(data, size, "the sum of another process", &sum, err);
    for (uint32_t i = 0; i < sum.notes_count && result == 0; i++)
        result = merge_add_note(&job->sum, sum.notes[i].kind, recording_text(&sum, sum.notes[i].text), err);
    if (result == 0)
        result = merge_add_totals(&job->sum, &sum, err);
    recording_clear(&sum);
    return result;
}
