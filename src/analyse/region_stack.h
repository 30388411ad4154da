/*
 * region_stack: which regions are open in a thread, while its events are gone through in order. An end that names its region finds
 * that one, whatever has begun since: tasks take turns on a thread. An end of what is not open finds nothing.
 *
 * A zeroed struct is empty. It owns its places; init makes room for all events of a recording, so that nothing fails later.
 */
#ifndef SONDE_ANALYSE_REGION_STACK_H
#define SONDE_ANALYSE_REGION_STACK_H

#include <stdint.h>

struct err;
struct recording;

struct region_stack {
    const struct recording *recording;
    uint32_t *open; /* the events that began them, the outermost first */
    uint32_t depth;
};

#define REGION_STACK_NONE UINT32_MAX

int region_stack_init(struct region_stack *stack, const struct recording *recording, struct err *err);
void region_stack_clear(struct region_stack *stack);

/* That event begins a region. Its place is the depth before. */
void region_stack_begin(struct region_stack *stack, uint32_t event);
/* The place, in `open`, of the region that this event ends; REGION_STACK_NONE = it is not open. */
uint32_t region_stack_find(const struct region_stack *stack, uint32_t event);
/* The region at that place is no longer open; those above it move down. */
void region_stack_remove(struct region_stack *stack, uint32_t place);

#endif
