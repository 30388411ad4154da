#include "analyse/pairing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/callgraph.h"
#include "base/err.h"

struct candidate {
    const struct callgraph_function *function;
    uint32_t index;
};

/* The functions of one side that have no partner yet. */
struct side {
    struct candidate *candidates;
    uint32_t count;
};

typedef int compare_candidates(const void *first, const void *second);

static const char *name_of(const struct candidate *candidate)
{
    const struct callgraph_function *function = candidate->function;

    return function->short_name ? function->short_name : function->name;
}

static int by_name(const void *first, const void *second)
{
    return strcmp(name_of(first), name_of(second));
}

/* The name without its line: the module is what stands before the ":line:" in front of the function. */
static size_t module_size(const struct candidate *candidate)
{
    const char *name = name_of(candidate);
    size_t size = candidate->function->function_at;

    size -= size > 0; /* a native function may have no module */
    while (size && name[size - 1] != ':')
        size--;
    return size;
}

static int by_module_and_function(const void *first, const void *second)
{
    const struct candidate *a = first, *b = second;
    size_t a_size = module_size(a), b_size = module_size(b);
    int order = strncmp(name_of(a), name_of(b), a_size < b_size ? a_size : b_size);

    if (!order)
        order = (a_size > b_size) - (a_size < b_size);
    return order ? order
                 : strcmp(name_of(a) + a->function->function_at, name_of(b) + b->function->function_at);
}

static void collect(const struct callgraph *graph, const uint32_t *partner, struct side *side)
{
    side->count = 0;
    for (uint32_t i = 0; i < graph->function_count; i++)
        if (partner[i] == PAIRING_NONE)
            side->candidates[side->count++] = (struct candidate){&graph->functions[i], i};
}

static uint32_t same_from(const struct side *side, uint32_t at, compare_candidates *compare)
{
    uint32_t end = at + 1;

    while (end < side->count && compare(&side->candidates[at], &side->candidates[end]) == 0)
        end++;
    return end - at;
}

static void pair_up(struct side *before, struct side *after, compare_candidates *compare, bool only_single,
                    struct pairing *pairing)
{
    uint32_t i = 0, j = 0;

    qsort(before->candidates, before->count, sizeof *before->candidates, compare);
    qsort(after->candidates, after->count, sizeof *after->candidates, compare);
    while (i < before->count && j < after->count) {
        int order = compare(&before->candidates[i], &after->candidates[j]);
        uint32_t some = order <= 0 ? same_from(before, i, compare) : 0;
        uint32_t others = order >= 0 ? same_from(after, j, compare) : 0;
        bool allowed = !only_single || (some == 1 && others == 1);
        for (uint32_t k = 0; allowed && k < some && k < others; k++) {
            pairing->after_of[before->candidates[i + k].index] = after->candidates[j + k].index;
            pairing->before_of[after->candidates[j + k].index] = before->candidates[i + k].index;
        }
        i += some;
        j += others;
    }
}

static void fill(uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = PAIRING_NONE;
}

int pairing_make(const struct callgraph *before, const struct callgraph *after, struct pairing *pairing,
                 struct err *err)
{
    size_t before_count = before->function_count + 1, after_count = after->function_count + 1;
    struct side some = {calloc(before_count, sizeof *some.candidates), 0};
    struct side others = {calloc(after_count, sizeof *others.candidates), 0};
    int result = 0;

    pairing->after_of = calloc(before_count, sizeof *pairing->after_of);
    pairing->before_of = calloc(after_count, sizeof *pairing->before_of);
    if (some.candidates && others.candidates && pairing->after_of && pairing->before_of) {
        fill(pairing->after_of, before->function_count);
        fill(pairing->before_of, after->function_count);
        collect(before, pairing->after_of, &some);
        collect(after, pairing->before_of, &others);
        pair_up(&some, &others, by_name, false, pairing);
        collect(before, pairing->after_of, &some);
        collect(after, pairing->before_of, &others);
        pair_up(&some, &others, by_module_and_function, true, pairing);
    } else {
        result = err_set(err, "out of memory while comparing two call graphs");
    }
    free(some.candidates);
    free(others.candidates);
    if (result != 0)
        pairing_clear(pairing);
    return result;
}

void pairing_clear(struct pairing *pairing)
{
    free(pairing->after_of);
    free(pairing->before_of);
    *pairing = (struct pairing){0};
}
