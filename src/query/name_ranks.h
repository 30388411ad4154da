/* name_ranks: functions in the order of their names, for pictures whose frames keep their places from run to run. */
#ifndef SONDE_QUERY_NAME_RANKS_H
#define SONDE_QUERY_NAME_RANKS_H

#include <stdint.h>

struct err;
struct recording;

/* By code: its place among all when they are sorted by the name that the page shows. Owned: free it. NULL with err when
 * memory ran out. */
uint32_t *name_ranks_new(const struct recording *recording, struct err *err);

#endif
