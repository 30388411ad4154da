#include "analyse/region_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/recording.h"

int region_stack_init(struct region_stack *stack, const struct recording *recording, struct err *err)
{
    *stack = (struct region_stack){.recording = recording};
    stack->open = malloc(((size_t)recording->region_events_count + 1) * sizeof *stack->open);
    return stack->open ? 0 : err_set(err, "out of memory for regions");
}

void region_stack_clear(struct region_stack *stack)
{
    free(stack->open);
    *stack = (struct region_stack){0};
}

void region_stack_begin(struct region_stack *stack, uint32_t event)
{
    stack->open[stack->depth++] = event;
}

/* So many of the innermost are looked at: a hostile file may leave a million open. */
#define REACH 4096

uint32_t region_stack_find(const struct region_stack *stack, uint32_t event)
{
    const struct region_event_row *events = stack->recording->region_events;
    uint32_t back = events[event].back, last = stack->depth > REACH ? stack->depth - REACH : 0;
    for (uint32_t place = stack->depth; place-- > last;)
        if ((!events[event].ends || events[stack->open[place]].region == events[event].ends) && !back--)
            return place;
    return REGION_STACK_NONE;
}

void region_stack_remove(struct region_stack *stack, uint32_t place)
{
    stack->depth--;
    memmove(stack->open + place, stack->open + place + 1, (stack->depth - place) * sizeof *stack->open);
}
