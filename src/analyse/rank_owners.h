/*
 * rank_owners: which rank of a parallel run each process of a recording belongs to. A process that a rank has started is
 * of that rank. Where all that is known are processes of one rank, those that do not say are of it, too.
 */
#ifndef SONDE_ANALYSE_RANK_OWNERS_H
#define SONDE_ANALYSE_RANK_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rank.h"

struct err;
struct recording;

/* By process the number of its rank, RANK_NONE = of none. Owned: free it. NULL with err when memory ran out. */
uint32_t *rank_owners_new(const struct recording *recording, struct err *err);
/* The rank that all ranked processes are of; RANK_NONE when there is none, or more than one. */
uint32_t rank_owners_only(const struct recording *recording);
bool rank_owners_has_any(const struct recording *recording);

#endif
