#include "collect/recorder/hot_functions.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/arena.h"
#include "store/recording.h"

#define FIRST_SAMPLES    50         /* before anything is said */
#define LIBRARY_SAMPLES  500        /* the same of functions that are not the program's own */
#define HOT_SHARE        50         /* one part in so many of the samples */
#define OWN_SHARE        10         /* the same, of the program's own functions together */
#define FIRST_NS         100000000u /* between two looks */
#define LAST_INTERVAL_NS 5000000000u

void hot_functions_clear(struct hot_functions *hot)
{
    free(hot->own_counts);
    free(hot->counts);
    free(hot->found);
    *hot = (struct hot_functions){0};
}

static bool grow(uint64_t **counts, uint32_t before, uint32_t capacity)
{
    uint64_t *grown = realloc(*counts, capacity * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + before, 0, (capacity - before) * sizeof *grown);
    *counts = grown;
    return true;
}

static bool make_room(struct hot_functions *hot, uint32_t codes)
{
    if (codes <= hot->capacity)
        return true;
    uint32_t capacity = codes + codes / 2 + 256;
    if (!grow(&hot->own_counts, hot->capacity, capacity) || !grow(&hot->counts, hot->capacity, capacity))
        return false;
    hot->capacity = capacity;
    return true;
}

static bool is_python(const struct recording *known, uint32_t code)
{
    return code < known->codes_count && known->codes[code].kind == CODE_PYTHON;
}

static bool is_library(const char *file)
{
    return strstr(file, "/site-packages/") || strstr(file, "/dist-packages/") ||
           strstr(file, "/lib/python") || strstr(file, "/lib64/python") || strncmp(file, "<frozen ", 8) == 0;
}

/* The body of a module counts for what it does itself, not for what it imports. */
static bool is_own(const struct recording *known, uint32_t code, bool innermost)
{
    const struct code *row = &known->codes[code];
    return !is_library(recording_text(known, row->file)) &&
           (innermost || strcmp(recording_text(known, row->name), "<module>") != 0);
}

/* What is imported is done with when the program's own work begins. */
static bool is_import(const struct recording *known, uint32_t node)
{
    for (; node && node < known->nodes_count; node = known->nodes[node].parent) {
        uint32_t code = known->nodes[node].code;
        if (is_python(known, code) &&
            strncmp(recording_text(known, known->codes[code].file), "<frozen importlib", 17) == 0)
            return true;
    }
    return false;
}

void hot_functions_count(struct hot_functions *hot, const struct recording *known,
                         const struct sample_row *row)
{
    if (!hot->limit || !make_room(hot, known->codes_count) || is_import(known, row->node))
        return;
    uint32_t innermost = 0;
    for (uint32_t node = row->node; node && node < known->nodes_count; node = known->nodes[node].parent) {
        uint32_t code = known->nodes[node].code;
        if (!is_python(known, code))
            continue;
        innermost = innermost ? innermost : node;
        if (!is_own(known, code, node == innermost))
            continue;
        hot->own_counts[code] += row->count;
        hot->own_samples += row->count;
        break;
    }
    if (innermost && row->state & SAMPLE_RUNNING)
        hot->counts[known->nodes[innermost].code] += row->count;
    hot->samples += row->count;
}

static bool is_found(const struct hot_functions *hot, uint32_t code)
{
    for (uint32_t i = 0; i < hot->found_count; i++)
        if (hot->found[i] == code)
            return true;
    return false;
}

/* The hottest that was not found before; 0 when none is hot enough. */
static uint32_t hottest(const struct hot_functions *hot, const uint64_t *counts, uint32_t codes)
{
    uint32_t best = 0;
    for (uint32_t code = 1; code < codes && code < hot->capacity; code++)
        if (counts[code] * HOT_SHARE >= hot->samples && counts[code] > (best ? counts[best] : 0) &&
            !is_found(hot, code))
            best = code;
    return best;
}

bool hot_functions_find(struct hot_functions *hot, const struct recording *known, uint64_t now_ns)
{
    if (!hot->limit || now_ns < hot->next_ns || hot->samples < FIRST_SAMPLES)
        return false;
    hot->interval_ns = hot->interval_ns ? hot->interval_ns * 2 : FIRST_NS;
    if (hot->interval_ns > LAST_INTERVAL_NS)
        hot->interval_ns = LAST_INTERVAL_NS;
    hot->next_ns = now_ns + hot->interval_ns;
    if (!hot->found)
        hot->found = calloc(hot->limit, sizeof *hot->found);
    bool own = hot->own_samples * OWN_SHARE >= hot->samples;
    if (!own && hot->samples < LIBRARY_SAMPLES)
        return false;
    const uint64_t *counts = own ? hot->own_counts : hot->counts;
    uint32_t before = hot->found_count, code;
    while (hot->found && hot->found_count < hot->limit && (code = hottest(hot, counts, known->codes_count)))
        hot->found[hot->found_count++] = code;
    return hot->found_count > before;
}

void hot_functions_ask(const struct hot_functions *hot, const struct recording *known, struct arena *arena)
{
    uint32_t count = hot->found_count < ARENA_REQUESTS ? hot->found_count : ARENA_REQUESTS;
    for (uint32_t i = 0; i < count; i++) {
        const struct code *code = &known->codes[hot->found[i]];
        arena->requests[i] =
            arena_request(recording_text(known, code->file), recording_text(known, code->name), code->line);
    }
    __atomic_store_n(&arena->request_count, count, __ATOMIC_RELEASE);
}
