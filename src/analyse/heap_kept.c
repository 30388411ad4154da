#include "analyse/heap_kept.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/own_code.h"
#include "base/err.h"
#include "store/recording.h"

/* CPython up to 3.9 maps arenas of 256 KiB, later ones of 1 MiB. */
static const uint64_t arena_bytes[] = {256 * 1024, 1024 * 1024};

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

bool *heap_kept_by_program(const struct recording *recording, struct err *err)
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

bool heap_kept_is_sampled(const struct recording *recording)
{
    const char *heap = recording_meta(recording, "heap");
    return heap && strcmp(heap, "sampled") == 0;
}
