#include "collect/agent/arena.h"

#include <string.h>

#include "base/map.h"

#define ALIGNMENT 64u

static uint64_t align(uint64_t at)
{
    return (at + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

struct arena_limits arena_limits_within(uint64_t bytes)
{
    /* Nodes get three quarters; a program with n nodes seldom has more than n / 8 functions. */
    if (bytes > (uint64_t)1 << 34)
        bytes = (uint64_t)1 << 34;
    struct arena_limits limits = {
        .nodes = (uint32_t)(bytes / 4 * 3 / sizeof(struct arena_node)),
        .codes = (uint32_t)(bytes / 20 / sizeof(struct arena_code)),
        .text_bytes = (uint32_t)(bytes / 6),
        .threads = (uint32_t)(bytes / 100 / sizeof(struct arena_thread)),
    };
    if (limits.nodes < 4096)
        limits.nodes = 4096;
    if (limits.codes < 1024)
        limits.codes = 1024;
    if (limits.text_bytes < 1 << 16)
        limits.text_bytes = 1 << 16;
    if (limits.threads < 64)
        limits.threads = 64;
    return limits;
}

struct arena_limits arena_line_limits_within(uint64_t bytes)
{
    struct arena_limits limits = arena_limits_within(bytes);
    if (bytes > (uint64_t)1 << 34)
        bytes = (uint64_t)1 << 34;
    limits.nodes = 2 * limits.threads + 16; /* root and sink of each */
    limits.lines = (uint32_t)(bytes / 2 / sizeof(struct arena_line));
    limits.line_blocks = limits.lines / 4;
    limits.line_calls = (uint32_t)(bytes / 4 / sizeof(struct arena_line_call));
    if (limits.lines < 1 << 16)
        limits.lines = 1 << 16;
    if (limits.line_blocks < 1 << 12)
        limits.line_blocks = 1 << 12;
    if (limits.line_calls < 1 << 15)
        limits.line_calls = 1 << 15;
    return limits;
}

/* Fills in where the tables lie; both sides compute the same. */
static void place(struct arena *arena, const struct arena_limits *limits)
{
    arena->limits = *limits;
    arena->threads_at = align(sizeof *arena);
    arena->codes_at = align(arena->threads_at + (uint64_t)limits->threads * sizeof(struct arena_thread));
    arena->text_at = align(arena->codes_at + (uint64_t)limits->codes * sizeof(struct arena_code));
    arena->nodes_at = align(arena->text_at + limits->text_bytes);
    arena->lines_at = align(arena->nodes_at + (uint64_t)limits->nodes * sizeof(struct arena_node));
    arena->line_blocks_at = align(arena->lines_at + (uint64_t)limits->lines * sizeof(struct arena_line));
    arena->line_calls_at =
        align(arena->line_blocks_at + (uint64_t)limits->line_blocks * sizeof(struct arena_line_block));
    arena->line_memory_at =
        align(arena->line_calls_at + (uint64_t)limits->line_calls * sizeof(struct arena_line_call));
    arena->log_at = align(arena->line_memory_at + (uint64_t)limits->lines * sizeof(struct arena_line_memory));
    uint64_t log_bytes = (uint64_t)limits->log_words * sizeof(uint64_t);
    arena->total_bytes = arena->log_at + (log_bytes ? sizeof(struct arena_log) + log_bytes : 0);
}

uint64_t arena_bytes(const struct arena_limits *limits)
{
    struct arena arena;
    place(&arena, limits);
    return arena.total_bytes;
}

void arena_format(struct arena *arena, const struct arena_limits *limits)
{
    place(arena, limits);
    arena->version = ARENA_VERSION;
    arena->thread_count = arena->code_count = arena->node_count = 1;
    arena->line_count = arena->line_block_count = arena->line_call_count = 1;
    arena->text_used = 4; /* text 0 is "" */
    __atomic_store_n(&arena->magic, ARENA_MAGIC, __ATOMIC_RELEASE);
}

/* Appends one row to a table: fill first, then publish. */
static uint32_t append(void *table, uint32_t *count, uint32_t limit, const void *row, size_t row_bytes)
{
    uint32_t id = *count;
    if (id >= limit)
        return 0;
    memcpy((char *)table + (size_t)id * row_bytes, row, row_bytes);
    __atomic_store_n(count, id + 1, __ATOMIC_RELEASE);
    return id;
}

uint32_t arena_add_thread(struct arena *arena, const struct arena_thread *row)
{
    return append(arena_threads(arena), &arena->thread_count, arena->limits.threads, row, sizeof *row);
}

uint32_t arena_add_code(struct arena *arena, const struct arena_code *row)
{
    return append(arena_codes(arena), &arena->code_count, arena->limits.codes, row, sizeof *row);
}

uint32_t arena_add_node(struct arena *arena, const struct arena_node *row)
{
    return append(arena_nodes(arena), &arena->node_count, arena->limits.nodes, row, sizeof *row);
}

uint32_t arena_add_line_block(struct arena *arena, const struct arena_line_block *given)
{
    struct arena_line_block row = *given;
    row.first_row = arena->line_count;
    if (row.line_count > arena->limits.lines - row.first_row)
        return 0;
    for (uint32_t i = 0; i < row.line_count; i++)
        arena_lines(arena)[row.first_row + i].min_ticks = UINT64_MAX;
    arena->line_count += row.line_count;
    return append(arena_line_blocks(arena), &arena->line_block_count, arena->limits.line_blocks, &row,
                  sizeof row);
}

uint32_t arena_add_line_calls(struct arena *arena, uint32_t count)
{
    uint32_t first = arena->line_call_count;
    if (count > arena->limits.line_calls - first)
        return 0;
    arena->line_call_count += count;
    return first;
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void arena_settle_line_calls(struct arena_line_call *calls, uint32_t depth, uint64_t end_ticks)
{
    for (uint32_t i = depth; i-- > 0;) {
        uint64_t elapsed = more(end_ticks, calls[i].begin_ticks);
        if (i > 0 && !calls[i - 1].callee)
            calls[i - 1].callee_ticks += elapsed;
        if (calls[i].outer > 0 && calls[i].outer <= i)
            calls[calls[i].outer - 1].recursion_ticks += elapsed;
        if (calls[i].callee)
            calls[i].callee_ticks += more(end_ticks, calls[i].callee_since_ticks);
    }
}

struct arena_line arena_open_line(const struct arena_line_call *call, uint64_t end_ticks)
{
    uint64_t elapsed = more(end_ticks, call->since_ticks);
    return (struct arena_line){
        .total_ticks = more(elapsed, call->recursion_ticks),
        .self_ticks = more(elapsed, call->callee_ticks),
    };
}

uint64_t arena_request(const char *file, const char *name, uint32_t first_line)
{
    return (map_hash_bytes(file, strlen(file)) * 31 + map_hash_bytes(name, strlen(name))) * 31 + first_line;
}

uint32_t arena_add_text(struct arena *arena, const char *text, size_t size)
{
    uint32_t counted = size > ARENA_TEXT_MAX ? ARENA_TEXT_MAX : (uint32_t)size;
    uint32_t at = arena->text_used;
    uint32_t need = (uint32_t)((sizeof counted + counted + 3u) & ~3u);
    if (!counted || need > arena->limits.text_bytes - at)
        return 0;
    char *place_at = (char *)arena + arena->text_at + at;
    memcpy(place_at, &counted, sizeof counted);
    memcpy(place_at + sizeof counted, text, counted);
    __atomic_store_n(&arena->text_used, at + need, __ATOMIC_RELEASE);
    return at;
}

/* Nothing that was read before may be read again after. */
static void finish_reading(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool arena_look(struct arena_view *view, const struct arena *arena, uint64_t size)
{
    if (size < sizeof *arena || __atomic_load_n(&arena->magic, __ATOMIC_ACQUIRE) != ARENA_MAGIC)
        return false;
    struct arena header = *arena;
    finish_reading();
    struct arena expected;
    place(&expected, &header.limits);
    *view = (struct arena_view){
        .arena = arena,
        .limits = header.limits,
        .threads = (const void *)((const char *)arena + expected.threads_at),
        .codes = (const void *)((const char *)arena + expected.codes_at),
        .nodes = (const void *)((const char *)arena + expected.nodes_at),
        .lines = (const void *)((const char *)arena + expected.lines_at),
        .line_blocks = (const void *)((const char *)arena + expected.line_blocks_at),
        .line_calls = (const void *)((const char *)arena + expected.line_calls_at),
        .line_memory = (const void *)((const char *)arena + expected.line_memory_at),
        .text = (const char *)arena + expected.text_at,
    };
    if (header.limits.log_words) {
        view->log = (struct arena_log *)((char *)(uintptr_t)arena + expected.log_at);
        view->log_words = (const uint64_t *)(view->log + 1);
    }
    return header.version == ARENA_VERSION && header.limits.text_bytes >= sizeof(uint32_t) &&
           header.threads_at == expected.threads_at && header.codes_at == expected.codes_at &&
           header.text_at == expected.text_at && header.nodes_at == expected.nodes_at &&
           header.lines_at == expected.lines_at && header.line_blocks_at == expected.line_blocks_at &&
           header.line_calls_at == expected.line_calls_at &&
           header.line_memory_at == expected.line_memory_at && header.log_at == expected.log_at &&
           header.total_bytes == expected.total_bytes && expected.total_bytes <= size;
}

struct arena_thread arena_read_thread(const struct arena_view *view, uint32_t row)
{
    struct arena_thread copy = view->threads[row];
    finish_reading();
    return copy;
}

struct arena_code arena_read_code(const struct arena_view *view, uint32_t row)
{
    struct arena_code copy = view->codes[row];
    finish_reading();
    return copy;
}

struct arena_node arena_read_node(const struct arena_view *view, uint32_t row)
{
    struct arena_node copy = view->nodes[row];
    finish_reading();
    return copy;
}

struct arena_line arena_read_line(const struct arena_view *view, uint32_t row)
{
    struct arena_line copy = view->lines[row];
    finish_reading();
    return copy;
}

struct arena_line_memory arena_read_line_memory(const struct arena_view *view, uint32_t row)
{
    struct arena_line_memory copy = view->line_memory[row];
    finish_reading();
    return copy;
}

struct arena_line_block arena_read_line_block(const struct arena_view *view, uint32_t row)
{
    struct arena_line_block copy = view->line_blocks[row];
    finish_reading();
    return copy;
}

struct arena_line_call arena_read_line_call(const struct arena_view *view, uint32_t row)
{
    struct arena_line_call copy = view->line_calls[row];
    finish_reading();
    return copy;
}

const char *arena_text(const struct arena_view *view, uint32_t text, uint32_t *size)
{
    *size = 0;
    uint32_t limit = view->limits.text_bytes, counted;
    if (text == 0)
        return "";
    if (text > limit - sizeof counted)
        return NULL;
    memcpy(&counted, view->text + text, sizeof counted);
    finish_reading();
    if (counted > ARENA_TEXT_MAX || counted > limit - sizeof counted - text)
        return NULL;
    *size = counted;
    return view->text + text + sizeof counted;
}

static uint32_t bounded(const uint32_t *count, uint32_t limit)
{
    uint32_t value = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    return value < limit ? value : limit;
}

uint32_t arena_thread_count(const struct arena_view *view)
{
    return bounded(&view->arena->thread_count, view->limits.threads);
}

uint32_t arena_code_count(const struct arena_view *view)
{
    return bounded(&view->arena->code_count, view->limits.codes);
}

uint32_t arena_node_count(const struct arena_view *view)
{
    return bounded(&view->arena->node_count, view->limits.nodes);
}

uint32_t arena_line_block_count(const struct arena_view *view)
{
    return bounded(&view->arena->line_block_count, view->limits.line_blocks);
}
