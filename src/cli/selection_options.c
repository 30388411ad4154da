#include "cli/selection_options.h"

#include <stdlib.h>

#include "analyse/timeline.h"
#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

/* A day is 86400 of them: more digits than that are a mistake. */
#define SECONDS_MAX 1e9

static int bad_range(const char *range, struct err *err)
{
    return err_set(err, "--range '%s': give two times in seconds from the start of the run, such as 1.5,3",
                   range);
}

/* One end of the range, which `end` follows; 0 when it is left out. */
static int parse_end(const char *text, char end, uint64_t begin_ns, const char **rest, uint64_t *time_ns)
{
    char *after = (char *)text;
    double seconds = *text == end ? 0 : strtod(text, &after);
    if (*after != end || !(seconds >= 0 && seconds < SECONDS_MAX))
        return -1;
    *rest = after + 1;
    *time_ns = after == text ? 0 : begin_ns + (uint64_t)(seconds * 1e9);
    return 0;
}

static int parse_range(const char *range, const struct recording *recording, struct selection *selection,
                       struct err *err)
{
    struct timeline_axis axis = timeline_axis(recording);
    const char *rest;
    if (!axis.end_ns)
        return err_set(err, "--range: sums were recorded, not one time after the other");
    if (parse_end(range, ',', axis.begin_ns, &rest, &selection->begin_ns) < 0 ||
        parse_end(rest, '\0', axis.begin_ns, &rest, &selection->end_ns) < 0)
        return bad_range(range, err);
    if (selection->end_ns && selection->end_ns <= selection->begin_ns)
        return bad_range(range, err);
    return 0;
}

int selection_options_choose(const char *measure, const char *range, const struct recording *recording,
                             struct selection *selection, struct err *err)
{
    if (measure && measure_find(measure, &selection->measure, err) < 0)
        return -1;
    if (measure_is_memory(selection->measure) && !measure_has_memory(recording))
        return err_set(err, "the recording knows nothing of memory: 'sonde mem' records it");
    return range ? parse_range(range, recording, selection, err) : 0;
}
