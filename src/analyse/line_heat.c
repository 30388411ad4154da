#include "analyse/line_heat.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

#define LINES_MAX 10000000u

/* Whose lines are asked for, and which functions' lines were timed. */
struct heating {
    const struct recording *recording;
    struct line_heat_of of;
    bool *timed; /* by code */
};

static bool is_there(const struct heating *heating, uint32_t code)
{
    return heating->recording->codes[code].file == heating->of.file &&
           (!heating->of.code || heating->of.code == code);
}

/* The line of a node there; 0 = it is elsewhere, not known, or better known. */
static uint32_t line_in(const struct heating *heating, const struct node *node)
{
    bool sampled = is_there(heating, node->code) && !heating->timed[node->code];
    return sampled && node->line < LINES_MAX ? node->line : 0;
}

/* The same of a line that was timed. */
static uint32_t timed_line_in(const struct heating *heating, const struct line_row *row)
{
    return is_there(heating, row->code) && row->line < LINES_MAX ? row->line : 0;
}

static int make_rows(const struct heating *heating, struct line_heat *heat)
{
    const struct recording *recording = heating->recording;
    uint32_t last = 0;
    for (uint32_t i = 1; i < recording->nodes_count; i++) {
        uint32_t line = line_in(heating, &recording->nodes[i]);
        last = line > last ? line : last;
    }
    for (uint32_t i = 0; i < recording->lines_count; i++) {
        uint32_t line = timed_line_in(heating, &recording->lines[i]);
        last = line > last ? line : last;
    }
    heat->count = last ? last + 1 : 0;
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
static bool is_repeated(const struct heating *heating, uint32_t at, uint32_t line)
{
    const struct node *nodes = heating->recording->nodes;
    for (at = nodes[at].parent; at; at = nodes[at].parent)
        if (line_in(heating, &nodes[at]) == line)
            return true;
    return false;
}

static void add_samples(const struct heating *heating, uint64_t *total_ns, const uint64_t *samples,
                        struct line_heat *heat)
{
    const struct node *nodes = heating->recording->nodes;
    for (uint32_t i = 1; i < heating->recording->nodes_count; i++)
        heat->rows[line_in(heating, &nodes[i])].self_ns += total_ns[i];
    for (uint32_t i = heating->recording->nodes_count; i-- > 1;) {
        uint32_t line = line_in(heating, &nodes[i]);
        if (line && total_ns[i] && !is_repeated(heating, i, line))
            heat->rows[line].total_ns += total_ns[i];
        if (line)
            heat->rows[line].samples += samples[i];
        total_ns[nodes[i].parent] += total_ns[i];
    }
}

static void add_lines(const struct heating *heating, const struct selection *selection,
                      struct line_heat *heat)
{
    const struct recording *recording = heating->recording;
    for (uint32_t i = 0; i < recording->lines_count; i++) {
        const struct line_row *row = &recording->lines[i];
        uint32_t line = timed_line_in(heating, row);
        if (!line || !tree_selection_has(selection, recording, row->thread))
            continue;
        heat->rows[line].hits += row->hits;
        heat->rows[line].self_ns += row->self_ns;
        heat->rows[line].total_ns += row->total_ns;
    }
}

static int build(const struct heating *heating, const struct selection *selection, struct line_heat *heat)
{
    const struct recording *recording = heating->recording;
    uint64_t *samples = calloc((size_t)recording->nodes_count + 1, sizeof *samples);
    uint64_t *own_ns = samples ? sum_by_node(recording, selection, samples) : NULL;
    int result = own_ns ? make_rows(heating, heat) : -1;
    if (result == 0) {
        add_samples(heating, own_ns, samples, heat);
        add_lines(heating, selection, heat);
    }
    free(samples);
    free(own_ns);
    return result;
}

int line_heat_build(const struct recording *recording, const struct selection *selection,
                    struct line_heat_of of, struct line_heat *heat, struct err *err)
{
    *heat = (struct line_heat){0};
    struct heating heating = {recording, of, calloc((size_t)recording->codes_count + 1, sizeof(bool))};
    for (uint32_t i = 0; heating.timed && i < recording->lines_count; i++)
        heating.timed[recording->lines[i].code] = true;
    int result = heating.timed ? build(&heating, selection, heat) : -1;
    free(heating.timed);
    return result < 0 ? err_set(err, "not enough memory for the lines of a file") : 0;
}

void line_heat_clear(struct line_heat *heat)
{
    free(heat->rows);
    *heat = (struct line_heat){0};
}
