/*
 * brackets: stretches of time with a name, in any order and overlapping in any way, → regions of as few threads as
 * nest them properly: a region ends before or with the one around it.
 *
 * A zeroed struct is empty; it owns its rows.
 */
#ifndef SONDE_IMPORT_BRACKETS_H
#define SONDE_IMPORT_BRACKETS_H

#include <stddef.h>
#include <stdint.h>

struct recording;

struct brackets_point {
    uint64_t time_ns;
    int64_t value; /* that was measured then */
};

struct bracket {
    uint32_t name; /* string of the recording */
    struct brackets_point begin, end;
};

struct brackets {
    struct bracket *rows;
    size_t count, capacity;
    uint64_t lost; /* that would have needed too many threads */
};

/* -1 when memory ran out. */
int brackets_add(struct brackets *brackets, const struct bracket *bracket);
/* Makes threads of process 1, regions and their events. The rows are sorted on the way. -1 when memory ran out. */
int brackets_put(struct brackets *brackets, struct recording *recording);
void brackets_clear(struct brackets *brackets);

#endif
