#include "collect/inside/call_log.h"

#define WORDS_AT_ONCE 8 /* at most so many are written without asking again */

void call_log_init(struct call_log *log, struct arena *arena)
{
    *log = (struct call_log){.shared = arena_log(arena)};
    if (!log->shared)
        return;
    log->words = (uint64_t *)(log->shared + 1);
    log->threads = arena_threads(arena);
    log->nodes = arena_nodes(arena);
    log->mask = arena->limits.log_words - 1;
}

static void append(struct call_log *log, uint64_t above, uint32_t node)
{
    uint64_t head = log->shared->head;
    log->words[head & log->mask] = above << ARENA_LOG_NODE_BITS | node;
    __atomic_store_n(&log->shared->head, head + 1, __ATOMIC_RELEASE);
}

/* Once it was full, half must be free before it goes on: few long gaps say more than many short ones. */
static bool has_room(struct call_log *log)
{
    uint64_t head = log->shared->head, size = log->mask + 1;
    if (head + WORDS_AT_ONCE < log->limit)
        return true;
    uint64_t used = head - __atomic_load_n(&log->shared->tail, __ATOMIC_ACQUIRE);
    uint64_t most = log->is_full ? size / 2 : size - WORDS_AT_ONCE;
    log->is_full = used > most || __atomic_load_n(&log->shared->closed, __ATOMIC_RELAXED);
    log->limit = log->is_full ? 0 : head + (size - WORDS_AT_ONCE - used);
    return !log->is_full;
}

/* Moves between neighbours in the tree: the outermost node on the way is what the thread has not left. */
static void lose(struct call_log *log, struct arena_thread *row, const struct call_log_step *step)
{
    log->shared->lost_calls += step->begins;
    if (!row->log_lost || log->nodes[step->node].depth < log->nodes[row->log_floor].depth)
        row->log_floor = step->node;
    row->log_lost = 1;
}

/* What must be known to read the next word. */
static void put_state(struct call_log *log, struct arena_thread *row, uint64_t now_ticks)
{
    if (row != log->row)
        append(log, (uint64_t)(row - log->threads), ARENA_LOG_THREAD);
    if (row->log_lost)
        append(log, row->log_floor, ARENA_LOG_GAP);
    if ((now_ticks - log->last_ticks) >> ARENA_LOG_TIME_BITS)
        append(log, now_ticks >> ARENA_LOG_NODE_BITS, ARENA_LOG_TIME);
    row->log_lost = 0;
    log->row = row;
    log->last_ticks = now_ticks;
}

void call_log_put_slowly(struct call_log *log, struct arena_thread *row, struct call_log_step step)
{
    if (!has_room(log)) {
        lose(log, row, &step);
        return;
    }
    if (row->log_lost) /* a call that begins now is found again like those around it */
        log->shared->lost_calls += step.begins;
    put_state(log, row, step.now_ticks);
    append(log, step.now_ticks, step.node);
}

void call_log_carry(struct call_log *log, struct arena_thread *row, uint32_t node, uint64_t now_ticks)
{
    if (!has_room(log)) {
        row->log_floor = row->root;
        row->log_lost = 1;
        return;
    }
    put_state(log, row, now_ticks);
    append(log, 0, ARENA_LOG_CARRIED);
    append(log, now_ticks, node);
}
