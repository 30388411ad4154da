/*
 * findings: what a person should look at first, in words, most important first.
 *
 * Each is one plain sentence with its numbers; none is said that would be true of any program. At most
 * FINDINGS_MAX come from the measurement; what was lost or damaged is always said, after them.
 */
#ifndef SONDE_ANALYSE_FINDINGS_H
#define SONDE_ANALYSE_FINDINGS_H

#include <stdint.h>

#include "analyse/functions.h"

struct bytes;

#define FINDINGS_MAX 6

struct finding {
    const char
        *topic;    /* static: "hot-function", "imports", "c-code", "hot-path", "many-calls", "loss", ... */
    uint32_t code; /* what it is about; 0 = the run */
    double share;  /* of the run's time */
    char *text;    /* one sentence, owned */
};

struct findings {
    struct finding *rows;
    uint32_t count;
};

int findings_build(const struct recording *recording, const struct selection *selection,
                   struct findings *findings, struct err *err);
/* The same, for those who have the function table of the selection already, and perhaps its tree (or NULL). */
int findings_build_from(const struct recording *recording, const struct selection *selection,
                        const struct functions *functions, const struct tree *tree, struct findings *findings,
                        struct err *err);
/* For those who look at something else: one more. Takes what `text` holds, also when it fails (memory ran out). */
int findings_add(struct findings *findings, const char *topic, uint32_t code, double share,
                 struct bytes *text);
/* Who waits for whom, where MPI's calls were recorded; whatever is selected, as it is about the run as a whole. */
int findings_add_mpi(struct findings *findings, const struct recording *recording, struct err *err);
void findings_clear(struct findings *findings);

#endif
