#include "analyse/line_heat.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/weights.h"
#include "base/err.h"
#include "store/recording.h"

#define LINES_MAX 10000000u

/* Whose lines are asked for, and which functions' lines were timed. */
struct heating {
    const struct recording *recording;
    struct line_heat_of of;
    bool *timed; /* by code */
};

/* Samples and timers name a function apart: who sees it from outside does not know its module. */
static bool is_same(const struct recording *recording, uint32_t code, uint32_t other)
{
    const struct code *a = &recording->codes[code], *b = &recording->codes[other];
    return code == other || (a->file == b->file && a->line == b->line && a->name == b->name);
}

static bool is_there(const struct heating *heating, uint32_t code)
{
    return heating->recording->codes[code].file == heating->of.file &&
           (!heating->of.code || is_same(heating->recording, heating->of.code, code));
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

/* The same of a line whose memory was measured. */
static uint32_t measured_line_in(const struct heating *heating, const struct line_memory_row *row)
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
    for (uint32_t i = 0; i < recording->line_memory_count; i++) {
        uint32_t line = measured_line_in(heating, &recording->line_memory[i]);
        last = line > last ? line : last;
    }
    heat->count = last ? last + 1 : 0;
    heat->rows = calloc((size_t)heat->count + 1, sizeof *heat->rows);
    return heat->rows ? 0 : -1;
}

/* Of each node what ended there. */
struct by_node {
    uint64_t *amounts, *samples;
};

static void add_weight(const struct weight *weight, void *context)
{
    const struct by_node *sums = context;
    sums->amounts[weight->node] += weight->amount;
    sums->samples[weight->node] += weight->samples;
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

static void add_stacks(const struct heating *heating, const struct by_node *sums, struct line_heat *heat)
{
    const struct node *nodes = heating->recording->nodes;
    uint64_t *total = sums->amounts; /* each node's own, until those below were added to it */
    for (uint32_t i = 1; i < heating->recording->nodes_count; i++)
        heat->rows[line_in(heating, &nodes[i])].self += total[i];
    for (uint32_t i = heating->recording->nodes_count; i-- > 1;) {
        uint32_t line = line_in(heating, &nodes[i]);
        if (line && total[i] && !is_repeated(heating, i, line))
            heat->rows[line].total += total[i];
        if (line)
            heat->rows[line].samples += sums->samples[i];
        total[nodes[i].parent] += total[i];
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
        heat->rows[line].self += row->self_ns;
        heat->rows[line].total += row->total_ns;
    }
}

static bool knows_heap(const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->line_memory_count; i++)
        if (recording->line_memory[i].heap_bytes)
            return true;
    return false;
}

static void add_memory(const struct heating *heating, const struct selection *selection,
                       struct line_heat *heat)
{
    const struct recording *recording = heating->recording;
    bool heap = knows_heap(recording);
    for (uint32_t i = 0; i < recording->line_memory_count; i++) {
        const struct line_memory_row *row = &recording->line_memory[i];
        uint32_t line = measured_line_in(heating, row);
        if (!line || !tree_selection_has(selection, recording, row->thread))
            continue;
        uint64_t bytes = heap ? row->heap_bytes : row->rss_bytes;
        struct line_heat_row *sum = &heat->rows[line];
        sum->hits += row->hits;
        sum->growth_bytes += heap ? row->heap_growth_bytes : row->rss_growth_bytes;
        sum->highest_bytes = bytes > sum->highest_bytes ? bytes : sum->highest_bytes;
        heat->has_memory = true;
    }
}

static int build(const struct heating *heating, const struct selection *selection, struct line_heat *heat,
                 struct err *err)
{
    const struct recording *recording = heating->recording;
    size_t count = (size_t)recording->nodes_count + 1;
    struct by_node sums = {calloc(count, sizeof *sums.amounts), calloc(count, sizeof *sums.samples)};
    int result = sums.amounts && sums.samples ? make_rows(heating, heat) : -1;
    if (result < 0)
        err_set(err, "not enough memory for the lines of a file");
    else
        result = weights_each(recording, selection, add_weight, &sums, err);
    if (result == 0) {
        add_stacks(heating, &sums, heat);
        if (!measure_is_memory(measure_of(recording, selection)))
            add_lines(heating, selection, heat);
        add_memory(heating, selection, heat);
    }
    free(sums.amounts);
    free(sums.samples);
    return result;
}

/* Whether the function was timed under another id. `first` and `last` enclose the codes that were timed. */
static bool is_timed_elsewhere(const struct heating *heating, uint32_t code, uint32_t first, uint32_t last)
{
    for (uint32_t other = first; other <= last; other++)
        if (heating->timed[other] && is_same(heating->recording, other, code))
            return true;
    return false;
}

static void find_timed(const struct heating *heating)
{
    const struct recording *recording = heating->recording;
    uint32_t first = UINT32_MAX, last = 0;
    for (uint32_t i = 0; i < recording->lines_count; i++) {
        uint32_t code = recording->lines[i].code;
        heating->timed[code] = true;
        first = code < first ? code : first;
        last = code > last ? code : last;
    }
    for (uint32_t code = 1; last && code < recording->codes_count; code++)
        if (!heating->timed[code] && recording->codes[code].file == heating->of.file)
            heating->timed[code] = is_timed_elsewhere(heating, code, first, last);
}

int line_heat_build(const struct recording *recording, const struct selection *selection,
                    struct line_heat_of of, struct line_heat *heat, struct err *err)
{
    *heat = (struct line_heat){0};
    struct heating heating = {recording, of, calloc((size_t)recording->codes_count + 1, sizeof(bool))};
    if (!heating.timed)
        return err_set(err, "not enough memory for the lines of a file");
    if (!measure_is_memory(measure_of(recording, selection)))
        find_timed(&heating);
    int result = build(&heating, selection, heat, err);
    free(heating.timed);
    if (result < 0)
        line_heat_clear(heat);
    return result;
}

void line_heat_clear(struct line_heat *heat)
{
    free(heat->rows);
    *heat = (struct line_heat){0};
}
