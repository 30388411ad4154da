/*
 * selection_options: --measure and --range, which all commands that show stacks take: what is shown of a recording, and of
 * which time.
 */
#ifndef SONDE_CLI_SELECTION_OPTIONS_H
#define SONDE_CLI_SELECTION_OPTIONS_H

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

/* `measure` and `range` as they were typed; NULL = not at all. */
int selection_options_choose(const char *measure, const char *range, const struct recording *recording,
                             struct selection *selection, struct err *err);

/* "A,B" → seconds from the start; an end that is left out is 0 or infinite. */
int selection_options_range(const char *range, double *from_s, double *to_s, struct err *err);

#endif
