#include "export/mprof_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/region_stack.h"
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

static void put_region(struct document *document, const struct region_event_row *begin,
                       const struct region_event_row *end, uint32_t level)
{
    struct bytes *out = &document->stream->out;
    bytes_put_text(out, "FUNC ");
    put_name(document, document->recording->regions[begin->region].name);
    bytes_putf(out, " %.4f", (double)begin->value / MIB);
    put_time(document, begin->time_ns);
    bytes_putf(out, " %.4f", (double)end->value / MIB);
    put_time(document, end->time_ns);
    bytes_putf(out, " %u\n", level);
    stream_drain(document->stream);
}

/* Events are by thread, then time; a region that was not ended when its thread's events are over is left out. */
static int put_regions(struct document *document, struct err *err)
{
    const struct recording *recording = document->recording;
    const struct region_event_row *rows = recording->region_events;
    struct region_stack stack;
    if (region_stack_init(&stack, recording, err) < 0)
        return -1;
    for (uint32_t i = 0; i < recording->region_events_count; i++) {
        if (i && rows[i].thread != rows[i - 1].thread)
            stack.depth = 0;
        uint32_t place = rows[i].region ? REGION_STACK_NONE : region_stack_find(&stack, i);
        if (rows[i].region)
            region_stack_begin(&stack, i);
        if (place == REGION_STACK_NONE)
            continue;
        put_region(document, &rows[stack.open[place]], &rows[i], place);
        region_stack_remove(&stack, place);
    }
    region_stack_clear(&stack);
    return 0;
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
    return put_regions(&document, err);
}
