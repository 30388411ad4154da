/*
 * merge_ids: ids of one recording → ids of the sum that it is added to (analyse/merge.h), for the time of adding it. What has no
 * id in the sum yet gets one there: strings, codes and modules when they are first asked for, nodes, processes and threads
 * all at once. After a failure (memory ran out) `failed` is set, ids are 0, and nothing more should be added. The struct owns
 * its arrays, and borrows both recordings.
 */
#ifndef SONDE_ANALYSE_MERGE_IDS_H
#define SONDE_ANALYSE_MERGE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#include "store/natives.h"

struct merge;
struct recording;

struct merge_ids {
    struct merge *merge;
    const struct recording *from;
    struct natives natives;                /* of `from` */
    uint32_t *strings;                     /* 0 = not carried over yet (string 0 needs no carrying) */
    uint32_t *codes;                       /* 0 = not carried over yet */
    uint32_t *modules;                     /* 0 = not carried over yet */
    uint32_t *nodes, *processes, *threads; /* NULL until they are added */
    bool failed;
};

/* To be cleared also after a failure. */
int merge_ids_init(struct merge_ids *ids, struct merge *merge, const struct recording *from);
void merge_ids_clear(struct merge_ids *ids);

uint32_t merge_ids_string(struct merge_ids *ids, uint32_t string);
uint32_t merge_ids_module(struct merge_ids *ids, uint32_t module);
uint32_t merge_ids_code(struct merge_ids *ids, uint32_t code);

/* Functions that others were inlined in; before anything else. */
void merge_ids_add_inlinings(struct merge_ids *ids);
void merge_ids_add_nodes(struct merge_ids *ids);
void merge_ids_add_processes(struct merge_ids *ids);
void merge_ids_add_threads(struct merge_ids *ids); /* processes first */

#endif
