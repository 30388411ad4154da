#include "collect/recorder/followed_kinds.h"

#include <stddef.h>

#include "collect/agent/arena.h"
#include "collect/agent/event_area.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/mpi_area.h"
#include "collect/agent/native_area.h"
#include "collect/agent/sample_area.h"
#include "collect/agent/session.h"
#include "collect/recorder/drain.h"
#include "collect/recorder/event_drain.h"
#include "collect/recorder/followed.h"
#include "collect/recorder/heap_drain.h"
#include "collect/recorder/mpi_drain.h"
#include "collect/recorder/native_files.h"
#include "collect/recorder/native_space.h"
#include "collect/recorder/sample_drain.h"

/* ---- arenas: calls and lines ---- */

static bool arena_is_sound(void *memory, uint64_t bytes)
{
    struct arena_view view;
    return arena_look(&view, memory, bytes);
}

static struct followed_facts arena_facts(const void *memory)
{
    const struct arena *arena = memory;
    return (struct followed_facts){arena->python, arena->start_ns};
}

static void *open_arena(struct followed *followed, const struct followed_origin *origin,
                        struct native_files *files)
{
    (void)origin;
    return drain_new(followed->memory, followed->memory_bytes, files->writer, followed->id);
}

static bool step_arena(void *drain, const struct clock_rate *rate)
{
    drain_step(drain, rate);
    return false;
}

static bool arena_has_log(const void *drain)
{
    return drain_has_log(drain);
}

static bool step_arena_log(void *drain, const struct clock_rate *rate)
{
    return drain_step_log(drain, rate);
}

static void finish_arena(void *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    drain_finish(drain, rate, end_ticks);
}

static void free_arena(void *drain)
{
    drain_free(drain);
}

static void stop_arena(void *memory)
{
    ((struct arena *)memory)->stop = 1;
}

/* ---- samples ---- */

static bool samples_are_sound(void *memory, uint64_t bytes)
{
    const struct sample_area *area = memory;
    return bytes >= sizeof *area && bytes == area->total_bytes && area->magic == SAMPLE_AREA_MAGIC &&
           area->period_ns > 0 && (area->total_bytes == sizeof *area || native_area_of(memory));
}

static struct followed_facts sample_facts(const void *memory)
{
    const struct sample_area *area = memory;
    return (struct followed_facts){area->python, area->start_ns};
}

static void open_native(struct followed *followed, struct native_area *native,
                        const struct followed_origin *origin, struct native_files *files)
{
    const struct native_space *parent =
        native && native->forked_from && origin->forker ? origin->forker->space : NULL;
    if (native)
        followed->space = native_space_new(files, native, (uint32_t)followed->pid, followed->id, parent);
}

static void *open_samples(struct followed *followed, const struct followed_origin *origin,
                          struct native_files *files)
{
    open_native(followed, native_area_of(followed->memory), origin, files);
    return sample_drain_new(followed->memory, files->writer, followed->id, followed->space);
}

static bool step_samples(void *drain, const struct clock_rate *rate)
{
    sample_drain_step(drain, rate);
    return false;
}

static void finish_samples(void *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    sample_drain_finish(drain, rate, end_ticks);
}

static void free_samples(void *drain)
{
    sample_drain_free(drain);
}

static void stop_samples(void *memory)
{
    ((struct sample_area *)memory)->stop = 1;
}

/* ---- allocations ---- */

static bool heap_is_sound(void *memory, uint64_t bytes)
{
    struct heap_area_view view;
    return heap_area_look(&view, memory, bytes);
}

static struct followed_facts heap_facts(const void *memory)
{
    const struct heap_area *area = memory;
    return (struct followed_facts){area->python, area->start_ns};
}

static struct heap_drain_code find_code(void *space, uint64_t address)
{
    struct native_code found = native_space_find(space, address);
    return (struct heap_drain_code){found.code, (uint8_t)found.kind};
}

static void *open_heap(struct followed *followed, const struct followed_origin *origin,
                       struct native_files *files)
{
    struct heap_area_view view;
    if (!heap_area_look(&view, followed->memory, followed->memory_bytes))
        return NULL;
    open_native(followed, view.native, origin, files);
    struct heap_drain *drain =
        heap_drain_new(followed->memory, followed->memory_bytes, files->writer, followed->id);
    if (drain && followed->space)
        heap_drain_set_native(drain, find_code, followed->space);
    return drain;
}

static bool step_heap(void *drain, const struct clock_rate *rate)
{
    return heap_drain_step(drain, rate);
}

static void finish_heap(void *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    heap_drain_finish(drain, rate, end_ticks);
}

static void free_heap(void *drain)
{
    heap_drain_free(drain);
}

static void stop_heap(void *memory)
{
    ((struct heap_area *)memory)->stop = 1;
}

/* ---- events ---- */

static bool events_are_sound(void *memory, uint64_t bytes)
{
    return event_area_is_sound(memory, bytes);
}

static struct followed_facts event_facts(const void *memory)
{
    const struct event_area *area = memory;
    return (struct followed_facts){area->python, area->start_ns};
}

static void *open_events(struct followed *followed, const struct followed_origin *origin,
                         struct native_files *files)
{
    (void)origin;
    return event_drain_new(followed->memory, followed->memory_bytes, files->writer, followed->id);
}

static bool step_events(void *drain, const struct clock_rate *rate)
{
    return event_drain_step(drain, rate);
}

static void finish_events(void *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    event_drain_finish(drain, rate, end_ticks);
}

static void free_events(void *drain)
{
    event_drain_free(drain);
}

static void stop_events(void *memory)
{
    ((struct event_area *)memory)->stop = 1;
}

/* ---- calls of MPI ---- */

static bool mpi_is_sound(void *memory, uint64_t bytes)
{
    struct heap_area_view stacks;
    return mpi_area_look(&stacks, memory, bytes);
}

static struct followed_facts mpi_facts(const void *memory)
{
    struct heap_area_view stacks;
    struct mpi_area *area = (struct mpi_area *)(uintptr_t)memory;
    if (!mpi_area_look(&stacks, area, mpi_area_bytes()))
        return (struct followed_facts){0};
    return heap_facts(stacks.area);
}

static void *open_mpi(struct followed *followed, const struct followed_origin *origin,
                      struct native_files *files)
{
    (void)origin;
    return mpi_drain_new(followed->memory, followed->memory_bytes, files->writer, followed->id);
}

static bool step_mpi(void *drain, const struct clock_rate *rate)
{
    return mpi_drain_step(drain, rate);
}

static void finish_mpi(void *drain, const struct clock_rate *rate, uint64_t end_ticks)
{
    mpi_drain_finish(drain, rate, end_ticks);
}

static void free_mpi(void *drain)
{
    mpi_drain_free(drain);
}

static void stop_mpi(void *memory)
{
    ((struct mpi_area *)memory)->stop = 1;
}

/* ---- the table ---- */

#define ARENA_KIND(message)                                                                                  \
    {                                                                                                        \
        message, false, arena_is_sound, arena_facts, open_arena, step_arena, finish_arena, free_arena,       \
            stop_arena, arena_has_log, step_arena_log                                                        \
    }

static const struct followed_kind kinds[] = {
    ARENA_KIND(SESSION_HELLO),
    ARENA_KIND(SESSION_LINES),
    {SESSION_SAMPLES, true, samples_are_sound, sample_facts, open_samples, step_samples, finish_samples,
     free_samples, stop_samples},
    {SESSION_EVENTS, true, events_are_sound, event_facts, open_events, step_events, finish_events,
     free_events, stop_events},
    {SESSION_HEAP, true, heap_is_sound, heap_facts, open_heap, step_heap, finish_heap, free_heap, stop_heap},
    {SESSION_MPI, true, mpi_is_sound, mpi_facts, open_mpi, step_mpi, finish_mpi, free_mpi, stop_mpi},
};

const struct followed_kind *followed_kinds_find(uint32_t purpose)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].purpose == purpose)
            return &kinds[i];
    return NULL;
}
