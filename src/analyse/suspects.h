/*
 * suspects: the questions that findings asks of a recording, one function each, in one table. To add one,
 * write its function and its row.
 */
#ifndef SONDE_ANALYSE_SUSPECTS_H
#define SONDE_ANALYSE_SUSPECTS_H

#include <stdint.h>

#include "analyse/functions.h"
#include "analyse/line_table.h"
#include "analyse/tree.h"

struct bytes;
struct err;
struct recording;

/* What the questions look at. */
struct suspects {
    const struct recording *recording; /* borrowed */
    const struct functions *functions; /* borrowed */
    const struct tree *tree;           /* borrowed, or own_tree */
    struct tree own_tree;
    struct line_table lines; /* owned; threads together */
    uint32_t deepest_code;   /* the function most often on one stack */
    uint32_t deepest;        /* how often */
};

/* `tree`: the selection's, or NULL to have it built. */
int suspects_init(struct suspects *suspects, const struct recording *recording,
                  const struct selection *selection, const struct functions *functions,
                  const struct tree *tree, struct err *err);
void suspects_clear(struct suspects *suspects);

/* Writes one sentence and returns the share of the run's time that it is about; 0 = nothing to say. */
typedef double suspects_look(const struct suspects *suspects, struct bytes *text, uint32_t *code);

struct suspect {
    const char *topic;
    suspects_look *look;
};

/* Ends with a NULL topic. */
extern const struct suspect suspects_list[];

#endif
