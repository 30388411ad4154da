#include "analyse/line_heat.h"

#include <stdlib.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

#define LINES_MAX 10000000u

/* The line of a node there; 0 = it is elsewhere, or not known. */
static uint32_t line_in(const struct recording *recording, struct line_heat_of of, const struct node *node)
{
    bool is_there = recording->codes[node->code].file == of.file && (!of.code || of.code == node->code);
    return is_there && node->line < LINES_MAX ? node->line : 0;
}

static int make_rows(const struct recording *recording, struct line_heat_of of, struct line_heat *heat)
{
    for (uint32_t i = 1; i < recording->nodes_count; i++) {
        uint32_t line = line_in(recording, of, &recording->nodes[i]);
        if (line >= heat->count)
            heat->count = line + 1;
    }
    heat->rows = calloc((size_t)heat->count + 1, sizeof *heat->rows);
    return heat->rows ? 0 : -1;
}

/* Of each node the time that ended there. */
static uint64_t *sum_by_node(const struct recording *recording, const struct selection *selection,
                             uint64_t *samples)
{
    uint64_t *own_ns = calloc((size_t)recording->nodes_count + 1, sizeof *own_ns);
    for (uint32_t i = 0; own_ns && i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        if (!tree_selection_has_sample(selection, recording, row))
            continue;
        own_ns[row->node] += row->weight_ns;
        samples[row->node] += row->count;
    }
    return own_ns;
}

/* Whether an ancestor is at the same line: then that one has the time already. */
static bool is_repeated(const struct recording *recording, struct line_heat_of of, uint32_t at, uint32_t line)
{
    for (at = recording->nodes[at].parent; at; at = recording->nodes[at].parent)
        if (line_in(recording, of, &recording->nodes[at]) == line)
            return true;
    return false;
}

static void add_up(const struct recording *recording, struct line_heat_of of, uint64_t *total_ns,
                   const uint64_t *samples, struct line_heat *heat)
{
    for (uint32_t i = recording->nodes_count; i-- > 1;) {
        uint32_t line = line_in(recording, of, &recording->nodes[i]);
        if (line && total_ns[i] && !is_repeated(recording, of, i, line))
            heat->rows[line].total_ns += total_ns[i];
        if (line)
            heat->rows[line].samples += samples[i];
        total_ns[recording->nodes[i].parent] += total_ns[i];
    }
}

int line_heat_build(const struct recording *recording, const struct selection *selection,
                    struct line_heat_of of, struct line_heat *heat, struct err *err)
{
    *heat = (struct line_heat){0};
    uint64_t *samples = calloc((size_t)recording->nodes_count + 1, sizeof *samples);
    uint64_t *own_ns = samples ? sum_by_node(recording, selection, samples) : NULL;
    int result = own_ns ? make_rows(recording, of, heat) : -1;
    for (uint32_t i = 1; result == 0 && i < recording->nodes_count; i++)
        heat->rows[line_in(recording, of, &recording->nodes[i])].self_ns += own_ns[i];
    if (result == 0)
        add_up(recording, of, own_ns, samples, heat);
    free(samples);
    free(own_ns);
    return result < 0 ? err_set(err, "not enough memory for the lines of a file") : 0;
}

void line_heat_clear(struct line_heat *heat)
{
    free(heat->rows);
    *heat = (struct line_heat){0};
}
