#include "export/speedscope_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/timeline.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "base/json.h"
#include "export/frames.h"
#include "export/stream.h"
#include "store/recording.h"

struct document {
    const struct recording *recording;
    const struct selection *selection;
    const struct frame_style *style;
    struct frames frames;
    struct timeline_axis axis;
    struct stream *stream;
    struct json json;
    uint32_t *stack; /* room for the deepest: frames, leaf first */
    uint64_t *weights;
    uint32_t weight_count, weight_capacity;
    bool failed; /* memory ran out */
};

static void put_frame(struct document *document, const struct frame *frame)
{
    struct json *json = &document->json;
    struct bytes name = {0};
    const char *file = frames_file(document->recording, document->style, frame->code);
    frames_put_name(document->recording, document->style, frame->code, &name);
    document->failed |= name.failed;
    json_line(json);
    json_begin_object(json);
    json_key(json, "name");
    json_text(json, (const char *)name.data, name.size);
    if (file[0]) {
        json_key(json, "file");
        json_string(json, file);
    }
    if (file[0] && frame->line) {
        json_key(json, "line");
        json_unsigned(json, frame->line);
    }
    json_end_object(json);
    bytes_clear(&name);
    stream_drain(document->stream);
}

static void put_frames(struct document *document)
{
    struct json *json = &document->json;
    json_line(json);
    json_key(json, "shared");
    json_begin_object(json);
    json_key(json, "frames");
    json_begin_array(json);
    for (uint32_t i = 0; i < document->frames.count; i++)
        put_frame(document, &document->frames.rows[i]);
    json_end_array(json);
    json_end_object(json);
}

/* Weights stand after all samples in the file, so they are kept meanwhile. */
static void keep_weight(struct document *document, uint64_t weight_ns)
{
    if (document->weight_count == document->weight_capacity) {
        uint32_t capacity = document->weight_capacity * 2 + 1024;
        uint64_t *weights = realloc(document->weights, capacity * sizeof *weights);
        if (!weights) {
            document->failed = true;
            return;
        }
        document->weights = weights;
        document->weight_capacity = capacity;
    }
    document->weights[document->weight_count++] = weight_ns;
}

static void put_stack(struct document *document, uint32_t node, uint64_t weight_ns)
{
    struct json *json = &document->json;
    uint32_t depth = 0;
    for (; node; node = document->recording->nodes[node].parent)
        document->stack[depth++] = document->frames.of_node[node];
    json_line(json);
    json_begin_array(json);
    while (depth--)
        json_unsigned(json, document->stack[depth]);
    json_end_array(json);
    keep_weight(document, weight_ns);
    stream_drain(document->stream);
}

static void put_thread_name(struct document *document, uint32_t id)
{
    const struct recording *recording = document->recording;
    const struct thread *thread = &recording->threads[id];
    const char *name = recording_text(recording, thread->name);
    struct bytes text = {0};
    if (thread->process && recording->processes[thread->process].rank != UINT32_MAX)
        bytes_putf(&text, "rank %u, ", recording->processes[thread->process].rank);
    if (recording->processes_count > 2)
        bytes_putf(&text, "process %" PRIu64 ", ", recording->processes[thread->process].pid);
    bytes_putf(&text, name[0] ? "%s (%" PRIu64 ")" : "%sthread %" PRIu64, name, thread->tid);
    json_key(&document->json, "name");
    json_text(&document->json, (const char *)text.data, text.size);
    document->failed |= text.failed;
    bytes_clear(&text);
}

static void begin_profile(struct document *document, uint32_t thread)
{
    struct json *json = &document->json;
    document->weight_count = 0;
    json_line(json);
    json_begin_object(json);
    json_key(json, "type");
    json_string(json, "sampled");
    put_thread_name(document, thread);
    json_key(json, "unit");
    json_string(json, "nanoseconds");
    json_key(json, "startValue");
    json_unsigned(json, 0);
    json_key(json, "samples");
    json_begin_array(json);
}

static void end_profile(struct document *document, uint64_t end_ns)
{
    struct json *json = &document->json;
    json_end_array(json);
    json_line(json);
    json_key(json, "weights");
    json_begin_array(json);
    for (uint32_t i = 0; i < document->weight_count; i++) {
        json_unsigned(json, document->weights[i]);
        stream_drain(document->stream);
    }
    json_end_array(json);
    json_line(json);
    json_key(json, "endValue");
    json_unsigned(json, end_ns);
    json_end_object(json);
}

/* Whether the thread has anything to show. */
static bool has_samples(const struct document *document, uint32_t thread)
{
    uint32_t first, end;
    timeline_rows(document->recording, thread, &first, &end);
    for (uint32_t i = first; i < end; i++)
        if (tree_selection_has_sample(document->selection, document->recording,
                                      &document->recording->samples[i]))
            return true;
    return false;
}

static void put_timeline(struct document *document, uint32_t thread)
{
    struct timeline timeline;
    struct span span;
    if (!has_samples(document, thread))
        return;
    begin_profile(document, thread);
    timeline_begin(&timeline, document->recording, document->selection, document->frames.stack_of,
                   document->axis, thread);
    while (timeline_next(&timeline, &span))
        put_stack(document, span.node == TIMELINE_GAP ? 0 : span.node, span.end_ns - span.start_ns);
    end_profile(document, document->axis.end_ns - document->axis.begin_ns);
}

/* Rows of one thread are neighbours, by node: parents come before their callees. */
static uint32_t put_calls(struct document *document, uint32_t first)
{
    const struct recording *recording = document->recording;
    uint32_t thread = recording->calls[first].thread, at = first;
    uint64_t end_ns = 0;
    bool shown = tree_selection_has(document->selection, recording, thread);
    if (shown)
        begin_profile(document, thread);
    for (; at < recording->calls_count && recording->calls[at].thread == thread; at++) {
        const struct call_row *row = &recording->calls[at];
        if (!shown || !row->self_ns)
            continue;
        put_stack(document, row->node, row->self_ns);
        end_ns += row->self_ns;
    }
    if (shown)
        end_profile(document, end_ns);
    return at;
}

static void put_profiles(struct document *document)
{
    const struct recording *recording = document->recording;
    json_line(&document->json);
    json_key(&document->json, "profiles");
    json_begin_array(&document->json);
    if (tree_is_sampled(recording)) {
        document->axis = timeline_axis(recording);
        for (uint32_t i = 0; i < recording->threads_count; i++)
            put_timeline(document, i);
    } else {
        for (uint32_t i = 0; i < recording->calls_count;)
            i = put_calls(document, i);
    }
    json_end_array(&document->json);
}

static void put_document(struct document *document, const char *name)
{
    struct json *json = &document->json;
    json_begin_object(json);
    json_key(json, "$schema");
    json_string(json, "https://www.speedscope.app/file-format-schema.json");
    json_key(json, "exporter");
    json_string(json, "sonde@" SONDE_VERSION);
    if (name) {
        json_key(json, "name");
        json_string(json, name);
    }
    put_frames(document);
    put_profiles(document);
    json_line(json);
    json_end_object(json);
    bytes_put_u8(json->out, '\n');
}

int speedscope_writer_write(const struct recording *recording, const struct selection *selection,
                            const struct frame_style *style, const char *name, struct stream *stream,
                            struct err *err)
{
    struct document document = {.recording = recording,
                                .selection = selection,
                                .style = style,
                                .stream = stream,
                                .json = {.out = &stream->out}};
    if (frames_build(recording, style, &document.frames, err) < 0)
        return -1;
    document.stack = malloc(((size_t)recording->nodes_count + 1) * sizeof *document.stack);
    document.failed = !document.stack;
    if (!document.failed)
        put_document(&document, name);
    free(document.stack);
    free(document.weights);
    frames_clear(&document.frames);
    return document.failed ? err_set(err, "not enough memory for the speedscope file") : 0;
}
