#include "analyse/cycles.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"

/* One function that is being visited, and which of its calls comes next. */
struct visit {
    uint32_t function;
    uint32_t next_call;
};

struct search {
    const struct cycles_graph *graph;
    uint32_t *order; /* 1, 2, ... in order of discovery; 0 = not seen yet */
    uint32_t *low;   /* smallest order that can be reached */
    bool *open;      /* seen, its component not closed yet */
    uint32_t *members;
    uint32_t member_count;
    struct visit *visits;
    uint32_t visit_count;
    uint32_t last_order;
    uint32_t *cycle;
    uint32_t cycle_count;
};

static void enter(struct search *search, uint32_t function)
{
    search->order[function] = search->low[function] = ++search->last_order;
    search->open[function] = true;
    search->members[search->member_count++] = function;
    search->visits[search->visit_count++] = (struct visit){function, search->graph->first[function]};
}

static void lower(struct search *search, uint32_t function, uint32_t order)
{
    if (order < search->low[function])
        search->low[function] = order;
}

/* The component whose first function is `function` is complete: the last members up to it. */
static void close_component(struct search *search, uint32_t function)
{
    bool alone = search->members[search->member_count - 1] == function;
    uint32_t number = alone ? 0 : ++search->cycle_count;
    uint32_t member;

    do {
        member = search->members[--search->member_count];
        search->open[member] = false;
        search->cycle[member] = number;
    } while (member != function);
}

static void leave(struct search *search, uint32_t function)
{
    search->visit_count--;
    if (search->low[function] == search->order[function])
        close_component(search, function);
    if (search->visit_count)
        lower(search, search->visits[search->visit_count - 1].function, search->low[function]);
}

static void visit_from(struct search *search, uint32_t function)
{
    enter(search, function);
    while (search->visit_count) {
        struct visit *visit = &search->visits[search->visit_count - 1];
        if (visit->next_call == search->graph->first[visit->function + 1]) {
            leave(search, visit->function);
            continue;
        }
        uint32_t callee = search->graph->callees[visit->next_call++];
        if (!search->order[callee])
            enter(search, callee);
        else if (search->open[callee])
            lower(search, visit->function, search->order[callee]);
    }
}

int cycles_find(const struct cycles_graph *graph, uint32_t *cycle, uint32_t *cycle_count, struct err *err)
{
    size_t count = graph->count ? graph->count : 1;
    struct search search = {.graph = graph, .cycle = cycle};
    int result = 0;

    search.order = calloc(count, sizeof *search.order);
    search.low = calloc(count, sizeof *search.low);
    search.open = calloc(count, sizeof *search.open);
    search.members = calloc(count, sizeof *search.members);
    search.visits = calloc(count, sizeof *search.visits);
    if (search.order && search.low && search.open && search.members && search.visits) {
        for (uint32_t function = 0; function < graph->count; function++)
            if (!search.order[function])
                visit_from(&search, function);
        *cycle_count = search.cycle_count;
    } else {
        result = err_set(err, "out of memory while looking for recursion among %u functions", graph->count);
    }
    free(search.order);
    free(search.low);
    free(search.open);
    free(search.members);
    free(search.visits);
    return result;
}
