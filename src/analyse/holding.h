/* holding: the time or memory of all stacks that hold any of some functions, each stack counted once. */
#ifndef SONDE_ANALYSE_HOLDING_H
#define SONDE_ANALYSE_HOLDING_H

#include <stdint.h>

struct err;
struct tree;

struct holding {
    uint64_t total;
    uint64_t whole; /* of all stacks */
};

/* Bit `code % 8` of marks[code / 8] says whether a function is one of them; those beyond mark_bytes are not. */
int holding_sum(const struct tree *tree, const uint8_t *marks, uint32_t mark_bytes, struct holding *holding,
                struct err *err);

#endif
