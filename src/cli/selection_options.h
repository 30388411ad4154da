/*
 * selection_options: --measure and --range, which all commands that show stacks take: what is shown of a recording, and of
 * which time; and --module.
 */
#ifndef SONDE_CLI_SELECTION_OPTIONS_H
#define SONDE_CLI_SELECTION_OPTIONS_H

#include <stddef.h>

struct chosen;
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

/* `measure` and `range` as they were typed; NULL = not at all. */
int selection_options_choose(const char *measure, const char *range, const struct recording *recording,
                             struct selection *selection, struct err *err);

/* The part of the recording that passes through any of the modules; there must be at least one. Clear `chosen`. */
int selection_options_modules(const char *const *modules, size_t count, const struct recording *recording,
                              struct chosen *chosen, struct err *err);

/* "A,B" → seconds from the start; an end that is left out is 0 or infinite. */
int selection_options_range(const char *range, double *from_s, double *to_s, struct err *err);

#endif
