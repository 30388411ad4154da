/* rank_list: lists of ranks as people write them: "0,7,100-115". */
#ifndef SONDE_BASE_RANK_LIST_H
#define SONDE_BASE_RANK_LIST_H

#include <stdbool.h>
#include <stdint.h>

struct bytes;

/* Whether the list names the rank. False from the function when it is no list of ranks. */
bool rank_list_has(const char *list, uint32_t rank, bool *has);
/* The ranks (rising; some may be equal) as a list, of at most `limit` numbers and ranges ("0-3,7,9-12,..."); 0 = all of them. */
void rank_list_put(const uint32_t *ranks, uint32_t count, uint32_t limit, struct bytes *out);

#endif
