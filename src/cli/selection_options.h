/*
 * selection_options: --measure and --range, which all commands that show stacks take: what is shown of a recording, and of
 * which time; and --module, --region and --rank: a part of it.
 */
#ifndef SONDE_CLI_SELECTION_OPTIONS_H
#define SONDE_CLI_SELECTION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"

struct err;
struct recording;
struct selection;

#define SELECTION_OPTIONS_MEASURE_HELP                                                                       \
    "Of memory: what to show: bytes alive at the peak, allocated in all (total), never freed (leaked) or "   \
    "freed "                                                                                                 \
    "at once (temporary), or numbers of blocks: count (all of them), peak-count, leaked-count, "             \
    "temporary-count. "                                                                                      \
    "Without it: peak, or the time where there is any."
#define SELECTION_OPTIONS_RANGE_HELP                                                                         \
    "Only what happened from second A to second B of the run (either may be left out); of memory: what was " \
    "allocated then and not freed then."

#define SELECTION_OPTIONS_MODULE_HELP                                                                        \
    "Only stacks that pass through this module (or package, or library): the time in it and in what it "     \
    "called, below its callers; may be repeated, and then any of them will do."

#define SELECTION_OPTIONS_REGION_HELP                                                                        \
    "Only what threads did while they were in this region (a timer, a zone, a marked function), as far as "  \
    "samples or single allocations were recorded."

#define SELECTION_OPTIONS_RANK_HELP                                                                          \
    "Of a run with ranks only these, such as 0,7,100-115, as if there were no others."

/* What --module, --region and --rank say; a zeroed struct is the whole. */
struct selection_part {
    struct option_list modules;
    const char *region;
    const char *ranks;
};

/* The rows of all, which are a member `part` of the command's values. */
#define SELECTION_OPTIONS_PART(values)                                                                       \
    OPTION_ROW("module", 0, OPTION_LIST, "NAME", offsetof(values, part.modules), NULL,                       \
               SELECTION_OPTIONS_MODULE_HELP),                                                               \
        OPTION_ROW("region", 0, OPTION_TEXT, "NAME", offsetof(values, part.region), NULL,                    \
                   SELECTION_OPTIONS_REGION_HELP),                                                           \
        OPTION_ROW("rank", 0, OPTION_TEXT, "LIST", offsetof(values, part.ranks), NULL,                       \
                   SELECTION_OPTIONS_RANK_HELP)

/* `measure` and `range` as they were typed; NULL = not at all. */
int selection_options_choose(const char *measure, const char *range, const struct recording *recording,
                             struct selection *selection, struct err *err);

/* Of memory, measures are also keys of --sort: the last of them says what is shown, in place of `measure`. */
const char *selection_options_measure(const char *measure, const struct option_list *sort,
                                      const struct recording *recording);
bool selection_options_is_measure(const char *key);

/* Leaves only that part in the recording. */
int selection_options_narrow(const struct selection_part *part, struct recording *recording, struct err *err);
/* The same of one of many files of a run, in which there may be nothing of it. */
int selection_options_narrow_some(const struct selection_part *part, struct recording *recording,
                                  struct err *err);

/* "A,B" → seconds from the start; an end that is left out is 0 or infinite. */
int selection_options_range(const char *range, double *from_s, double *to_s, struct err *err);

#endif
