/*
 * locals: the local variables of a frame: names and what their slots hold, read from memory.
 *
 * Arguments, variables, cells and free variables that have a value, in the order in which Python numbers them;
 * a cell is followed to what it holds. The variables of modules and class bodies live in dictionaries and are
 * not given. Every read may fail, every count is bounded, nothing is allocated.
 */
#ifndef SONDE_PYTHON_LOCALS_H
#define SONDE_PYTHON_LOCALS_H

#include "python/layouts.h"

#include <sys/types.h>

enum { LOCALS_NAME_BYTES = 96 };

struct locals_row {
    char name[LOCALS_NAME_BYTES]; /* UTF-8; a longer one is cut */
    uint64_t value;               /* for values_put */
    bool argument;
};

/* Of a frame found by walk_frames (walk_frame's `frame` and `code`). Fills in up to `capacity` rows; their
 * number, -1 where they cannot be read. */
ssize_t locals_read(const struct layout *layout, const struct memory *memory, uint64_t code, uint64_t frame,
                    struct locals_row *rows, size_t capacity);

#endif
