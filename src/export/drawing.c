#include "export/drawing.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/callgraph.h"
#include "analyse/pairing.h"
#include "base/err.h"

static const struct callgraph nothing;

/* Numbers in the drawing of the functions of both graphs; PAIRING_NONE = not drawn. */
struct numbers {
    uint32_t *before, *after;
};

static void draw_function(struct drawing *drawing, const struct callgraph_function *before,
                          const struct callgraph_function *after)
{
    drawing->functions[drawing->function_count++] = (struct drawing_function){before, after};
}

static void draw_functions(const struct callgraph *before, const struct callgraph *after,
                           const struct pairing *pairing, struct numbers *numbers, struct drawing *drawing)
{
    for (uint32_t i = 0; i < before->function_count; i++) {
        uint32_t partner = pairing->after_of[i];
        const struct callgraph_function *other = partner == PAIRING_NONE ? NULL : &after->functions[partner];
        bool drawn = before->functions[i].kept || (other && other->kept);
        numbers->before[i] = drawn ? drawing->function_count : PAIRING_NONE;
        if (other)
            numbers->after[partner] = numbers->before[i];
        if (drawn)
            draw_function(drawing, &before->functions[i], other);
    }
    for (uint32_t i = 0; i < after->function_count; i++) {
        if (pairing->before_of[i] != PAIRING_NONE)
            continue;
        numbers->after[i] = after->functions[i].kept ? drawing->function_count : PAIRING_NONE;
        if (after->functions[i].kept)
            draw_function(drawing, NULL, &after->functions[i]);
    }
}

/* The call of the other run between the partners of its two functions, or NULL. */
static const struct callgraph_call *partner_of(const struct callgraph_call *call, const uint32_t *partner,
                                               const struct callgraph *other)
{
    uint32_t caller = partner[call->caller], callee = partner[call->callee];

    if (caller == PAIRING_NONE || callee == PAIRING_NONE)
        return NULL;
    uint32_t low = other->first_call[caller], high = other->first_call[caller + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (other->calls[middle].callee < callee)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < other->first_call[caller + 1] && other->calls[low].callee == callee;
    return found ? &other->calls[low] : NULL;
}

static void draw_calls(const struct callgraph *before, const struct callgraph *after,
                       const struct pairing *pairing, const struct numbers *numbers, struct drawing *drawing)
{
    for (uint32_t i = 0; i < before->call_count; i++) {
        const struct callgraph_call *call = &before->calls[i];
        const struct callgraph_call *other = partner_of(call, pairing->after_of, after);
        if (call->kept || (other && other->kept))
            drawing->calls[drawing->call_count++] = (struct drawing_call){
                numbers->before[call->caller], numbers->before[call->callee], call, other};
    }
    for (uint32_t i = 0; i < after->call_count; i++) {
        const struct callgraph_call *call = &after->calls[i];
        if (call->kept && !partner_of(call, pairing->before_of, before))
            drawing->calls[drawing->call_count++] =
                (struct drawing_call){numbers->after[call->caller], numbers->after[call->callee], NULL, call};
    }
}

int drawing_make(const struct callgraph *before, const struct callgraph *after, struct drawing *drawing,
                 struct err *err)
{
    struct pairing pairing = {0};
    struct numbers numbers;

    if (!after)
        after = &nothing;
    if (pairing_make(before, after, &pairing, err) != 0)
        return -1;
    size_t functions = (size_t)before->function_count + after->function_count + 1;
    size_t calls = (size_t)before->call_count + after->call_count + 1;
    numbers.before = calloc(before->function_count + (size_t)1, sizeof *numbers.before);
    numbers.after = calloc(after->function_count + (size_t)1, sizeof *numbers.after);
    drawing->functions = calloc(functions, sizeof *drawing->functions);
    drawing->calls = calloc(calls, sizeof *drawing->calls);
    bool good = numbers.before && numbers.after && drawing->functions && drawing->calls;
    if (good) {
        draw_functions(before, after, &pairing, &numbers, drawing);
        draw_calls(before, after, &pairing, &numbers, drawing);
    }
    free(numbers.before);
    free(numbers.after);
    pairing_clear(&pairing);
    if (good)
        return 0;
    drawing_clear(drawing);
    return err_set(err, "out of memory while drawing the call graph");
}

void drawing_clear(struct drawing *drawing)
{
    free(drawing->functions);
    free(drawing->calls);
    *drawing = (struct drawing){0};
}
