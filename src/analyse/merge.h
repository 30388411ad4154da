/*
 * merge: many recordings → one, a recording at a time, so that only the sum is ever held.
 *
 * Equal functions and stacks of different recordings become one; processes and threads are kept apart, each
 * with its own call rows; flat functions and edges are summed; a meta is kept when all recordings have
 * it and agree, and "merged" says how many recordings went in. A zeroed struct is an empty merge. The merge
 * owns its result until merge_take gives it away; recordings added are only read.
 */
#ifndef SONDE_ANALYSE_MERGE_H
#define SONDE_ANALYSE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/node_table.h"
#include "base/map.h"
#include "store/flat.h"
#include "store/recording.h"

struct err;
struct functions;

#define MERGE_COUNTS 2

struct merge {
    struct recording result;
    uint32_t added; /* recordings so far */
    struct {
        uint64_t sum;
        bool met;
    } counts[MERGE_COUNTS]; /* metas that are added up */
    struct strings codes;   /* what makes a code itself, as bytes → code id: both are counted from 1 */
    struct node_table nodes;
    struct map modules; /* (path, build id) → module */
    struct map symbols; /* code → symbol */
    struct flat flat;
};

/* After a failure (memory ran out) the merge can only be cleared. */
int merge_add(struct merge *merge, const struct recording *recording, struct err *err);
/* Only what does not grow with the number of recordings: flat functions and edges, and metas. Sums of such sums are equal
 * to the sum of all. */
int merge_add_totals(struct merge *merge, const struct recording *recording, struct err *err);
/* The recording as a flat profile: its table of functions (analyse/functions.h), and metas. */
int merge_add_functions(struct merge *merge, const struct recording *recording,
                        const struct functions *functions, struct err *err);

/* Only line times, threads added up, and metas. */
int merge_add_lines(struct merge *merge, const struct recording *recording, struct err *err);

/* Something that the sum must tell, of no process. */
int merge_add_note(struct merge *merge, enum note_kind kind, const char *text, struct err *err);

/* Gives the sum to `recording` (must be empty); the merge is empty afterwards. */
int merge_take(struct merge *merge, struct recording *recording, struct err *err);
void merge_clear(struct merge *merge);

#endif
