#include "store/flat.h"

#include "store/recording.h"

int flat_add_function(struct flat *flat, struct recording *recording, const struct flat_function *function)
{
    uint32_t row = map_get(&flat->functions, function->code);
    if (row == MAP_NONE) {
        row = recording_add_function(recording, function);
        return row != UINT32_MAX && map_set(&flat->functions, function->code, row) ? 0 : -1;
    }
    struct flat_function *sum = &recording->functions[row];
    sum->calls += function->calls;
    sum->primitive_calls += function->primitive_calls;
    sum->self_ns += function->self_ns;
    sum->total_ns += function->total_ns;
    return 0;
}

int flat_add_edge(struct flat *flat, struct recording *recording, const struct flat_edge *edge)
{
    uint64_t pair = map_pair(edge->caller, edge->callee);
    uint32_t row = map_get(&flat->edges, pair);
    if (row == MAP_NONE) {
        row = recording_add_edge(recording, edge);
        return row != UINT32_MAX && map_set(&flat->edges, pair, row) ? 0 : -1;
    }
    struct flat_edge *sum = &recording->edges[row];
    sum->calls += edge->calls;
    sum->primitive_calls += edge->primitive_calls;
    sum->self_ns += edge->self_ns;
    sum->total_ns += edge->total_ns;
    return 0;
}

void flat_clear(struct flat *flat)
{
    map_clear(&flat->functions);
    map_clear(&flat->edges);
}
