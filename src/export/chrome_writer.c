#include "export/chrome_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/region_walk.h"
#include "analyse/series.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "base/json.h"
#include "base/map.h"
#include "export/frames.h"
#include "export/stream.h"
#include "store/call_events.h"
#include "store/recording.h"

#define PID_STEP 4194304

/* A function on the stack, and since when. */
struct open_call {
    uint32_t node;
    uint64_t start_ns;
};

struct trace {
    const struct recording *recording;
    const struct frame_style *style;
    struct frames frames;
    struct bytes words; /* of all frames */
    size_t *words_at;   /* by frame: where its words begin; those of the next, where they end */
    struct timeline_axis axis;
    struct stream *stream;
    struct json json;
    struct open_call *open; /* root first */
    uint32_t depth;
    uint32_t *stack; /* the nodes of the next span, leaf first */
    uint64_t *pids;  /* by process, as shown */
    struct map seen_pids;
    uint64_t pid, tid;
    const struct selection *selection;
    uint64_t regions; /* put so far */
    struct bytes name;
    bool failed;
};

/* Microseconds with their nanoseconds: as a double they would lose digits. */
static void put_time(struct json *json, const char *key, uint64_t ns)
{
    json_key(json, key);
    json_unsigned(json, ns / 1000);
    if (ns % 1000) {
        const char digits[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10),
                                (char)('0' + ns % 10)};
        bytes_put(json->out, digits, sizeof digits);
    }
}

static void begin_event(struct trace *trace, const char *phase)
{
    struct json *json = &trace->json;
    json_begin_row(json);
    json_put_string(json, "ph", phase);
    json_put_unsigned(json, "pid", trace->pid);
    json_put_unsigned(json, "tid", trace->tid);
}

/* What every event of a frame says in the same words: made once, copied a million times. */
static void make_words(struct trace *trace, const struct frame *frame)
{
    struct json json = {.out = &trace->words, .comma = true};
    const char *file = frames_file(trace->recording, trace->style, frame->code);
    bytes_reset(&trace->name);
    frames_put_name(trace->recording, trace->style, frame->code, &trace->name);
    json_key(&json, "name");
    json_text(&json, (const char *)trace->name.data, trace->name.size);
    json_put_string(&json, "cat", "sonde");
    if (!file[0])
        return;
    json_key(&json, "args");
    json_begin_object(&json);
    json_put_string(&json, "filename", file);
    if (frame->line)
        json_put_unsigned(&json, "line", frame->line);
    json_end_object(&json);
}

static void make_all_words(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->frames.count; i++) {
        trace->words_at[i] = trace->words.size;
        make_words(trace, &trace->frames.rows[i]);
    }
    trace->words_at[trace->frames.count] = trace->words.size;
}

static void put_call(struct trace *trace, const struct open_call *call, uint64_t end_ns)
{
    struct json *json = &trace->json;
    uint32_t frame = trace->frames.of_node[call->node];
    size_t words_at = trace->words_at[frame];
    begin_event(trace, "X");
    put_time(json, "ts", call->start_ns - trace->axis.begin_ns);
    put_time(json, "dur", end_ns - call->start_ns);
    bytes_put(json->out, trace->words.data + words_at, trace->words_at[frame + 1] - words_at);
    json_end_object(json);
    stream_drain(trace->stream);
}

/* Callers first: of events with the same times, the first in the file is taken for the outer one. */
static void close_calls(struct trace *trace, uint32_t kept, uint64_t end_ns)
{
    for (uint32_t i = kept; i < trace->depth; i++)
        put_call(trace, &trace->open[i], end_ns);
    trace->depth = kept < trace->depth ? kept : trace->depth;
}

static bool is_same(const struct trace *trace, uint32_t a, uint32_t b)
{
    return trace->recording->nodes[a].code == trace->recording->nodes[b].code;
}

static void put_span(struct trace *trace, const struct span *span)
{
    uint32_t depth = 0, same = 0;
    for (uint32_t node = span->node == TIMELINE_GAP ? 0 : span->node; node;
         node = trace->recording->nodes[node].parent)
        trace->stack[depth++] = node;
    while (same < depth && same < trace->depth &&
           is_same(trace, trace->stack[depth - 1 - same], trace->open[same].node))
        same++;
    close_calls(trace, same, span->start_ns);
    for (; trace->depth < depth; trace->depth++)
        trace->open[trace->depth] =
            (struct open_call){trace->stack[depth - 1 - trace->depth], span->start_ns};
}

static void put_metadata(struct trace *trace, const char *what, const char *text)
{
    struct json *json = &trace->json;
    begin_event(trace, "M");
    json_put_string(json, "name", what);
    json_key(json, "args");
    json_begin_object(json);
    json_put_string(json, "name", text);
    json_end_object(json);
    json_end_object(json);
}

/* Processes of several hosts may have one pid; Linux has none from PID_STEP on. */
static uint64_t shown_pid(struct trace *trace, uint32_t id)
{
    uint64_t pid = trace->recording->processes[id].pid;
    if (map_get(&trace->seen_pids, pid) != MAP_NONE)
        pid += (uint64_t)id * PID_STEP;
    trace->failed |= !map_set(&trace->seen_pids, pid, id);
    return pid;
}

static void put_process(struct trace *trace, uint32_t id)
{
    const struct process *process = &trace->recording->processes[id];
    const char *command = recording_text(trace->recording, process->command);
    struct bytes text = {0};
    if (process->rank != UINT32_MAX)
        bytes_putf(&text, "rank %u: ", process->rank);
    bytes_put_text(&text, command[0] ? command : "python");
    bytes_put_u8(&text, '\0');
    trace->pid = trace->tid = trace->pids[id] = shown_pid(trace, id);
    if (!text.failed)
        put_metadata(trace, "process_name", (const char *)text.data);
    bytes_clear(&text);
}

static void put_spans(struct trace *trace, const struct selection *selection, uint32_t thread)
{
    struct timeline timeline;
    struct span span;
    timeline_begin(&timeline, trace->recording, selection, NULL, trace->axis, thread);
    while (timeline_next(&timeline, &span))
        put_span(trace, &span);
    close_calls(trace, 0, trace->axis.end_ns);
}

/* A line is named by its place, and drawn in its call. */
static void put_line(struct trace *trace, const struct call_event_row *row)
{
    struct json *json = &trace->json;
    uint32_t code = trace->recording->nodes[row->node].code;
    const char *file = frames_file(trace->recording, trace->style, code);
    begin_event(trace, "X");
    put_time(json, "ts", row->start_ns - trace->axis.begin_ns);
    put_time(json, "dur", row->end_ns - row->start_ns);
    bytes_reset(&trace->name);
    bytes_putf(&trace->name, "line %u", row->line);
    json_key(json, "name");
    json_text(json, (const char *)trace->name.data, trace->name.size);
    json_put_string(json, "cat", "line");
    json_key(json, "args");
    json_begin_object(json);
    json_put_string(json, "filename", file);
    json_put_unsigned(json, "line", row->line);
    json_end_object(json);
    json_end_object(json);
    stream_drain(trace->stream);
}

static void put_calls(struct trace *trace, const struct selection *selection, uint32_t thread)
{
    uint64_t begin_ns = selection ? selection->begin_ns : 0;
    uint64_t end_ns = selection && selection->end_ns ? selection->end_ns : UINT64_MAX;
    uint32_t first, end;
    call_events_of(trace->recording, thread, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const struct call_event_row *row = &trace->recording->call_events[i];
        if (row->end_ns <= begin_ns || row->start_ns >= end_ns || !row->node)
            continue;
        if (row->line)
            put_line(trace, row);
        else
            put_call(trace, &(struct open_call){row->node, row->start_ns}, row->end_ns);
    }
}

static void put_thread(struct trace *trace, const struct selection *selection, uint32_t id)
{
    const struct thread *thread = &trace->recording->threads[id];
    const char *name = recording_text(trace->recording, thread->name);
    if (!tree_selection_has(selection, trace->recording, id))
        return;
    trace->pid = trace->pids[thread->process];
    trace->tid = thread->tid;
    if (name[0])
        put_metadata(trace, "thread_name", name);
    if (trace->recording->call_events_count)
        put_calls(trace, selection, id);
    else
        put_spans(trace, selection, id);
}

/* ---- what the program told of itself ---- */

/* Counters begin before the first sample. */
static uint64_t since_start(const struct trace *trace, uint64_t ns)
{
    return ns > trace->axis.begin_ns ? ns - trace->axis.begin_ns : 0;
}

static void choose_thread(struct trace *trace, uint32_t id)
{
    const struct thread *thread = &trace->recording->threads[id];
    trace->pid = trace->pids[thread->process];
    trace->tid = thread->tid;
}

static void put_recorded_name(struct trace *trace, const char *key, uint32_t string)
{
    json_key(&trace->json, key);
    json_text(&trace->json, recording_text(trace->recording, string),
              strings_size(&trace->recording->strings, string));
}

static void put_region_end(struct trace *trace, const struct region_span *span, const char *phase,
                           uint64_t ns)
{
    struct json *json = &trace->json;
    begin_event(trace, phase);
    json_put_string(json, "cat", "region");
    json_put_unsigned(json, "id", trace->regions);
    put_recorded_name(trace, "name", trace->recording->regions[span->region].name);
    put_time(json, "ts", ns);
    json_end_object(json);
}

/* As pairs with an id: regions of tasks overlap without one being in the other. */
static void put_region(const struct region_span *span, void *context)
{
    struct trace *trace = context;
    if (!tree_selection_has(trace->selection, trace->recording, span->thread))
        return;
    choose_thread(trace, span->thread);
    trace->regions++;
    put_region_end(trace, span, "b", since_start(trace, span->begin_ns));
    put_region_end(trace, span, "e", since_start(trace, span->end_ns));
    stream_drain(trace->stream);
}

static void put_marks(struct trace *trace)
{
    struct json *json = &trace->json;
    for (uint32_t i = 0; i < trace->recording->marks_count; i++) {
        const struct mark_row *mark = &trace->recording->marks[i];
        if (!tree_selection_has(trace->selection, trace->recording, mark->thread))
            continue;
        choose_thread(trace, mark->thread);
        begin_event(trace, "i");
        json_put_string(json, "s", "t");
        put_recorded_name(trace, "name", mark->name);
        put_time(json, "ts", since_start(trace, mark->time_ns));
        json_key(json, "args");
        json_begin_object(json);
        put_recorded_name(trace, "text", mark->text);
        json_end_object(json);
        json_end_object(json);
        stream_drain(trace->stream);
    }
}

static void put_counter(struct trace *trace, uint32_t id)
{
    const struct counter *counter = &trace->recording->counters[id];
    struct series series = series_of(trace->recording, id);
    struct json *json = &trace->json;
    trace->pid = trace->tid = counter->process ? trace->pids[counter->process] : 0;
    for (uint32_t i = 0; i < series_piece_count(&series); i++) {
        struct series_piece piece = series_piece_at(&series, i);
        begin_event(trace, "C");
        put_recorded_name(trace, "name", counter->name);
        put_time(json, "ts", since_start(trace, piece.begin_ns));
        json_key(json, "args");
        json_begin_object(json);
        json_key(json, "value");
        json_real(json, piece.value);
        json_end_object(json);
        json_end_object(json);
        stream_drain(trace->stream);
    }
}

static int put_told(struct trace *trace, struct err *err)
{
    put_marks(trace);
    for (uint32_t i = 1; i < trace->recording->counters_count; i++)
        put_counter(trace, i);
    return region_walk_each(trace->recording, 0, trace->axis.end_ns, put_region, trace, err);
}

static int put_trace(struct trace *trace, const struct selection *selection, struct err *err)
{
    struct json *json = &trace->json;
    json_begin_object(json);
    json_key(json, "traceEvents");
    json_begin_array(json);
    for (uint32_t i = 1; i < trace->recording->processes_count; i++)
        put_process(trace, i);
    for (uint32_t i = 0; i < trace->recording->threads_count; i++)
        put_thread(trace, selection, i);
    int result = put_told(trace, err);
    json_end_array(json);
    json_line(json);
    json_put_string(json, "displayTimeUnit", "ms");
    json_key(json, "otherData");
    json_begin_object(json);
    json_put_string(json, "exporter", "sonde@" SONDE_VERSION);
    json_end_object(json);
    json_end_object(json);
    bytes_put_u8(json->out, '\n');
    return result;
}

static int make_room(struct trace *trace)
{
    size_t nodes = (size_t)trace->recording->nodes_count + 1;
    trace->open = malloc(nodes * sizeof *trace->open);
    trace->stack = malloc(nodes * sizeof *trace->stack);
    trace->pids = calloc((size_t)trace->recording->processes_count + 1, sizeof *trace->pids);
    trace->words_at = calloc((size_t)trace->frames.count + 1, sizeof *trace->words_at);
    return trace->open && trace->stack && trace->pids && trace->words_at ? 0 : -1;
}

static void trace_clear(struct trace *trace)
{
    free(trace->open);
    free(trace->stack);
    free(trace->pids);
    free(trace->words_at);
    map_clear(&trace->seen_pids);
    frames_clear(&trace->frames);
    bytes_clear(&trace->words);
    bytes_clear(&trace->name);
}

int chrome_writer_write(const struct recording *recording, const struct selection *selection,
                        const struct frame_style *style, struct stream *stream, struct err *err)
{
    if (!recording->samples_count && !recording->call_events_count)
        return err_set(
            err, "a Chrome trace needs samples, with their times, or single calls (sonde trace --timeline); "
                 "this recording has only totals of calls: use --format speedscope or flamegraph");
    struct trace trace = {.recording = recording,
                          .style = style,
                          .selection = selection,
                          .axis = timeline_axis(recording),
                          .stream = stream};
    trace.json.out = &stream->out;
    if (frames_build(recording, style, &trace.frames, err) < 0)
        return -1;
    trace.failed = make_room(&trace) < 0;
    if (!trace.failed)
        make_all_words(&trace);
    trace.failed |= trace.words.failed || trace.name.failed;
    int result = trace.failed ? 0 : put_trace(&trace, selection, err);
    bool failed = trace.failed;
    trace_clear(&trace);
    if (result < 0)
        return -1;
    return failed ? err_set(err, "not enough memory for the trace") : 0;
}
