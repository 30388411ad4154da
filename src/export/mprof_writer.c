#include "export/mprof_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/region_walk.h"
#include "analyse/series.h"
#include "base/err.h"
#include "export/stream.h"
#include "store/recording.h"

#define MIB 1048576.0

struct document {
    const struct recording *recording;
    struct stream *stream;
    uint64_t epoch_ns; /* real time of the clock's zero */
};

static void put_time(struct document *document, uint64_t time_ns)
{
    uint64_t real_ns = document->epoch_ns + time_ns;
    bytes_putf(&document->stream->out, " %" PRIu64 ".%04" PRIu64, real_ns / 1000000000u,
               real_ns % 1000000000u / 100000u);
}

static void put_series(struct document *document, uint32_t counter, bool is_main)
{
    const struct series series = series_of(document->recording, counter);
    uint64_t pid = document->recording->processes[document->recording->counters[counter].process].pid;
    struct bytes *out = &document->stream->out;
    for (uint32_t i = 0; i < series.count; i++) {
        if (is_main)
            bytes_put_text(out, "MEM");
        else
            bytes_putf(out, "CHLD %" PRIu64, pid);
        bytes_putf(out, " %.6f", (double)series.rows[i].value / MIB);
        put_time(document, series.rows[i].time_ns);
        bytes_put_u8(out, '\n');
        stream_drain(document->stream);
    }
}

/* A name of one word: in a FUNC line a blank ends it. */
static void put_name(struct document *document, uint32_t string)
{
    const char *text = recording_text(document->recording, string);
    size_t size = strings_size(&document->recording->strings, string);
    for (size_t i = 0; i < size; i++)
        bytes_put_u8(&document->stream->out, (uint8_t)text[i] <= ' ' ? '_' : (uint8_t)text[i]);
    if (!size)
        bytes_put_u8(&document->stream->out, '_');
}

/* A region that was not ended is left out: the file has no words for it. */
static void put_region(const struct region_span *span, void *context)
{
    struct document *document = context;
    struct bytes *out = &document->stream->out;
    if (!span->ended)
        return;
    bytes_put_text(out, "FUNC ");
    put_name(document, document->recording->regions[span->region].name);
    bytes_putf(out, " %.4f", (double)span->begin_value / MIB);
    put_time(document, span->begin_ns);
    bytes_putf(out, " %.4f", (double)span->end_value / MIB);
    put_time(document, span->end_ns);
    bytes_putf(out, " %u\n", span->level);
    stream_drain(document->stream);
}

static void put_all_series(struct document *document, const char *name)
{
    const struct recording *recording = document->recording;
    bool is_main = true;
    for (uint32_t i = 1; i < recording->counters_count; i++) {
        if (strcmp(recording_text(recording, recording->counters[i].name), name) != 0)
            continue;
        put_series(document, i, is_main);
        is_main = false;
    }
}

/* One line, whatever it holds. */
static void put_command(struct document *document)
{
    const char *command = recording_meta(document->recording, "command");
    bytes_put_text(&document->stream->out, "CMDLINE ");
    for (const char *at = command ? command : ""; *at; at++)
        bytes_put_u8(&document->stream->out, *at == '\n' || *at == '\r' ? ' ' : (uint8_t)*at);
    bytes_put_u8(&document->stream->out, '\n');
}

int mprof_writer_write(const struct recording *recording, const char *name, struct stream *stream,
                       struct err *err)
{
    const char *memory = series_memory_name(recording), *epoch = recording_meta(recording, "epoch_ns");
    struct document document = {
        .recording = recording, .stream = stream, .epoch_ns = epoch ? strtoull(epoch, NULL, 10) : 0};
    if (!memory)
        return err_set(err, "%s holds no memory over time; 'sonde mem --rss' records it", name);
    put_command(&document);
    put_all_series(&document, memory);
    return region_walk_each(recording, 0, 0, put_region, &document, err);
}
