#include "analyse/time_order.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/timeline.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

#define DEPTH_MAX 4096u

struct building {
    const struct recording *recording;
    struct time_order *order;
    uint64_t begin_ns, end_ns;
    double column_ns;
    /* the column in work: the longest piece of it so far */
    uint64_t column;
    struct span best;
    /* frames that are open, outermost first */
    uint32_t open_depth;
    uint32_t open_code[DEPTH_MAX];
    uint64_t open_start_ns[DEPTH_MAX];
    uint32_t path[DEPTH_MAX];
    bool failed;
};

bool time_order_add(struct time_order *order, const struct time_order_row *row)
{
    if (order->count == order->capacity) {
        uint32_t capacity = order->capacity * 2 + 1024;
        struct time_order_row *rows = realloc(order->rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        order->rows = rows;
        order->capacity = capacity;
    }
    if (row->depth >= order->levels)
        order->levels = row->depth + 1;
    order->rows[order->count++] = *row;
    return true;
}

static void add_row(struct building *building, uint32_t depth, uint64_t end_ns)
{
    const struct time_order_row row = {building->open_start_ns[depth], end_ns, building->open_code[depth],
                                       depth};
    if (!time_order_add(building->order, &row))
        building->failed = true;
}

/* The functions of a stack, outermost first; of very deep ones the root end. */
static uint32_t path_of(struct building *building, uint32_t node)
{
    const struct node *nodes = building->recording->nodes;
    uint32_t depth = 0;
    for (uint32_t at = node; at; at = nodes[at].parent)
        depth++;
    uint32_t kept = depth < DEPTH_MAX ? depth : DEPTH_MAX;
    for (uint32_t at = node, place = depth; at; at = nodes[at].parent)
        if (--place < kept)
            building->path[place] = nodes[at].code;
    return kept;
}

/* Frames that go on stay open; the others end here. */
static void change_to(struct building *building, uint32_t node, uint64_t at_ns)
{
    uint32_t depth = node == TIMELINE_GAP ? 0 : path_of(building, node), same = 0;
    while (same < depth && same < building->open_depth && building->path[same] == building->open_code[same])
        same++;
    while (building->open_depth > same)
        add_row(building, --building->open_depth, at_ns);
    for (; building->open_depth < depth; building->open_depth++) {
        building->open_code[building->open_depth] = building->path[building->open_depth];
        building->open_start_ns[building->open_depth] = at_ns;
    }
}

static uint64_t column_start(const struct building *building, uint64_t column)
{
    return building->begin_ns + (uint64_t)((double)column * building->column_ns);
}

static void finish_column(struct building *building)
{
    if (building->best.end_ns > building->best.start_ns)
        change_to(building, building->best.node, column_start(building, building->column));
    building->best = (struct span){0};
}

/* A piece that is shorter than a column competes for it; a longer one also fills those that it covers whole. */
static void add_piece(struct building *building, const struct span *span)
{
    uint64_t start_ns = span->start_ns > building->begin_ns ? span->start_ns : building->begin_ns;
    uint64_t end_ns = span->end_ns < building->end_ns ? span->end_ns : building->end_ns;
    while (start_ns < end_ns && !building->failed) {
        uint64_t column = (uint64_t)((double)(start_ns - building->begin_ns) / building->column_ns);
        if (column != building->column)
            finish_column(building);
        building->column = column;
        uint64_t border_ns = column_start(building, column + 1);
        uint64_t piece_end_ns = end_ns < border_ns || border_ns <= start_ns ? end_ns : border_ns;
        if (piece_end_ns - start_ns > building->best.end_ns - building->best.start_ns)
            building->best = (struct span){start_ns, piece_end_ns, span->node};
        start_ns = piece_end_ns;
        if (end_ns > border_ns && (double)(end_ns - start_ns) > 2 * building->column_ns) {
            /* The same stack to the last whole column: nothing to decide on the way. */
            finish_column(building);
            building->column = (uint64_t)((double)(end_ns - building->begin_ns) / building->column_ns);
            change_to(building, span->node, start_ns);
            start_ns = column_start(building, building->column);
        }
    }
}

static int by_depth_and_start(const void *a, const void *b)
{
    const struct time_order_row *left = a, *right = b;
    if (left->depth != right->depth)
        return left->depth < right->depth ? -1 : 1;
    return left->start_ns < right->start_ns ? -1 : left->start_ns > right->start_ns;
}

void time_order_sort(struct time_order *order)
{
    if (order->count)
        qsort(order->rows, order->count, sizeof *order->rows, by_depth_and_start);
}

int time_order_build(const struct recording *recording, const struct selection *selection, uint32_t thread,
                     uint64_t begin_ns, uint64_t end_ns, uint32_t columns, struct time_order *order,
                     struct err *err)
{
    *order = (struct time_order){0};
    struct timeline_axis axis = timeline_axis(recording);
    begin_ns = begin_ns > axis.begin_ns ? begin_ns : axis.begin_ns;
    end_ns = end_ns && end_ns < axis.end_ns ? end_ns : axis.end_ns;
    if (begin_ns >= end_ns)
        return 0;
    struct building *building = calloc(1, sizeof *building);
    if (!building)
        return err_set(err, "not enough memory to lay out the time");
    columns = columns && columns < TIME_ORDER_COLUMNS_MAX ? columns : TIME_ORDER_COLUMNS_MAX;
    *building = (struct building){.recording = recording,
                                  .order = order,
                                  .begin_ns = begin_ns,
                                  .end_ns = end_ns,
                                  .column_ns = (double)(end_ns - begin_ns) / columns};
    struct timeline timeline;
    struct span span;
    timeline_begin(&timeline, recording, selection, NULL, axis, thread);
    while (!building->failed && timeline_next(&timeline, &span) && span.start_ns < end_ns)
        add_piece(building, &span);
    finish_column(building);
    change_to(building, TIMELINE_GAP, end_ns);
    bool failed = building->failed;
    free(building);
    if (failed) {
        time_order_clear(order);
        return err_set(err, "not enough memory to lay out the time");
    }
    time_order_sort(order);
    return 0;
}

void time_order_clear(struct time_order *order)
{
    free(order->rows);
    *order = (struct time_order){0};
}
