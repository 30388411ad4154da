#include "collect/inside/call_log.h"

#define WORDS_AT_ONCE 8  /* at most so many are written without asking again */
#define PIECES        64 /* of a ring */

void call_log_init(struct call_log *log, struct arena *arena)
{
    *log = (struct call_log){.shared = arena_log(arena)};
    if (!log->shared)
        return;
    log->words = (uint64_t *)(log->shared + 1);
    log->threads = arena_threads(arena);
    log->nodes = arena_nodes(arena);
    log->size = arena->limits.log_words;
    log->piece = log->size / PIECES > WORDS_AT_ONCE * 2 ? log->size / PIECES : WORDS_AT_ONCE * 2;
}

static void append(struct call_log *log, uint64_t above, uint32_t node)
{
    log->words[log->at++] = above << ARENA_LOG_NODE_BITS | node;
    __atomic_store_n(&log->shared->head, log->shared->head + 1, __ATOMIC_RELEASE);
}

/* The reader is behind in the lap before: up to it. */
static uint32_t stop_behind_reader(const struct call_log *log, uint64_t tail)
{
    uint32_t reader = log->lap_size - (uint32_t)(log->lap - tail);
    uint32_t stop = log->at + log->piece;
    if (stop + WORDS_AT_ONCE <= reader)
        return stop;
    return reader > log->at + WORDS_AT_ONCE ? reader - WORDS_AT_ONCE : log->at;
}

/* It is in the same lap: back to the first word, whose memory is at hand, when there will be room enough until the reader
 * comes by again; else on, as far as there is memory. */
static uint32_t stop_before_reader(struct call_log *log, uint64_t tail)
{
    uint32_t reader = (uint32_t)(tail - log->lap), stop = log->at + log->piece;
    bool is_end = stop + WORDS_AT_ONCE > log->size;
    if (reader >= log->piece + WORDS_AT_ONCE && (is_end || reader > 2 * log->longest)) {
        append(log, 0, ARENA_LOG_WRAP);
        log->lap = log->shared->head;
        log->lap_size = log->at;
        log->at = 0;
        return log->piece;
    }
    return is_end ? log->at : stop;
}

/* Once it was full, half must be free before it goes on: few long gaps say more than many short ones. */
static bool has_room(struct call_log *log)
{
    if (log->at < log->stop)
        return true;
    uint64_t tail = __atomic_load_n(&log->shared->tail, __ATOMIC_ACQUIRE), head = log->shared->head;
    bool closed = __atomic_load_n(&log->shared->closed, __ATOMIC_RELAXED);
    if (head - tail > log->longest)
        log->longest = head - tail;
    if (closed || (log->is_full && head - tail > log->size / 2)) {
        log->is_full = true;
        return false;
    }
    log->stop = tail < log->lap ? stop_behind_reader(log, tail) : stop_before_reader(log, tail);
    log->is_full = log->stop <= log->at;
    return !log->is_full;
}

/* Moves between neighbours in the tree: the outermost node on the way is what the thread has not left. */
static void lose(struct call_log *log, struct arena_thread *row, uint32_t node)
{
    if (!row->log_lost || log->nodes[node].depth < log->nodes[row->log_floor].depth)
        row->log_floor = node;
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
        log->shared->lost_calls += step.begins;
        lose(log, row, step.node);
        return;
    }
    if (row->log_lost) /* a call that begins now is found again like those around it */
        log->shared->lost_calls += step.begins;
    put_state(log, row, step.now_ticks);
    append(log, step.now_ticks, step.node);
}

/* After words were lost the next one must say where the thread is. */
void call_log_put_line(struct call_log *log, struct arena_thread *row, uint32_t line, uint64_t now_ticks)
{
    if (line >= ARENA_LOG_THREAD - ARENA_LOG_LINE)
        return;
    if (!has_room(log)) {
        log->shared->lost_lines++;
        lose(log, row, row->current);
        return;
    }
    bool was_lost = row->log_lost;
    put_state(log, row, now_ticks);
    if (was_lost)
        append(log, now_ticks, row->current);
    append(log, now_ticks, ARENA_LOG_LINE + line);
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
