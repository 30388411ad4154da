#include "collect/inside/throttle.h"

#include "base/clock.h"
#include "store/recording.h"

static bool is_on_a_stack(struct trace *trace, uint32_t code)
{
    struct arena *arena = trace->arena;
    struct arena_node *nodes = arena_nodes(arena);
    for (uint32_t i = 1; i < arena->thread_count; i++) {
        const struct arena_thread *row = &arena_threads(arena)[i];
        if (row->end_ticks)
            continue;
        for (uint32_t at = row->current; at != row->root; at = nodes[at].parent)
            if (nodes[at].code == code)
                return true;
    }
    return false;
}

bool throttle_leaves_out(struct trace *trace, uint32_t code)
{
    struct arena_code *row = &arena_codes(trace->arena)[code];
    if ((row->state & ARENA_CODE_DUE) && !is_on_a_stack(trace, code)) {
        row->state = ARENA_CODE_THROTTLED;
        row->flags |= CODE_THROTTLED;
    }
    return (row->state & (ARENA_CODE_EXCLUDED | ARENA_CODE_THROTTLED)) != 0;
}

/* Time spent in and below the function, in ticks: a node belongs when it or a node above it has the code. */
static uint64_t ticks_in(struct trace *trace, uint32_t code)
{
    struct arena_node *nodes = arena_nodes(trace->arena);
    uint64_t ticks = 0;
    for (uint32_t i = 1; i < trace->arena->node_count; i++) {
        if (!nodes[i].self_ticks)
            continue;
        for (uint32_t at = i; at; at = nodes[at].parent) {
            if (nodes[at].code == code) {
                ticks += nodes[i].self_ticks;
                break;
            }
        }
    }
    return ticks;
}

static double ns_per_tick(const struct arena *arena)
{
    if (arena->ns_per_tick > 0)
        return arena->ns_per_tick;
    struct clock_pair start = {.ticks = arena->start_ticks, .ns = arena->start_ns};
    return clock_rate_between(start, clock_read_pair(true), true).ns_per_tick;
}

/* The caches of all parents forget the function, so that its next call comes to trace_child. */
static void forget(struct trace *trace, uint32_t code)
{
    struct arena_node *nodes = arena_nodes(trace->arena);
    for (uint32_t i = 1; i < trace->arena->node_count; i++)
        for (int way = 0; way < 2; way++)
            if (nodes[i].child_key[way] && nodes[nodes[i].child[way]].code == code)
                nodes[i].child_key[way] = 0;
}

void throttle_count(struct trace *trace, uint32_t node)
{
    uint32_t code = arena_nodes(trace->arena)[node].code;
    struct arena_code *row = &arena_codes(trace->arena)[code];
    row->calls++;
    if (row->calls <= (row->check_calls ? row->check_calls : THROTTLE_CALLS))
        return;
    row->check_calls = row->calls * 2;
    double ns = (double)ticks_in(trace, code) * ns_per_tick(trace->arena);
    if (ns / (double)row->calls >= THROTTLE_NS)
        return;
    row->state |= ARENA_CODE_DUE;
    forget(trace, code);
}
