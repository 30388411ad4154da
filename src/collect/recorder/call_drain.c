#include "collect/recorder/call_drain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "collect/agent/arena.h"
#include "collect/recorder/drain_node.h"
#include "store/writer.h"

#define DEPTH_MAX (1u << 24)

struct call_drain_thread {
    struct open_call {
        uint32_t node; /* row in the arena */
        uint32_t line; /* that it is in; 0 = not known */
        uint64_t start_ns, line_start_ns;
        bool is_written, line_is_written;
        bool is_needed, line_is_needed; /* what lies in it is on the timeline */
    } * open;                           /* outermost first */
    uint32_t depth, capacity;
    uint64_t last_ns;
};

static bool make_room(struct call_drain *drain, void **rows, uint32_t *capacity, uint32_t count,
                      size_t row_bytes)
{
    if (count <= *capacity)
        return true;
    uint32_t larger = count + count / 2 + 64;
    char *grown = count > DEPTH_MAX ? NULL : realloc(*rows, larger * row_bytes);
    if (!grown) {
        drain->out_of_memory = true;
        return false;
    }
    for (char *at = grown + *capacity * row_bytes; at < grown + larger * row_bytes; at++)
        *at = 0;
    *rows = grown;
    *capacity = larger;
    return true;
}

/* ---- time ---- */

static uint64_t tell_time(const struct call_drain *drain, uint64_t ticks)
{
    double passed_ns = (double)(int64_t)(ticks - drain->known.ticks) * drain->ns_per_tick;
    return drain->known.ns + (uint64_t)(int64_t)floor(passed_ns);
}

/* What is known of the clock's rate gets better. The clock is not set, but runs a little faster or slower from here on,
 * until it shows what it should. */
static void tune(struct call_drain *drain, const struct clock_rate *rate)
{
    const double most = 1e-4, second_ns = 1e9;
    if (!drain->known.ticks)
        drain->known = rate->origin;
    else if (drain->ticks > drain->known.ticks)
        drain->known = (struct clock_pair){.ticks = drain->ticks, .ns = tell_time(drain, drain->ticks)};
    double behind_ns = (double)(int64_t)(clock_to_ns(rate, drain->known.ticks) - drain->known.ns);
    drain->ns_per_tick = rate->ns_per_tick * (1 + fmax(-most, fmin(most, behind_ns / second_ns)));
}

/* ---- calls and lines ---- */

static struct call_drain_counts *counts_of(struct call_drain *drain, const struct call_event_row *row)
{
    return row->line ? &drain->lines : &drain->calls;
}

static struct call_event_row event_of(const struct call_drain_ids *ids, uint32_t thread,
                                      const struct open_call *call, uint64_t now_ns)
{
    return (struct call_event_row){.start_ns = call->start_ns,
                                   .end_ns = now_ns > call->start_ns ? now_ns : call->start_ns,
                                   .thread = ids->threads[thread],
                                   .node = ids->nodes[call->node].id};
}

static struct call_event_row event_of_line(const struct call_drain_ids *ids, uint32_t thread,
                                           const struct open_call *call, uint64_t now_ns)
{
    struct call_event_row event = event_of(ids, thread, call, now_ns);
    event.start_ns = call->line_start_ns;
    event.line = call->line;
    return event;
}

static void close_one(struct call_drain *drain, const struct call_drain_ids *ids,
                      const struct call_event_row *event)
{
    bool lasts = event->end_ns > event->start_ns;
    if (lasts)
        writer_call_event(ids->writer, event);
    drain->written += lasts;
    counts_of(drain, event)->cut += lasts;
    counts_of(drain, event)->late += !lasts;
}

static void close_thread(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t thread,
                         uint64_t now_ns)
{
    struct call_drain_thread *row = &drain->threads[thread];
    for (uint32_t i = row->depth; i-- > 0;) {
        const struct call_event_row line = event_of_line(ids, thread, &row->open[i], now_ns);
        const struct call_event_row call = event_of(ids, thread, &row->open[i], now_ns);
        if (line.line)
            close_one(drain, ids, &line);
        close_one(drain, ids, &call);
        row->open[i].is_written = row->open[i].line_is_written = true;
    }
}

/* What goes on when no more is taken ends there, as far as the timeline goes. */
static void close_all(struct call_drain *drain, const struct call_drain_ids *ids)
{
    struct arena_log *log = ids->view->log;
    uint64_t now_ns = tell_time(drain, drain->ticks);
    drain->is_closed = true;
    drain->calls.lost_before_closed = __atomic_load_n(&log->lost_calls, __ATOMIC_RELAXED);
    drain->lines.lost_before_closed = __atomic_load_n(&log->lost_lines, __ATOMIC_RELAXED);
    __atomic_store_n(&log->closed, 1, __ATOMIC_RELAXED);
    for (uint32_t thread = 1; thread < ids->thread_count && thread < drain->thread_capacity; thread++)
        close_thread(drain, ids, thread, now_ns);
}

/* Of what may be used half is for all calls, half of the rest for those over a microsecond, and so on by tens. */
static void look_at_size(struct call_drain *drain, const struct call_drain_ids *ids)
{
    struct arena_log *log = ids->view->log;
    uint64_t size = log->size_bytes, used = writer_event_bytes(ids->writer);
    if (!size || log->keeps_last || drain->is_closed)
        return;
    if (used >= size) {
        close_all(drain, ids);
        return;
    }
    uint64_t thin_ns = 0;
    for (uint64_t left = size / 2; size - used < left && thin_ns < 1000000000u; left /= 2)
        thin_ns = thin_ns ? thin_ns * 10 : 1000;
    drain->thin_ns = thin_ns > drain->thin_ns ? thin_ns : drain->thin_ns;
}

/* Whether it is on the timeline. One that is needed is not too short for it. */
static bool put(struct call_drain *drain, const struct call_drain_ids *ids, const struct call_event_row *row,
                bool is_needed)
{
    bool is_short = row->end_ns - row->start_ns < drain->thin_ns && !is_needed;
    counts_of(drain, row)->thinned += is_short;
    counts_of(drain, row)->late += !is_short && drain->is_closed;
    if (is_short || drain->is_closed)
        return false;
    if (ids->view->log->keeps_last) {
        drain->out_of_memory |= !call_keep_add(&drain->keep, row);
        return true;
    }
    writer_call_event(ids->writer, row);
    if (++drain->written % 4096 == 0)
        look_at_size(drain, ids);
    return true;
}

static void leave_line(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t thread,
                       struct open_call *call, uint64_t now_ns)
{
    const struct call_event_row event = event_of_line(ids, thread, call, now_ns);
    bool is_due = event.line && !call->line_is_written, is_needed = call->line_is_needed;
    call->line = 0;
    call->line_is_written = call->line_is_needed = false;
    if (is_due)
        call->is_needed |= put(drain, ids, &event, is_needed);
}

static void leave(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t thread,
                  uint64_t now_ns)
{
    struct call_drain_thread *row = &drain->threads[thread];
    struct open_call *call = &row->open[row->depth - 1];
    const struct call_event_row event = event_of(ids, thread, call, now_ns);
    leave_line(drain, ids, thread, call, now_ns);
    row->depth--;
    if (!call->is_written && put(drain, ids, &event, call->is_needed) && row->depth)
        call[-1].is_needed = call[-1].line_is_needed = true;
}

static void enter(struct call_drain *drain, uint32_t thread, uint32_t node, uint64_t now_ns)
{
    struct call_drain_thread *row = &drain->threads[thread];
    if (!make_room(drain, (void **)&row->open, &row->capacity, row->depth + 1, sizeof *row->open))
        return;
    row->open[row->depth++] = (struct open_call){.node = node, .start_ns = now_ns};
    drain->begun += drain->how == CALL_DRAIN_BEGUN;
    drain->carried += drain->how == CALL_DRAIN_CARRIED;
    drain->found += drain->how == CALL_DRAIN_FOUND;
}

static bool is_root(const struct call_drain_ids *ids, uint32_t node)
{
    return ids->nodes[node].id == 0;
}

/* The node and those above it but for the root, innermost first. */
static uint32_t find_path(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t node)
{
    uint32_t depth = 0;
    for (; !is_root(ids, node); node = ids->nodes[node].parent) {
        if (!make_room(drain, (void **)&drain->path, &drain->path_capacity, depth + 1, sizeof *drain->path))
            return 0;
        drain->path[depth++] = node;
    }
    return depth;
}

/* How many of the open calls are on the path. */
static uint32_t find_common(const struct call_drain *drain, const struct call_drain_thread *row,
                            uint32_t depth)
{
    uint32_t common = 0;
    while (common < depth && common < row->depth && row->open[common].node == drain->path[depth - 1 - common])
        common++;
    return common;
}

static void go_far(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t thread, uint32_t node,
                   uint64_t now_ns)
{
    struct call_drain_thread *row = &drain->threads[thread];
    uint32_t depth = find_path(drain, ids, node), common = find_common(drain, row, depth);
    while (row->depth > common)
        leave(drain, ids, thread, now_ns);
    for (uint32_t i = common; i < depth; i++)
        enter(drain, thread, drain->path[depth - 1 - i], now_ns);
}

static void go_to(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t node, uint64_t now_ns)
{
    struct call_drain_thread *row = &drain->threads[drain->thread];
    uint32_t current = row->depth ? row->open[row->depth - 1].node : 0;
    row->last_ns = now_ns = now_ns > row->last_ns ? now_ns : row->last_ns;
    if (row->depth && ids->nodes[current].parent == node)
        leave(drain, ids, drain->thread, now_ns);
    else if (row->depth && ids->nodes[node].parent == current)
        enter(drain, drain->thread, node, now_ns);
    else if (!row->depth || current != node)
        go_far(drain, ids, drain->thread, node, now_ns);
}

/* False when the thread is in no call. */
static bool begin_line(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t line,
                       uint64_t now_ns)
{
    struct call_drain_thread *row = &drain->threads[drain->thread];
    if (!row->depth)
        return false;
    struct open_call *call = &row->open[row->depth - 1];
    row->last_ns = now_ns = now_ns > row->last_ns ? now_ns : row->last_ns;
    leave_line(drain, ids, drain->thread, call, now_ns);
    call->line = line;
    call->line_start_ns = now_ns;
    return true;
}

/* A line that was not told of may have followed the one that is known. */
static void cut_line(struct call_drain *drain, const struct call_drain_ids *ids,
                     struct call_drain_thread *row)
{
    struct open_call *call = &row->open[row->depth - 1];
    bool is_open = call->line && !call->line_is_written, has_lasted = call->line_start_ns < row->last_ns;
    drain->lines.cut += is_open && has_lasted;
    drain->lines.unseen += is_open && !has_lasted;
    call->line_is_written |= !has_lasted;
    leave_line(drain, ids, drain->thread, call, row->last_ns);
}

/* Calls that ended unseen end where they were last seen, unless they had only just begun; those that began unseen will
 * begin with the next word. */
static void take_gap(struct call_drain *drain, const struct call_drain_ids *ids, uint32_t floor)
{
    struct call_drain_thread *row = &drain->threads[drain->thread];
    uint32_t common = find_common(drain, row, find_path(drain, ids, floor));
    while (row->depth > common && row->open[row->depth - 1].start_ns >= row->last_ns) {
        const struct open_call *call = &row->open[--row->depth];
        drain->calls.unseen += !call->is_written;
        drain->lines.unseen += call->line && !call->line_is_written;
    }
    for (; row->depth > common; leave(drain, ids, drain->thread, row->last_ns)) {
        cut_line(drain, ids, row);
        drain->calls.cut++;
    }
    if (row->depth)
        cut_line(drain, ids, row);
    drain->how = CALL_DRAIN_FOUND;
}

/* ---- words ---- */

static uint64_t time_of(struct call_drain *drain, uint64_t low)
{
    const uint64_t span = (uint64_t)1 << ARENA_LOG_TIME_BITS;
    uint64_t high = drain->has_time ? drain->next_ticks : drain->ticks;
    uint64_t ticks = (high & ~(span - 1)) | low;
    if (!drain->has_time && ticks < drain->ticks)
        ticks += span;
    drain->has_time = false;
    drain->ticks = ticks;
    return tell_time(drain, ticks);
}

static bool is_sound(const struct call_drain_ids *ids, uint64_t node)
{
    return node && node < ids->node_count && ids->nodes[node].id != DRAIN_NODE_SENSELESS;
}

static void take_word(struct call_drain *drain, const struct call_drain_ids *ids, uint64_t word)
{
    uint32_t node = word & ((1u << ARENA_LOG_NODE_BITS) - 1);
    uint64_t above = word >> ARENA_LOG_NODE_BITS;
    bool sound = true;
    if (node >= ARENA_LOG_LINE && node < ARENA_LOG_THREAD) {
        sound = drain->thread && begin_line(drain, ids, node - ARENA_LOG_LINE, time_of(drain, above));
        drain->senseless_words += !sound;
        return;
    }
    switch (node) {
    case ARENA_LOG_THREAD:
        drain->thread = above < ids->thread_count ? (uint32_t)above : 0;
        return;
    case ARENA_LOG_TIME:
        drain->next_ticks = above << ARENA_LOG_NODE_BITS;
        drain->has_time = true;
        return;
    case ARENA_LOG_WRAP:
        drain->at = 0;
        return;
    case ARENA_LOG_CARRIED:
        drain->how = CALL_DRAIN_CARRIED;
        return;
    case ARENA_LOG_GAP:
        sound = drain->thread && is_sound(ids, above);
        if (sound)
            take_gap(drain, ids, (uint32_t)above);
        break;
    default:
        sound = drain->thread && is_sound(ids, node);
        if (sound)
            go_to(drain, ids, node, time_of(drain, above));
        drain->how = CALL_DRAIN_BEGUN;
    }
    drain->senseless_words += !sound;
}

uint64_t call_drain_reach(const struct arena_view *view)
{
    return view->log ? __atomic_load_n(&view->log->head, __ATOMIC_ACQUIRE) : 0;
}

static void take_words(struct call_drain *drain, const struct call_drain_ids *ids, uint64_t reach)
{
    uint32_t size = ids->view->limits.log_words;
    while (drain->taken < reach && !drain->out_of_memory) {
        if (drain->at >= size) {
            drain->is_lost = true;
            return;
        }
        take_word(drain, ids, __atomic_load_n(&ids->view->log_words[drain->at++], __ATOMIC_RELAXED));
        if (++drain->taken % 4096 == 0) /* room for those who wait for it */
            __atomic_store_n(&ids->view->log->tail, drain->taken, __ATOMIC_RELEASE);
    }
}

bool call_drain_step(struct call_drain *drain, const struct call_drain_ids *ids,
                     const struct clock_rate *rate, uint64_t reach)
{
    struct arena_log *log = ids->view->log;
    uint64_t size = ids->view->limits.log_words, waiting = reach - drain->taken;
    if (!log || drain->is_lost ||
        !make_room(drain, (void **)&drain->threads, &drain->thread_capacity, ids->thread_count,
                   sizeof *drain->threads))
        return false;
    drain->is_lost = waiting > size;
    drain->senseless_words += drain->is_lost;
    drain->keep.size_bytes = log->size_bytes;
    tune(drain, rate);
    look_at_size(drain, ids);
    if (!drain->is_lost)
        take_words(drain, ids, reach);
    __atomic_store_n(&log->tail, drain->taken, __ATOMIC_RELEASE);
    return waiting > size / 16;
}

void call_drain_finish(struct call_drain *drain, const struct call_drain_ids *ids,
                       const struct clock_rate *rate, uint64_t end_ticks)
{
    if (!ids->view->log || !drain->threads)
        return;
    tune(drain, rate);
    uint64_t end_ns = tell_time(drain, end_ticks);
    for (uint32_t i = 1; i < ids->thread_count && i < drain->thread_capacity; i++) {
        const struct arena_thread row = arena_read_thread(ids->view, i);
        uint64_t until_ns = row.end_ticks ? tell_time(drain, row.end_ticks) : end_ns;
        if (until_ns < drain->threads[i].last_ns)
            until_ns = drain->threads[i].last_ns;
        while (drain->threads[i].depth)
            leave(drain, ids, i, until_ns);
    }
    drain->written += call_keep_write(&drain->keep, ids->writer);
}

void call_drain_clear(struct call_drain *drain)
{
    for (uint32_t i = 0; i < drain->thread_capacity; i++)
        free(drain->threads[i].open);
    free(drain->threads);
    free(drain->path);
    call_keep_clear(&drain->keep);
    *drain = (struct call_drain){0};
}

/* ---- losses ---- */

/* Calls, or lines, and who is to be told of them. */
struct telling {
    const char *what;
    const struct call_drain_counts *counts;
    call_drain_say *say;
    void *context;
};

static void tell(const struct telling *telling, uint64_t count, bool is_loss, const char *words)
{
    char text[256];
    snprintf(text, sizeof text, "%s %s", telling->what, words);
    telling->say(telling->context, count, is_loss, text);
}

static void tell_thinned(const struct call_drain *drain, const struct telling *telling)
{
    char words[200];
    snprintf(words, sizeof words,
             "shorter than %g us are not on the timeline because its size is limited (--timeline-limit); "
             "they are counted and timed in all tables",
             (double)drain->thin_ns / 1e3);
    tell(telling, telling->counts->thinned, true, words);
}

/* `lost` were not in the log, of which `found` were on the stack later. */
static void tell_missing(const struct call_drain *drain, const struct telling *telling, uint64_t lost,
                         uint64_t found)
{
    const struct call_drain_counts *counts = telling->counts;
    uint64_t before =
        drain->is_closed && counts->lost_before_closed < lost ? counts->lost_before_closed : lost;
    uint64_t late = counts->late + (lost - before);
    before -= found < before ? found : before;
    before += counts->unseen;
    tell(telling, before, true,
         "are not on the timeline because the recorder could not keep up; they are counted and timed in all "
         "tables");
    tell(telling, late, true,
         "are not on the timeline because it was full (--timeline-limit); they are counted and timed in all "
         "tables");
    tell(telling, found + counts->cut, false,
         "are on the timeline only in part, because it does not reach further or the recorder could not keep "
         "up");
}

void call_drain_tell(const struct call_drain *drain, const struct arena_view *view, call_drain_say *say,
                     void *context)
{
    const struct telling calls = {"calls", &drain->calls, say, context};
    const struct telling lines = {"lines", &drain->lines, say, context};
    if (!view->log)
        return;
    tell_thinned(drain, &calls);
    tell_missing(drain, &calls, view->log->lost_calls, drain->found);
    tell_thinned(drain, &lines);
    tell_missing(drain, &lines, view->log->lost_lines, 0);
    say(context, drain->keep.gone_calls, false,
        "earlier calls are not on the timeline, which keeps the last (--ring); they are counted and timed in "
        "all tables");
    say(context, drain->keep.gone_lines, false,
        "earlier lines are not on the timeline, which keeps the last (--ring); they are counted and timed in "
        "all tables");
    say(context, drain->senseless_words, true,
        "steps of the timeline passed over because the program overwrote the recorder's memory");
    say(context, drain->out_of_memory, true,
        "the recorder ran out of memory: later calls are not on the timeline");
}
