#include "export/speedscope_writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/timeline.h"
#include "analyse/weights.h"
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
    enum measure measure;
    uint32_t *stack;       /* room for the deepest: frames, leaf first */
    struct weight *stacks; /* that have no order in time */
    uint32_t stack_count, stack_capacity;
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
    json_begin_row(json);
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
static void keep_weight(struct document *document, uint64_t weight)
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
    document->weights[document->weight_count++] = weight;
}

static void put_stack(struct document *document, uint32_t node, uint64_t weight)
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
    keep_weight(document, weight);
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
    static const char *const units[] = {"nanoseconds", "bytes", "none"};
    struct json *json = &document->json;
    document->weight_count = 0;
    json_begin_row(json);
    json_key(json, "type");
    json_string(json, "sampled");
    put_thread_name(document, thread);
    json_key(json, "unit");
    json_string(json, units[measure_unit(document->measure)]);
    json_key(json, "startValue");
    json_unsigned(json, 0);
    json_key(json, "samples");
    json_begin_array(json);
}

static void end_profile(struct document *document, uint64_t end)
{
    struct json *json = &document->json;
    json_end_array(json);
    json_begin_list(json, "weights");
    for (uint32_t i = 0; i < document->weight_count; i++) {
        json_unsigned(json, document->weights[i]);
        stream_drain(document->stream);
    }
    json_end_array(json);
    json_line(json);
    json_key(json, "endValue");
    json_unsigned(json, end);
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

static int keep_stack(struct document *document, const struct weight *weight)
{
    if (document->stack_count == document->stack_capacity) {
        uint32_t capacity = document->stack_capacity * 2 + 1024;
        struct weight *stacks = realloc(document->stacks, capacity * sizeof *stacks);
        if (!stacks)
            return -1;
        document->stacks = stacks;
        document->stack_capacity = capacity;
    }
    document->stacks[document->stack_count++] = *weight;
    return 0;
}

static void take_weight(const struct weight *weight, void *context)
{
    struct document *document = context;
    bool counts = weight->node || measure_is_memory(document->measure);
    if (counts && weight->amount && keep_stack(document, weight) < 0)
        document->failed = true;
}

static int by_thread_and_node(const void *left, const void *right)
{
    const struct weight *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Sums have no order in time: a thread's stacks stand by node, parents before their callees. */
static uint32_t put_sums(struct document *document, uint32_t first)
{
    uint32_t thread = document->stacks[first].thread, at = first;
    uint64_t end = 0;
    begin_profile(document, thread);
    for (; at < document->stack_count && document->stacks[at].thread == thread; at++) {
        put_stack(document, document->stacks[at].node, document->stacks[at].amount);
        end += document->stacks[at].amount;
    }
    end_profile(document, end);
    return at;
}

static void put_all_sums(struct document *document)
{
    struct err err = {0};
    if (weights_each(document->recording, document->selection, take_weight, document, &err) < 0)
        document->failed = true;
    if (document->stack_count)
        qsort(document->stacks, document->stack_count, sizeof *document->stacks, by_thread_and_node);
    for (uint32_t i = 0; i < document->stack_count && !document->failed;)
        i = put_sums(document, i);
}

static void put_profiles(struct document *document)
{
    const struct recording *recording = document->recording;
    json_begin_list(&document->json, "profiles");
    if (measure_is_of_samples(recording, document->measure)) {
        document->axis = timeline_axis(recording);
        for (uint32_t i = 0; i < recording->threads_count; i++)
            put_timeline(document, i);
    } else {
        put_all_sums(document);
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
                                .measure = measure_of(recording, selection),
                                .stream = stream,
                                .json = {.out = &stream->out}};
    if (frames_build(recording, style, &document.frames, err) < 0)
        return -1;
    document.stack = malloc(((size_t)recording->nodes_count + 1) * sizeof *document.stack);
    document.failed = !document.stack;
    if (!document.failed)
        put_document(&document, name);
    free(document.stack);
    free(document.stacks);
    free(document.weights);
    frames_clear(&document.frames);
    return document.failed ? err_set(err, "not enough memory for the speedscope file") : 0;
}
