/*
 * rank_sums: adds up what the functions and call paths of one recording took on its ranks, and puts it into the cells of a
 * rank_table. Ranks whose rows lie together are put at once; others become cells that rank_table_finish joins.
 */
#ifndef SONDE_ANALYSE_RANK_SUMS_H
#define SONDE_ANALYSE_RANK_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct rank_table;
struct recording;
struct selection;

/* `places`: by thread, the place of its rank among the table's; MAP_NONE = it is of none. */
int rank_sums_add(struct rank_table *table, const struct recording *recording,
                  const struct selection *selection, const uint32_t *places, struct err *err);
/* Whether the function is one of mpi4py.MPI, or of MPI's libraries where native frames are known. */
bool rank_sums_is_mpi(const struct recording *recording, uint32_t code);

#endif
