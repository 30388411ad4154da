/*
 * tau_names: TAU's names of functions and call paths, taken apart, each once: "main => solve [{x.py} {12}]" → two codes of the
 * recording.
 *
 * A zeroed struct with `recording` set (and initialised) is ready. It owns its tables; the recording is borrowed. Failure
 * (memory ran out) is sticky.
 */
#ifndef SONDE_IMPORT_TAU_NAMES_H
#define SONDE_IMPORT_TAU_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

struct recording;

/* Some text inside a file. */
struct tau_span {
    const char *at;
    size_t size;
};

struct tau_path {
    uint32_t first, count; /* of the codes, the outermost first */
    bool sampled;          /* TAU's own sampling put it below a timer that has its time already */
};

struct tau_names {
    struct recording *recording;
    struct strings names;
    struct tau_path *paths; /* by name */
    uint32_t paths_capacity;
    uint32_t *codes; /* of all paths */
    uint32_t codes_count, codes_capacity;
    struct strings labels; /* what makes a code itself, as bytes → code */
    bool failed;
};

/* The number of the name. `ours`: sonde wrote it, with %XX for punctuation, and ".TAU application" stands for no function. */
uint32_t tau_names_find(struct tau_names *names, struct tau_span text, bool ours);
void tau_names_clear(struct tau_names *names);

struct tau_span tau_names_trim(struct tau_span span);
bool tau_names_is(struct tau_span span, const char *text);

#endif
