/*
 * rank: which of several ranks of one parallel run this process is, from what the launcher left in the
 * environment. A scheduler sets its variables in a plain batch script too, so a size of 1 means no ranks.
 */
#ifndef SONDE_CLI_RANK_H
#define SONDE_CLI_RANK_H

#include <stdint.h>

#define RANK_NONE UINT32_MAX

struct rank {
    uint32_t number;      /* RANK_NONE = this is no rank */
    uint32_t size;        /* how many ranks there are; 0 = the launcher does not say */
    const char *variable; /* which variable said so; static; NULL = none */
};

struct rank rank_detect(void);

#endif
