/*
 * heap_suspects: the questions that findings asks of a recording of memory, one function each, in one table. To add
 * one, write its function and its row.
 */
#ifndef SONDE_ANALYSE_HEAP_SUSPECTS_H
#define SONDE_ANALYSE_HEAP_SUSPECTS_H

#include <stdint.h>

#include "analyse/heap_sites.h"
#include "analyse/heap_totals.h"

struct bytes;

/* What the questions look at. */
struct heap_suspects {
    const struct recording *recording; /* borrowed */
    struct heap_totals totals;
    struct heap_sites sites; /* owned */
    bool ranged;             /* of a range of time, in which live means allocated in it and not freed */
};

int heap_suspects_init(struct heap_suspects *suspects, const struct recording *recording,
                       const struct selection *selection, struct err *err);
void heap_suspects_clear(struct heap_suspects *suspects);

/* Writes one sentence and returns the share of the memory that it is about; 0 = nothing to say. */
typedef double heap_suspects_look(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code);

struct heap_suspect {
    const char *topic;
    heap_suspects_look *look;
};

/* Ends with a NULL topic. */
extern const struct heap_suspect heap_suspects_list[];

#endif
