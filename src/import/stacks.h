/*
 * stacks: makes the nodes of a recording from frames that are only known by name, file and line, each once.
 *
 * A zeroed struct with `recording` set (and initialised) is ready. It owns its tables; the recording is borrowed.
 * Failure (memory ran out) is sticky: ids are then 0.
 */
#ifndef SONDE_IMPORT_STACKS_H
#define SONDE_IMPORT_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct recording;

/* Some text inside a file. */
struct stacks_text {
    const char *at;
    size_t size;
};

/* A function at a line, as a place where a stack may be. */
struct stacks_site {
    uint32_t code, line;
};

struct stacks {
    struct recording *recording;
    struct map codes;         /* (name, file) → code */
    struct map sites;         /* (code, line) → site */
    struct map nodes;         /* (parent, site) → node */
    struct stacks_site *rows; /* the sites */
    uint32_t count, capacity;
    bool failed;
};

/* The number of the site. What lies in no file is no Python function. Where a function begins is not known: it is
 * taken to be the first line that was ever asked for. */
uint32_t stacks_site(struct stacks *stacks, struct stacks_text name, struct stacks_text file, uint32_t line);
/* The node for `site` called from `parent`. */
uint32_t stacks_node(struct stacks *stacks, uint32_t parent, uint32_t site);
void stacks_clear(struct stacks *stacks);

#endif
