#include "collect/recorder/drain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/arena.h"
#include "collect/recorder/call_drain.h"
#include "collect/recorder/drain_node.h"
#include "collect/recorder/line_drain.h"
#include "store/writer.h"

struct drain {
    struct arena_view view;
    struct writer *writer;
    uint32_t process;
    uint32_t *codes; /* the file's ids, by arena row */
    uint32_t code_count, code_capacity;
    uint8_t *code_flags; /* as written */
    uint32_t *threads;
    uint32_t thread_count, thread_capacity;
    struct drain_node *nodes;
    uint32_t node_count, node_capacity;
    struct line_drain lines;
    struct call_drain log;
    uint64_t senseless_rows;
    uint64_t calls; /* written so far */
    bool out_of_memory;
};

struct drain *drain_new(const struct arena *arena, uint64_t bytes, struct writer *writer, uint32_t process)
{
    struct arena_view view;
    struct drain *drain = arena_look(&view, arena, bytes) ? calloc(1, sizeof *drain) : NULL;
    if (drain)
        *drain = (struct drain){.view = view, .writer = writer, .process = process};
    return drain;
}

void drain_free(struct drain *drain)
{
    if (!drain)
        return;
    free(drain->codes);
    free(drain->code_flags);
    free(drain->threads);
    free(drain->nodes);
    line_drain_clear(&drain->lines);
    call_drain_clear(&drain->log);
    free(drain);
}

/* Room for `count` rows; false, for good, when memory ran out. */
static bool make_room(struct drain *drain, void **rows, uint32_t *capacity, uint32_t count, size_t row_bytes)
{
    if (count <= *capacity)
        return true;
    uint32_t larger = count + count / 2 + 64;
    void *grown = drain->out_of_memory ? NULL : realloc(*rows, (size_t)larger * row_bytes);
    if (!grown) {
        drain->out_of_memory = true;
        return false;
    }
    *rows = grown;
    *capacity = larger;
    return true;
}

static uint32_t copy_text(struct drain *drain, uint32_t text)
{
    uint32_t size;
    const char *bytes = arena_text(&drain->view, text, &size);
    return bytes ? writer_string(drain->writer, bytes, size) : 0;
}

static struct code read_code(struct drain *drain, uint32_t i)
{
    const struct arena_code row = arena_read_code(&drain->view, i);
    return (struct code){
        .name = copy_text(drain, row.name),
        .qualname = copy_text(drain, row.qualname),
        .file = copy_text(drain, row.file),
        .module = copy_text(drain, row.module),
        .line = row.line,
        .kind = row.kind,
        .flags = row.flags,
    };
}

static void step_codes(struct drain *drain)
{
    uint32_t count = arena_code_count(&drain->view), capacity = drain->code_capacity;
    if (!make_room(drain, (void **)&drain->codes, &drain->code_capacity, count, sizeof *drain->codes) ||
        !make_room(drain, (void **)&drain->code_flags, &capacity, count, 1))
        return;
    for (uint32_t i = drain->code_count; i < count; i++) {
        struct code code = read_code(drain, i);
        drain->codes[i] = i ? writer_code(drain->writer, &code) : 0;
        drain->code_flags[i] = code.flags;
    }
    for (uint32_t i = 1; i < drain->code_count; i++) {
        if (drain->code_flags[i] == __atomic_load_n(&drain->view.codes[i].flags, __ATOMIC_RELAXED))
            continue;
        struct code code = read_code(drain, i);
        writer_update_code(drain->writer, drain->codes[i], &code);
        drain->code_flags[i] = code.flags;
    }
    drain->code_count = count;
}

static uint64_t moment(const struct clock_rate *rate, uint64_t ticks)
{
    return ticks ? clock_to_ns(rate, ticks) : 0;
}

static void step_threads(struct drain *drain, const struct clock_rate *rate)
{
    uint32_t count = arena_thread_count(&drain->view);
    enum writer_collector collector = drain->view.limits.lines ? WRITER_LINES : WRITER_CALLS;
    if (!make_room(drain, (void **)&drain->threads, &drain->thread_capacity, count, sizeof *drain->threads))
        return;
    for (uint32_t i = drain->thread_count; i < count; i++) {
        const struct arena_thread row = arena_read_thread(&drain->view, i);
        struct thread thread = {
            .process = drain->process,
            .name = copy_text(drain, row.name),
            .tid = row.tid,
            .start_ns = moment(rate, row.start_ticks),
        };
        drain->threads[i] = i ? writer_met_thread(drain->writer, collector, &thread) : 0;
    }
    drain->thread_count = count;
}

/* Of the two nodes without code that a thread has, the other (the sink) always hangs on some node. The node
 * comes before the thread's row, so the row cannot be asked. */
static bool is_root(const struct arena_node *node)
{
    return node->code == 0 && node->parent == 0;
}

static struct drain_node map_node(struct drain *drain, uint32_t i)
{
    const struct arena_node row = arena_read_node(&drain->view, i);
    if (row.code == 0)
        return (struct drain_node){.id = is_root(&row) ? 0 : DRAIN_NODE_SENSELESS};
    if (row.parent >= i || row.code >= drain->code_count ||
        drain->nodes[row.parent].id == DRAIN_NODE_SENSELESS) {
        drain->senseless_rows++;
        return (struct drain_node){.id = DRAIN_NODE_SENSELESS};
    }
    const struct node node = {.parent = drain->nodes[row.parent].id, .code = drain->codes[row.code]};
    return (struct drain_node){.id = writer_node(drain->writer, &node), .parent = row.parent};
}

static void step_nodes(struct drain *drain, uint32_t count)
{
    if (!make_room(drain, (void **)&drain->nodes, &drain->node_capacity, count, sizeof *drain->nodes))
        return;
    for (uint32_t i = drain->node_count; i < count; i++)
        drain->nodes[i] = i ? map_node(drain, i) : (struct drain_node){.id = DRAIN_NODE_SENSELESS};
    drain->node_count = count;
}

/* Rounds the total, not the difference, so that steps add up to what one step would have written. */
static void write_node(struct drain *drain, const struct clock_rate *rate, uint32_t i, uint64_t calls,
                       uint64_t self_ticks)
{
    struct drain_node *node = &drain->nodes[i];
    uint32_t thread = __atomic_load_n(&drain->view.nodes[i].thread, __ATOMIC_RELAXED);
    uint64_t self_ns = clock_span_ns(rate, self_ticks);
    if (node->id == DRAIN_NODE_SENSELESS || node->id == 0 || thread >= drain->thread_count)
        return;
    uint64_t more_calls = calls > node->calls ? calls - node->calls : 0;
    uint64_t more_ns = self_ns > node->self_ns ? self_ns - node->self_ns : 0;
    if (!more_calls && !more_ns)
        return;
    const struct call_row row = {
        .thread = drain->threads[thread], .node = node->id, .calls = more_calls, .self_ns = more_ns};
    writer_calls(drain->writer, drain->process, &row);
    drain->calls += more_calls;
    node->calls += more_calls;
    node->self_ns += more_ns;
}

/* Time in a thread's sink belongs to the node that it hangs on at this moment. */
static uint64_t *sink_shares(struct drain *drain)
{
    uint64_t *shares = NULL;
    for (uint32_t i = 1; i < drain->node_count; i++) {
        if (__atomic_load_n(&drain->view.nodes[i].code, __ATOMIC_RELAXED) != 0)
            continue;
        const struct arena_node row = arena_read_node(&drain->view, i);
        if (!row.self_ticks || is_root(&row))
            continue;
        if (!shares)
            shares = calloc(drain->node_count, sizeof *shares);
        if (shares && row.parent < drain->node_count)
            shares[row.parent] += row.self_ticks;
    }
    return shares;
}

static void step_calls(struct drain *drain, const struct clock_rate *rate)
{
    const struct arena_node *rows = drain->view.nodes;
    uint64_t *shares = sink_shares(drain);
    for (uint32_t i = 1; i < drain->node_count; i++)
        write_node(drain, rate, i, __atomic_load_n(&rows[i].calls, __ATOMIC_RELAXED),
                   __atomic_load_n(&rows[i].self_ticks, __ATOMIC_RELAXED) + (shares ? shares[i] : 0));
    free(shares);
}

static struct clock_rate own_rate(const struct arena *arena, const struct clock_rate *rate)
{
    double ns_per_tick;
    __atomic_load(&arena->ns_per_tick, &ns_per_tick, __ATOMIC_RELAXED);
    if (!(ns_per_tick > 0) || !isfinite(ns_per_tick))
        return *rate;
    struct clock_pair start = {.ticks = arena->start_ticks, .ns = arena->start_ns};
    return (struct clock_rate){.origin = start, .ns_per_tick = ns_per_tick};
}

static struct line_drain_ids line_ids(const struct drain *drain)
{
    return (struct line_drain_ids){
        .view = &drain->view,
        .writer = drain->writer,
        .process = drain->process,
        .codes = drain->codes,
        .threads = drain->threads,
        .code_count = drain->code_count,
        .thread_count = drain->thread_count,
    };
}

static struct call_drain_ids call_ids(const struct drain *drain)
{
    return (struct call_drain_ids){
        .view = &drain->view,
        .writer = drain->writer,
        .nodes = drain->nodes,
        .threads = drain->threads,
        .node_count = drain->node_count,
        .thread_count = drain->thread_count,
    };
}

bool drain_has_log(const struct drain *drain)
{
    return drain->view.log != NULL;
}

bool drain_step_log(struct drain *drain, const struct clock_rate *rate)
{
    struct clock_rate used = own_rate(drain->view.arena, rate);
    /* The target goes on: counted first, words name only nodes that are there when nodes are counted, and these only
     * codes likewise. */
    uint64_t reach = call_drain_reach(&drain->view);
    uint32_t node_count = arena_node_count(&drain->view);
    step_codes(drain);
    step_threads(drain, &used);
    step_nodes(drain, node_count);
    if (drain->out_of_memory)
        return false;
    struct call_drain_ids ids = call_ids(drain);
    return call_drain_step(&drain->log, &ids, &used, reach);
}

void drain_step(struct drain *drain, const struct clock_rate *rate)
{
    struct clock_rate used = own_rate(drain->view.arena, rate);
    drain_step_log(drain, rate);
    if (drain->out_of_memory)
        return;
    step_calls(drain, &used);
    struct line_drain_ids ids = line_ids(drain);
    line_drain_step(&drain->lines, &ids, &used);
}

/* Functions that were running when their process ended: the time since the thread's last event is theirs. */
static void close_open_calls(struct drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    for (uint32_t i = 1; i < drain->thread_count; i++) {
        const struct arena_thread thread = arena_read_thread(&drain->view, i);
        uint64_t until = thread.end_ticks ? thread.end_ticks : end_ticks;
        uint32_t current = thread.current;
        if (current >= drain->node_count || current == thread.root || until <= thread.last_ticks)
            continue;
        struct arena_node node = arena_read_node(&drain->view, current);
        if (node.code == 0 && node.parent < drain->node_count) {
            current = node.parent;
            node = arena_read_node(&drain->view, current);
        }
        write_node(drain, rate, current, node.calls, node.self_ticks + (until - thread.last_ticks));
    }
}

static void end_threads(struct drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    for (uint32_t i = 1; i < drain->thread_count; i++) {
        const struct arena_thread row = arena_read_thread(&drain->view, i);
        struct thread thread = {
            .process = drain->process,
            .name = copy_text(drain, row.name),
            .tid = row.tid,
            .start_ns = moment(rate, row.start_ticks),
            .end_ns = moment(rate, row.end_ticks ? row.end_ticks : end_ticks),
        };
        writer_update_thread(drain->writer, drain->threads[i], &thread);
    }
}

static void note(struct drain *drain, enum note_kind kind, uint64_t count, const char *text)
{
    if (!count)
        return;
    const struct note row = {.process = drain->process,
                             .kind = kind,
                             .count = count,
                             .text = writer_string(drain->writer, text, strlen(text))};
    writer_note(drain->writer, &row);
}

static void note_log(void *drain, uint64_t count, bool is_loss, const char *text)
{
    note(drain, is_loss ? NOTE_LOSS : NOTE_REMARK, count, text);
}

static void note_losses(struct drain *drain)
{
    const struct arena *arena = drain->view.arena;
    note(
        drain, NOTE_LOSS, arena->lost_calls,
        "calls counted as part of their caller because the call tree was full (--max-size raises the limit)");
    note(drain, NOTE_LOSS, arena->lost_threads,
         "threads not recorded because there were too many (--max-size raises the limit)");
    note(drain, NOTE_WARNING, arena->merged_threads,
         "so many threads ran that later ones are counted together with earlier ones that had ended");
    note(drain, NOTE_LOSS, arena->lost_lines, "calls whose lines were not timed because a table was full");
    note(drain, NOTE_LOSS, drain->senseless_rows + drain->lines.senseless_rows,
         "rows passed over because the program overwrote the recorder's memory");
    note(drain, NOTE_WARNING, drain->out_of_memory || drain->lines.out_of_memory,
         "the recorder ran out of memory: later calls and lines are missing");
    call_drain_tell(&drain->log, &drain->view, note_log, drain);
}

static void note_remark(struct drain *drain)
{
    uint32_t size;
    const char *text = arena_text(&drain->view, drain->view.arena->remark, &size);
    if (!text || !size)
        return;
    const struct note row = {.process = drain->process,
                             .kind = NOTE_WARNING,
                             .count = 1,
                             .text = writer_string(drain->writer, text, size)};
    writer_note(drain->writer, &row);
}

/* Functions that samples have found are timed only since then. */
static void note_late(struct drain *drain, const struct clock_rate *rate)
{
    char text[1024] = "lines are timed since samples had found their functions:";
    size_t used = strlen(text);
    uint32_t count = drain->view.arena->request_count ? arena_line_block_count(&drain->view) : 0;
    for (uint32_t i = 1; i < count && used < sizeof text - 64; i++) {
        const struct arena_line_block block = arena_read_line_block(&drain->view, i);
        if (block.code >= drain->code_count)
            continue;
        const struct arena_code code = arena_read_code(&drain->view, block.code);
        uint64_t since_ns = clock_to_ns(rate, block.since_ticks), start_ns = drain->view.arena->start_ns;
        uint32_t size;
        const char *name = arena_text(&drain->view, code.name, &size);
        int put = snprintf(text + used, sizeof text - used, "%s %.*s since %.2f s", i > 1 ? "," : "",
                           name ? (int)size : 0, name ? name : "",
                           since_ns > start_ns ? (double)(since_ns - start_ns) / 1e9 : 0.0);
        used += put > 0 ? (size_t)put : 0;
    }
    note(drain, NOTE_REMARK, count > 1, text);
}

static void note_throttled(struct drain *drain)
{
    for (uint32_t i = 1; i < drain->code_count; i++) {
        const struct arena_code row = arena_read_code(&drain->view, i);
        if (!(row.flags & CODE_THROTTLED))
            continue;
        uint32_t name_size, file_size;
        const char *name = arena_text(&drain->view, row.qualname, &name_size);
        const char *file = arena_text(&drain->view, row.file, &file_size);
        char text[1024];
        snprintf(text, sizeof text, "%.*s (%.*s:%" PRIu32 ") was switched off after so many short calls",
                 name ? (int)name_size : 0, name ? name : "", file ? (int)file_size : 0, file ? file : "",
                 row.line);
        note(drain, NOTE_THROTTLED, row.calls, text);
    }
}

void drain_finish(struct drain *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    drain_step(drain, rate);
    if (drain->out_of_memory) {
        note_losses(drain);
        return;
    }
    struct clock_rate used = own_rate(drain->view.arena, rate);
    close_open_calls(drain, &used, end_ticks);
    struct line_drain_ids ids = line_ids(drain);
    line_drain_finish(&drain->lines, &ids, &used, end_ticks);
    struct call_drain_ids calls = call_ids(drain);
    call_drain_finish(&drain->log, &calls, &used, end_ticks);
    end_threads(drain, &used, end_ticks);
    note_losses(drain);
    note_remark(drain);
    note_throttled(drain);
    note_late(drain, &used);
}

uint64_t drain_calls(const struct drain *drain)
{
    return drain->calls;
}

uint64_t drain_hits(const struct drain *drain)
{
    return drain->lines.hits + drain->lines.memory.hits;
}

uint64_t drain_memory_bytes(const struct drain *drain)
{
    const struct arena *arena = drain->view.arena;
    return sizeof *arena + (uint64_t)arena_thread_count(&drain->view) * sizeof(struct arena_thread) +
           (uint64_t)arena_code_count(&drain->view) * sizeof(struct arena_code) +
           (uint64_t)arena_node_count(&drain->view) * sizeof(struct arena_node) + arena->text_used +
           (uint64_t)arena->line_count * sizeof(struct arena_line) + arena->kept_bytes;
}

uint64_t drain_targets_found(const struct drain *drain)
{
    return drain->view.arena->targets_found;
}
