/*
 * otf2_ranks: the communicators of a run as OTF2 has them: which ranks are in which, and the number of a rank within. Only ranks
 * that were recorded count. A zeroed struct is empty; it owns its rows.
 */
#ifndef SONDE_EXPORT_OTF2_RANKS_H
#define SONDE_EXPORT_OTF2_RANKS_H

#include <stdint.h>

#include "base/map.h"

struct err;
struct recording;

struct otf2_member {
    uint32_t group; /* the communicator, all processes' rows of it together */
    uint32_t place; /* in the communicator */
    uint32_t rank;  /* in the run */
};

struct otf2_ranks {
    struct otf2_member *members; /* by group, then place */
    uint32_t count;
    uint32_t *group_of; /* by communicator of the recording */
    uint32_t *names;    /* by group: string of the recording */
    uint32_t groups;
    struct map numbers; /* (group, rank) → place among those that were recorded */
};

int otf2_ranks_init(struct otf2_ranks *ranks, const struct recording *recording, struct err *err);
void otf2_ranks_clear(struct otf2_ranks *ranks);
/* The number of the rank in the communicator (of the recording); UINT32_MAX when it is not known to be in it. */
uint32_t otf2_ranks_number(const struct otf2_ranks *ranks, uint32_t communicator, uint32_t rank);

#endif
