/*
 * opened: the recordings that a page looks at, numbered from 0 in the order they were opened.
 *
 * Owns them; a zeroed struct holds none. What is dear to make and asked for again and again (the tree of the last
 * selection) is kept with its recording. A recording that is still being made is fed as it grows; ids stay what they
 * were, so that a page keeps its place.
 */
#ifndef SONDE_QUERY_OPENED_H
#define SONDE_QUERY_OPENED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/chosen.h"
#include "analyse/functions.h"
#include "analyse/mpi_pairs.h"
#include "analyse/mpi_suspects.h"
#include "analyse/rank_table.h"
#include "analyse/tree.h"
#include "store/follow.h"
#include "store/recording.h"

struct err;

#define OPENED_MAX 64

struct opened_recording {
    char *name; /* for people */
    struct recording recording;
    struct selection selection; /* that the tables below were made for */
    struct tree tree;
    struct functions functions;
    struct rank_table ranks_table;
    bool has_tree, has_functions, has_ranks;
    struct mpi_suspects mpi; /* whatever is selected */
    struct mpi_pairs pairs;
    bool has_mpi, has_pairs;
    bool is_live;         /* somebody is still making it */
    char state[200];      /* of one that comes from elsewhere: why there is no more of it, in words */
    struct follow follow; /* of one that is fed */
    bool is_fed;
    /* The parts of it that were last chosen, the second one to be compared with the first; NULL = none was. */
    struct opened_recording *chosen[2];
    /* Of such a part, what it was chosen by. */
    char *modules, *region, *ranks;
    bool own;
};

struct opened {
    struct opened_recording rows[OPENED_MAX];
    uint32_t count;
};

/* Any format that sonde reads. The bytes may be freed afterwards. */
int opened_add(struct opened *opened, const char *name, const void *data, size_t size, struct err *err);
/* A .sonde file that is still being written; nothing is known of it before it was fed and settled. */
int opened_add_live(struct opened *opened, const char *name, struct err *err);
int opened_feed(struct opened_recording *row, const void *data, size_t size, struct err *err);
/* Forgets all of it: another run is fed in its place. */
int opened_begin_again(struct opened_recording *row, struct err *err);
/* Makes what was fed fit to be asked about. OPENED_MUST_REPLACE when it has native frames: those get their names in
 * place, after which nothing can be fed; give the whole file instead. */
int opened_settle(struct opened_recording *row, struct err *err);
#define OPENED_MUST_REPLACE 1
/* The whole file as it is now, in place of what was known; on failure that stays. Nothing can be fed afterwards. */
int opened_replace(struct opened_recording *row, const void *data, size_t size, struct err *err);

/* NULL with err when there is no such one. */
struct opened_recording *opened_find(struct opened *opened, uint32_t number, struct err *err);
/* The part of it that is chosen (analyse/chosen.h), made when it was not the last one; `row` keeps it. When nothing is
 * chosen, `row` itself. NULL with err when memory ran out. */
struct opened_recording *opened_choose(struct opened_recording *row, struct chosen_by by, struct err *err);
/* The same, to be looked at together with another part. */
struct opened_recording *opened_choose_second(struct opened_recording *row, struct chosen_by by,
                                              struct err *err);
void opened_clear(struct opened *opened);

/* Tables of the selection, kept until another selection is asked for; NULL with err when memory ran out. */
const struct tree *opened_tree(struct opened_recording *row, const struct selection *selection,
                               struct err *err);
/* The same of what ranks did with one another, which does not depend on a selection. */
const struct mpi_suspects *opened_mpi(struct opened_recording *row, struct err *err);
const struct mpi_pairs *opened_pairs(struct opened_recording *row, struct err *err);
const struct functions *opened_functions(struct opened_recording *row, const struct selection *selection,
                                         struct err *err);
/* Functions over ranks; of a recording without ranks a table that has none. */
const struct rank_table *opened_ranks(struct opened_recording *row, const struct selection *selection,
                                      struct err *err);

#endif
