#include "analyse/heap_kept.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/own_code.h"
#include "base/err.h"
#include "store/recording.h"

/* CPython up to 3.9 maps arenas of 256 KiB, later ones of 1 MiB. */
static const uint64_t arena_bytes[] = {256 * 1024, 1024 * 1024};
/* The table of arenas begins with 16 rows of 48 bytes and is doubled, whenever an arena is mapped that it has no row for. */
#define ARENA_TABLE_BYTES 768
/* From 3.10 on a tree tells whose an address is: a leaf for each 256 MiB that arenas lie in, seldom a branch above it. */
#define ARENA_LEAF_BYTES   2048
#define ARENA_BRANCH_BYTES 8192
#define ARENAS_PER_LEAF    256

/* What a frame says of those that it calls. */
enum says { SAYS_NOTHING, SAYS_PROGRAM, SAYS_INTERPRETER };

static enum says says(const struct recording *recording, const struct code *code)
{
    const char *file = recording_text(recording, code->file);
    if (code->kind != CODE_PYTHON)
        return SAYS_NOTHING;
    if (strncmp(file, "<frozen importlib", 17) == 0)
        return SAYS_INTERPRETER;
    return own_code_is_library(recording, code) ? SAYS_NOTHING : SAYS_PROGRAM;
}

/* By node: whether the innermost frame that decides is one of the program's own. */
static bool *nodes_of_program(const struct recording *recording, struct err *err)
{
    bool *by_program = calloc((size_t)recording->nodes_count + 1, sizeof *by_program);
    uint8_t *words = calloc((size_t)recording->codes_count + 1, sizeof *words);
    if (!by_program || !words) {
        err_set(err, "not enough memory to tell leaks in %u stacks", recording->nodes_count);
        free(by_program);
        free(words);
        return NULL;
    }
    for (uint32_t i = 1; i < recording->codes_count; i++)
        words[i] = says(recording, &recording->codes[i]);
    for (uint32_t i = 1; i < recording->nodes_count; i++) {
        const struct node *node = &recording->nodes[i];
        uint8_t word = words[node->code];
        by_program[i] = word == SAYS_NOTHING ? by_program[node->parent] : word == SAYS_PROGRAM;
    }
    free(words);
    return by_program;
}

bool heap_kept_is_arenas(const struct heap_row *row, bool sampled)
{
    for (size_t i = 0; i < sizeof arena_bytes / sizeof *arena_bytes; i++) {
        uint64_t expected = row->live_count * arena_bytes[i], off_by = sampled ? arena_bytes[i] / 2 : 0;
        uint64_t difference =
            row->live_bytes > expected ? row->live_bytes - expected : expected - row->live_bytes;
        if (row->allocator == HEAP_MMAP && row->live_count && difference <= off_by)
            return true;
    }
    return false;
}

static bool is_same_place(const struct heap_row *a, const struct heap_row *b)
{
    return a->thread == b->thread && a->node == b->node;
}

/* How many arenas the stack that the row is of has mapped, too. `rows` end before `end`. */
static uint64_t mapped_arenas(const struct heap_row *row, const struct heap_row *end)
{
    for (const struct heap_row *other = row; other < end && is_same_place(row, other); other++)
        if (other->allocator == HEAP_MMAP && other->total_count &&
            (other->total_bytes == other->total_count * arena_bytes[0] ||
             other->total_bytes == other->total_count * arena_bytes[1]))
            return other->total_count;
    return 0;
}

static bool is_arena_table(const struct heap_row *row, const struct heap_row *end)
{
    uint64_t rows = row->live_bytes / ARENA_TABLE_BYTES;
    bool doubled = rows && row->live_bytes % ARENA_TABLE_BYTES == 0 && (rows & (rows - 1)) == 0;
    return row->allocator == HEAP_REALLOC && row->live_count == 1 && doubled && mapped_arenas(row, end);
}

/* Leaves, and at most one branch; arenas that lie apart touch a few leaves more than they fill. */
static bool is_arena_tree(const struct heap_row *row, const struct heap_row *end)
{
    uint64_t leaves = row->live_count * ARENA_LEAF_BYTES;
    bool of_its_parts =
        row->live_bytes == leaves || row->live_bytes == leaves - ARENA_LEAF_BYTES + ARENA_BRANCH_BYTES;
    uint64_t arenas =
        row->allocator == HEAP_CALLOC && row->live_count && of_its_parts ? mapped_arenas(row, end) : 0;
    return arenas && row->live_count <= arenas / ARENAS_PER_LEAF + 3;
}

bool *heap_kept_rows(const struct recording *recording, struct err *err)
{
    const struct heap_row *rows = recording->heap, *end = rows + recording->heap_count;
    bool *kept = calloc((size_t)recording->heap_count + 1, sizeof *kept);
    bool *of_program = kept ? nodes_of_program(recording, err) : NULL;
    bool sampled = heap_kept_is_sampled(recording);
    if (!of_program) {
        err_set(err, "not enough memory to tell leaks in %u rows", recording->heap_count);
        free(kept);
        return NULL;
    }
    for (uint32_t i = recording->heap_count; i-- > 0;) {
        const struct heap_row *row = &rows[i], *next = row + 1;
        bool is_last = next == end || !is_same_place(row, next) || row->allocator != next->allocator;
        kept[i] = is_last ? row->allocator == HEAP_FREE || !of_program[row->node] ||
                                heap_kept_is_arenas(row, sampled) || is_arena_table(row, end) ||
                                is_arena_tree(row, end)
                          : kept[i + 1];
    }
    free(of_program);
    return kept;
}

bool heap_kept_is_sampled(const struct recording *recording)
{
    const char *heap = recording_meta(recording, "heap");
    return heap && strcmp(heap, "sampled") == 0;
}
