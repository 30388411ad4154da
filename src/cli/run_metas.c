#include "cli/run_metas.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "cli/line_targets_option.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/redact.h"
#include "cli/run.h"
#include "cli/run_ranks.h"
#include "cli/target.h"
#include "collect/recorder/recorder.h"
#include "store/recording.h"
#include "store/writer.h"

/* ---- at its beginning ---- */

/* What the clock's zero was in real time: files of other tools count from 1970. */
static void describe_clock(struct writer *writer)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, clock_real_ns() - clock_monotonic_ns());
    writer_meta(writer, "epoch_ns", text);
}

static void describe_heap(struct writer *writer, uint64_t sample_bytes)
{
    char bytes[32];
    snprintf(bytes, sizeof bytes, "%" PRIu64, sample_bytes);
    writer_meta(writer, "heap", sample_bytes ? "sampled" : "exact");
    if (sample_bytes)
        writer_meta(writer, "heap_sample_bytes", bytes);
}

void run_metas_begin(struct writer *writer, const struct run_metas *metas)
{
    const struct run_options *options = metas->options;
    char *command = redact_words((int)metas->target->count, metas->target->argv);
    char started[64], folder[4096];
    time_t now = time(NULL);
    struct tm local;
    strftime(started, sizeof started, "%Y-%m-%dT%H:%M:%S%z", localtime_r(&now, &local));
    writer_meta(writer, "mode", options->mode);
    writer_meta(writer, "sonde", SONDE_VERSION);
    writer_meta(writer, "command", command ? command : "");
    writer_meta(writer, "started", started);
    writer_meta(writer, "host", metas->context->host);
    writer_meta(writer, "run_id", metas->context->run_id);
    run_ranks_describe(metas->ranks, writer);
    describe_clock(writer);
    if (options->line_targets && options->line_targets[0])
        writer_meta(writer, "line_targets", options->line_targets);
    if (options->heap)
        describe_heap(writer, options->heap_sample_bytes);
    if (getcwd(folder, sizeof folder))
        writer_meta(writer, "folder", folder);
    free(command);
}

/* ---- at its end ---- */

/* A name that was mistyped is told, also where others were not. */
static void note_missing_targets(struct writer *writer, const struct option_list *functions,
                                 const struct recorder_result *recorded)
{
    struct bytes names = {0}, text = {0};
    if (functions && recorded->processes)
        line_targets_option_put_missing(functions, recorded->targets_found, &names);
    if (names.size)
        bytes_putf(&text, "of what -f names, this was never called: %.*s", (int)names.size, names.data);
    if (text.size && !text.failed) {
        uint32_t words = writer_string(writer, (char *)text.data, text.size);
        writer_note(writer, &(struct note){.kind = NOTE_WARNING, .count = 1, .text = words});
    }
    bytes_clear(&names);
    bytes_clear(&text);
}

static void note_missing_marks(struct writer *writer, const struct recorder_result *recorded)
{
    struct bytes text = {0};
    uint32_t missing = mark_rows_put_missing(&recorded->marks, writer_known(writer), &text);
    if (missing && !text.failed) {
        uint32_t words = writer_string(writer, (char *)text.data, text.size);
        writer_note(writer, &(struct note){.kind = NOTE_REMARK, .count = missing, .text = words});
        message_note("%.*s", (int)text.size, (char *)text.data);
    }
    bytes_clear(&text);
}

void run_metas_end(struct writer *writer, const struct run_options *options,
                   const struct recorder_result *recorded)
{
    note_missing_targets(writer, options->line_functions, recorded);
    note_missing_marks(writer, recorded);
}
