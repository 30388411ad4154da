#include "cli/selection_options.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "analyse/chosen.h"
#include "analyse/rank_part.h"
#include "analyse/region_spans.h"
#include "analyse/series.h"
#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

/* A day is 86400 of them: more digits than that are a mistake. */
#define SECONDS_MAX 1e9

/* One end of the range, which `end` follows; `otherwise` when it is left out. */
static const char *parse_end(const char *text, char end, double otherwise, double *seconds)
{
    char *after = (char *)text;
    *seconds = *text == end ? otherwise : strtod(text, &after);
    bool good = *after == end && (after == text || (*seconds >= 0 && *seconds < SECONDS_MAX));
    return good ? after + 1 : NULL;
}

int selection_options_range(const char *range, double *from_s, double *to_s, struct err *err)
{
    const char *rest = parse_end(range, ',', 0, from_s);
    if (rest && parse_end(rest, '\0', INFINITY, to_s) && *from_s < *to_s)
        return 0;
    return err_set(err, "--range '%s': give two times in seconds from the start of the run, such as 1.5,3",
                   range);
}

static int choose_range(const char *range, const struct recording *recording, struct selection *selection,
                        struct err *err)
{
    struct timeline_axis axis = series_whole_axis(recording);
    double from_s, to_s;
    if (!axis.end_ns)
        return err_set(err, "--range: sums were recorded, not one time after the other");
    if (selection_options_range(range, &from_s, &to_s, err) < 0)
        return -1;
    selection->begin_ns = from_s > 0 ? axis.begin_ns + (uint64_t)(from_s * 1e9) : 0;
    selection->end_ns = isfinite(to_s) ? axis.begin_ns + (uint64_t)(to_s * 1e9) : 0;
    return 0;
}

int selection_options_choose(const char *measure, const char *range, const struct recording *recording,
                             struct selection *selection, struct err *err)
{
    if (measure && measure_find(measure, &selection->measure, err) < 0)
        return -1;
    if (measure_is_memory(selection->measure) && !measure_has_memory(recording))
        return err_set(err, "the recording knows nothing of memory: 'sonde mem' records it");
    if (selection->measure == MEASURE_SAMPLED && !recording->samples_count)
        return err_set(err, "the recording has no samples: 'sonde record' takes them, and others do by "
                            "--with sample");
    return range ? choose_range(range, recording, selection, err) : 0;
}

bool selection_options_is_measure(const char *key)
{
    enum measure found;
    return measure_find(key, &found, NULL) == 0 && measure_is_memory(found);
}

const char *selection_options_measure(const char *measure, const struct option_list *sort,
                                      const struct recording *recording)
{
    for (size_t i = 0; i < sort->count && measure_has_memory(recording); i++)
        measure = selection_options_is_measure(sort->items[i]) ? sort->items[i] : measure;
    return measure;
}

static int check_modules(const struct selection_part *part, const struct recording *recording,
                         struct err *err)
{
    for (size_t i = 0; i < part->modules.count; i++)
        if (!chosen_has_module(recording, part->modules.items[i]))
            return err_set(err, "no module '%s' in the recording: 'sonde report --by module' lists them",
                           part->modules.items[i]);
    return 0;
}

/* What was added up over the whole run cannot be told by region. */
static int check_region(const char *region, const struct recording *recording, struct err *err)
{
    if (!region)
        return 0;
    if (!recording->region_events_count)
        return err_set(
            err, "--region: the recording has no regions; sonde.timed_region, zones and --marks make some");
    if (!region_spans_knows(recording, region))
        return err_set(err, "no region '%s' in the recording: 'sonde report --regions' lists them", region);
    if (!recording->samples_count && !recording->allocations_count && !recording->call_events_count)
        return err_set(
            err,
            "--region: calls were added up, not kept one after the other; 'sonde trace --timeline' keeps "
            "them, 'sonde record' takes samples");
    return 0;
}

int selection_options_narrow_some(const struct selection_part *part, struct recording *recording,
                                  struct err *err)
{
    struct bytes lines = {0};
    struct chosen chosen = {0};
    if (part->ranks && rank_part_keep(recording, part->ranks, err) < 0)
        return -1;
    if (!part->region && !part->modules.count)
        return 0;
    for (size_t i = 0; i < part->modules.count; i++)
        bytes_putf(&lines, "%s\n", part->modules.items[i]);
    bytes_put_u8(&lines, 0);
    const struct chosen_by by = {.modules = (const char *)lines.data, .region = part->region};
    int result = lines.failed ? err_set(err, "not enough memory for the modules")
                              : chosen_build(recording, by, &chosen, err);
    if (result == 0)
        chosen_take(&chosen, recording);
    bytes_clear(&lines);
    return result;
}

int selection_options_narrow(const struct selection_part *part, struct recording *recording, struct err *err)
{
    if (check_region(part->region, recording, err) < 0 || check_modules(part, recording, err) < 0)
        return -1;
    return selection_options_narrow_some(part, recording, err);
}
