#include "analyse/regions.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/region_walk.h"
#include "analyse/series.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

#define PARTS_MAX (16u << 20) /* regions of processes that are compared; of more the sums are shown alone */

/* What a region took in one process. */
struct part {
    bool ran;
    uint64_t total_ns;
};

struct summing {
    const struct recording *recording;
    const struct selection *selection;
    struct regions_row *rows; /* by region */
    uint32_t *first;          /* by region: the first one of its name; files that are merged have their own */
    struct part *parts;       /* by region, then process; NULL unless there are several */
};

static struct part *part_of(const struct summing *summing, uint32_t region, uint32_t process)
{
    return &summing->parts[(size_t)region * summing->recording->processes_count + process];
}

static void add_part(struct summing *summing, const struct region_span *span)
{
    uint32_t process = summing->recording->threads[span->thread].process;
    struct part *part = part_of(summing, summing->first[span->region], process);
    part->ran = true;
    part->total_ns += span->end_ns - span->outer_begin_ns;
}

static void add(const struct region_span *span, void *context)
{
    struct summing *summing = context;
    struct regions_row *row = &summing->rows[summing->first[span->region]];
    uint64_t length_ns = span->end_ns - span->begin_ns;
    if (!tree_selection_has(summing->selection, summing->recording, span->thread))
        return;
    row->open += !span->ended;
    row->self_ns += span->self_ns;
    row->lengths_ns += length_ns;
    row->least_ns = row->count && row->least_ns < length_ns ? row->least_ns : length_ns;
    row->most_ns = row->most_ns > length_ns ? row->most_ns : length_ns;
    row->most = row->count && row->most > span->begin_value ? row->most : span->begin_value;
    row->most = row->most > span->end_value ? row->most : span->end_value;
    row->count++;
    if (!span->closes)
        return;
    row->total_ns += span->end_ns - span->outer_begin_ns;
    if (summing->parts)
        add_part(summing, span);
    row->growth =
        (int64_t)((uint64_t)row->growth + (uint64_t)span->end_value - (uint64_t)span->outer_begin_value);
}

static int by_time(const void *left, const void *right)
{
    const struct regions_row *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return (a->region > b->region) - (a->region < b->region);
}

static void compare_processes(const struct summing *summing, struct regions_row *row)
{
    for (uint32_t i = 0; i < summing->recording->processes_count; i++) {
        const struct part *part = part_of(summing, row->region, i);
        if (!part->ran)
            continue;
        if (!row->processes || part->total_ns < row->least_process_ns) {
            row->least_process = i;
            row->least_process_ns = part->total_ns;
        }
        if (!row->processes || part->total_ns > row->most_process_ns) {
            row->most_process = i;
            row->most_process_ns = part->total_ns;
        }
        row->processes++;
    }
}

static void keep_those_that_ran(const struct summing *summing, struct regions *regions)
{
    regions->rows = summing->rows;
    for (uint32_t i = 1; i < summing->recording->regions_count; i++) {
        struct regions_row *row = &summing->rows[i];
        row->region = i;
        if (!row->count)
            continue;
        if (summing->parts)
            compare_processes(summing, row);
        regions->rows[regions->count++] = *row;
    }
    qsort(regions->rows, regions->count, sizeof *regions->rows, by_time);
}

static void find_first(const struct recording *recording, uint32_t *of_name, uint32_t *first)
{
    for (uint32_t i = 1; i < recording->regions_count; i++) {
        uint32_t name = recording->regions[i].name;
        if (!of_name[name])
            of_name[name] = i;
        first[i] = of_name[name];
    }
}

static int make_room(struct summing *summing, struct err *err)
{
    size_t regions = (size_t)summing->recording->regions_count + 1,
           processes = summing->recording->processes_count;
    summing->rows = calloc(regions, sizeof *summing->rows);
    summing->first = calloc(regions, sizeof *summing->first);
    uint32_t *of_name = calloc((size_t)summing->recording->strings.count + 1, sizeof *of_name);
    if (processes > 2 && regions * processes <= PARTS_MAX)
        summing->parts = calloc(regions * processes, sizeof *summing->parts);
    bool has_room = summing->rows && summing->first && of_name;
    if (has_room)
        find_first(summing->recording, of_name, summing->first);
    free(of_name);
    return has_room ? 0 : err_set(err, "out of memory while adding regions up");
}

int regions_build(const struct recording *recording, const struct selection *selection,
                  struct regions *regions, struct err *err)
{
    struct timeline_axis axis = series_whole_axis(recording);
    struct summing summing = {.recording = recording, .selection = selection};
    *regions = (struct regions){.run_ns = axis.end_ns - axis.begin_ns};
    int result = make_room(&summing, err);
    if (result == 0)
        result = region_walk_each(recording, 0, axis.end_ns, add, &summing, err);
    if (result == 0)
        keep_those_that_ran(&summing, regions);
    else
        free(summing.rows);
    free(summing.first);
    free(summing.parts);
    return result;
}

void regions_clear(struct regions *regions)
{
    free(regions->rows);
    *regions = (struct regions){0};
}
