/*
 * findings: what a person should look at first, in words, most important first.
 */
#ifndef SONDE_ANALYSE_FINDINGS_H
#define SONDE_ANALYSE_FINDINGS_H

#include <stdint.h>

#include "analyse/tree.h"

struct finding {
    const char
        *topic;    /* static: "hot-function", "imports", "c-code", "hot-path", "many-calls", "losses", ... */
    uint32_t code; /* what it is about; 0 = the run */
    double share;  /* of the run's time; orders the list */
    char *text;    /* one sentence, owned */
};

struct findings {
    struct finding *rows;
    uint32_t count;
};

int findings_build(const struct recording *recording, const struct selection *selection,
                   struct findings *findings, struct err *err);
void findings_clear(struct findings *findings);

#endif
