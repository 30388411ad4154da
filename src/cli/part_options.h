/*
 * part_options: which part of a program a recording command records: --partial, --start-at, --stop-at, --skip-first. What
 * they mean in the program is collect/inside/partial.h's.
 */
#ifndef SONDE_CLI_PART_OPTIONS_H
#define SONDE_CLI_PART_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

struct bytes;
struct err;

struct part {
    bool partial;
    const char *start_at, *stop_at; /* "NAME" or "NAME#N"; NULL = not given */
    int64_t skip_first;
};

/* `from_outside`: the program is not started by us, or only looked at, and cannot say where it is. */
int part_options_check(const struct part *part, bool from_outside, struct err *err);
/* Lines for the session. */
void part_options_put_settings(const struct part *part, struct bytes *out);
/* Whether all of the program is recorded. */
bool part_options_are_whole(const struct part *part);
/* Nothing was recorded: warns that the program has never come to that part, if it had to. */
void part_options_tell_empty(const struct part *part);

/* Rows of the option table; `field` is the struct part in `type`, `letter` that of --partial. */
#define PART_OPTIONS(type, field, letter)                                                                    \
    {"Only a part of the program", .kind = OPTION_HEADING},                                                  \
        OPTION_ROW("partial", letter, OPTION_FLAG, NULL, offsetof(type, field.partial), NULL,                \
                   "Record only where the program has enabled a sonde.Profiler: between enable() and "       \
                   "disable(), in a with block, in a function that it decorates, or in tests with the "      \
                   "fixture sonde_profile."),                                                                \
        OPTION_ROW("start-at", 0, OPTION_TEXT, "NAME[#N]", offsetof(type, field.start_at), NULL,             \
                   "Record from the signpost of this name on, or from the beginning of the region; of "      \
                   "several from the Nth on (default the first)."),                                          \
        OPTION_ROW("stop-at", 0, OPTION_TEXT, "NAME[#N]", offsetof(type, field.stop_at), NULL,               \
                   "Record until the signpost of this name, or the end of the region; of several until the " \
                   "Nth of the run (default the first)."),                                                   \
        OPTION_ROW("skip-first", 0, OPTION_NUMBER, "N", offsetof(type, field.skip_first), NULL,              \
                   "With --partial: do not record the first N times that a profiler is enabled; with "       \
                   "--start-at alone: pass over the first N of its signposts or regions.")

#endif
