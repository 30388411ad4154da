#include "collect/inside/line_memory.h"

#include <string.h>

#include "collect/agent/own_memory.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/resident.h"

struct line_memory line_memory;

/* The two measures at one moment. */
struct moment {
    int64_t heap, rss;
};

static const int64_t no_growth;

/* The word that the heap keeps for the calling thread. */
static const int64_t *growth_of(struct line_thread *thread)
{
    if (__builtin_expect(!thread->growth, 0))
        thread->growth = line_memory.heap.thread_growth ? line_memory.heap.thread_growth() : &no_growth;
    return thread->growth;
}

static struct moment look(struct line_thread *thread, uint64_t now)
{
    if (__builtin_expect(thread->marks_session != line_memory.session, 0))
        thread->growth = NULL;
    bool changed = now - thread->looked_ticks >= resident_quickest_ticks;
    if (changed)
        line_memory.rss_bytes = resident_bytes();
    thread->looked_ticks = changed ? line_clock_now() : now;
    if (line_memory.limit_bytes && line_memory.rss_bytes >= line_memory.limit_bytes)
        line_memory.is_over_limit = true;
    return (struct moment){
        .heap = *growth_of(thread) - thread->own_bytes,
        .rss = (int64_t)line_memory.rss_bytes,
    };
}

int64_t line_memory_own_begin(void)
{
    struct line_thread *thread = line_clock_own;
    return line_clock.memory && thread != &line_clock_no_thread ? *growth_of(thread) : 0;
}

void line_memory_own_end(int64_t before)
{
    struct line_thread *thread = line_clock_own;
    if (line_clock.memory && thread != &line_clock_no_thread)
        thread->own_bytes += *growth_of(thread) - before;
}

/* ---- marks ---- */

static struct line_memory_marks marks_at(struct moment moment)
{
    return (struct line_memory_marks){
        .heap = {.since = moment.heap, .begin = moment.heap},
        .rss = {.since = moment.rss, .begin = moment.rss},
    };
}

/* Calls that were going on before are measured from now on. */
static void mark_all(struct line_thread *thread, struct moment moment)
{
    for (uint32_t i = 0; i < thread->mark_count; i++)
        thread->marks[i] = marks_at(moment);
    thread->marks_session = line_memory.session;
}

static bool make_marks(struct line_thread *thread, struct moment moment)
{
    size_t bytes = ((size_t)thread->room + 1) * sizeof *thread->marks;
    void *larger = own_memory_map(bytes);
    if (!larger)
        return false;
    struct line_memory_marks *before = thread->marks;
    size_t before_bytes = thread->mark_count * sizeof *before;
    uint32_t kept = thread->marks_session == line_memory.session ? thread->mark_count : 0;
    thread->marks = larger;
    thread->mark_count = thread->room + 1;
    mark_all(thread, moment);
    if (kept)
        memcpy(thread->marks, before, kept * sizeof *before);
    if (before)
        own_memory_unmap(before, before_bytes);
    return true;
}

/* Those of a call of the thread; NULL without memory for them. */
static struct line_memory_marks *marks_of(struct line_thread *thread, const struct arena_line_call *call,
                                          struct moment moment)
{
    uint32_t place = (uint32_t)(call - thread->bottom);
    if (__builtin_expect(place >= thread->mark_count, 0) && !make_marks(thread, moment))
        return NULL;
    if (__builtin_expect(thread->marks_session != line_memory.session, 0))
        mark_all(thread, moment);
    return &thread->marks[place];
}

/* ---- charging ---- */

static int64_t end_line(struct line_memory_mark *mark, int64_t now)
{
    int64_t growth = now - mark->since - mark->recursion;
    mark->since = now;
    mark->recursion = 0;
    return growth;
}

static void note_highest(struct arena_line_memory *row, uint64_t rss_bytes)
{
    int64_t heap_bytes = line_memory.heap.live_bytes ? line_memory.heap.live_bytes() : 0;
    if (heap_bytes > (int64_t)row->heap_bytes)
        row->heap_bytes = (uint64_t)heap_bytes;
    if (rss_bytes > row->rss_bytes)
        row->rss_bytes = rss_bytes;
}

static void charge(const struct arena_line_call *call, struct line_memory_marks *marks, struct moment moment)
{
    struct arena_line_memory *row = &line_memory.rows[call->row];
    row->heap_growth_bytes += end_line(&marks->heap, moment.heap);
    row->rss_growth_bytes += end_line(&marks->rss, moment.rss);
    note_highest(row, (uint64_t)moment.rss);
}

/* A call's first line is about to run: the line of the function itself shows what there was before. */
static void show_beginning(const struct arena_line_call *call, uint32_t line, struct moment moment)
{
    struct arena_line_memory *row = &line_memory.rows[line_clock_row(call, call->first_line)];
    note_highest(row, (uint64_t)moment.rss);
    if (line != call->first_line)
        row->hits++;
}

void line_memory_line(const struct arena_line_call *call, uint32_t line, uint64_t now)
{
    struct line_thread *thread = line_clock_own;
    struct moment moment = look(thread, now);
    struct line_memory_marks *marks = marks_of(thread, call, moment);
    if (!marks)
        return;
    charge(call, marks, moment);
    if (!call->row)
        show_beginning(call, line, moment);
    line_memory.rows[line_clock_row(call, line)].hits++;
}

void line_memory_enter(struct line_thread *thread, const struct arena_line_call *call, uint64_t now)
{
    struct moment moment = look(thread, now);
    struct line_memory_marks *marks = marks_of(thread, call, moment);
    if (marks)
        *marks = marks_at(moment);
}

void line_memory_leave(struct line_thread *thread, const struct arena_line_call *call, uint64_t now)
{
    struct moment moment = look(thread, now);
    struct line_memory_marks *marks = marks_of(thread, call, moment);
    if (!marks)
        return;
    charge(call, marks, moment);
    if (call->outer) {
        thread->marks[call->outer].heap.recursion += moment.heap - marks->heap.begin;
        thread->marks[call->outer].rss.recursion += moment.rss - marks->rss.begin;
    }
}

/* ---- beginning, end, fork ---- */

void line_memory_begin(struct line_memory_heap heap, uint64_t limit_bytes)
{
    uint32_t session = line_memory.session + 1;
    if (session == 1)
        resident_init();
    line_memory = (struct line_memory){
        .rows = arena_line_memory(line_clock.trace->arena),
        .heap = heap,
        .rss_bytes = resident_bytes(),
        .limit_bytes = limit_bytes,
        .session = session,
    };
    line_clock.memory = true;
}

void line_memory_end(void)
{
    line_clock.memory = false;
}

void line_memory_moved(struct line_thread *thread)
{
    resident_forget();
    line_memory.rows = arena_line_memory(line_clock.trace->arena);
    thread->marks_session = 0;
}
