/*
 * regions: the parts of a program that have names, added up: how often each ran, how long, and what was measured at its
 * begin and end. A region inside itself counts its time once. Owns its rows; a zeroed struct is empty.
 */
#ifndef SONDE_ANALYSE_REGIONS_H
#define SONDE_ANALYSE_REGIONS_H

#include <stdint.h>

struct err;
struct recording;
struct selection;

struct regions_row {
    uint32_t region;
    uint64_t count;
    uint64_t open;              /* of them: not ended when the recording did */
    uint64_t total_ns;          /* summed over threads */
    uint64_t lengths_ns;        /* of all times, also where they overlap: what their mean is of */
    uint64_t self_ns;           /* without the regions inside */
    uint64_t least_ns, most_ns; /* of one time */
    uint32_t processes;         /* that ran it, where there are several; the least and the most of one: */
    uint32_t least_process, most_process;
    uint64_t least_process_ns, most_process_ns;
    int64_t growth; /* of what was measured, from its begins to its ends */
    int64_t most;   /* the largest value of either */
};

struct regions {
    struct regions_row *rows; /* those that ran, the longest first */
    uint32_t count;
    uint64_t run_ns; /* how long the whole run was, to compare with; 0 = unknown */
};

/* Of the selection's threads (NULL = all); its range and region are not looked at. */
int regions_build(const struct recording *recording, const struct selection *selection,
                  struct regions *regions, struct err *err);
void regions_clear(struct regions *regions);

#endif
