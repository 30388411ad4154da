/*
 * rank_table: the functions of a parallel run, each with what it took on every rank.
 *
 * Recordings are added one at a time: a file for each rank, or one that holds many ranks; each may be cleared
 * afterwards. Functions of different recordings are the same when name, file and line are. Only ranks on which a function
 * was seen have a cell in its row (in the means the others count as 0: analyse/rank_stats.h), so memory grows with these
 * cells and not with the recordings.
 *
 * Call rank_table_finish after the last add and before reading. A zeroed struct is an empty table. The table owns all
 * that it names; a failed add (memory ran out) leaves it fit to be cleared only.
 */
#ifndef SONDE_ANALYSE_RANK_TABLE_H
#define SONDE_ANALYSE_RANK_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/node_table.h"
#include "analyse/tree.h"
#include "base/strings.h"
#include "store/recording.h"

struct err;

/* What a rank's file lacks, or the rank itself; or'ed. */
enum rank_problem {
    RANK_PROBLEM_DAMAGED = 1, /* chunks could not be read */
    RANK_PROBLEM_CUT = 2,     /* the file ends in the middle of a chunk */
    RANK_PROBLEM_OPEN = 4,    /* nobody closed it: what came after the last checkpoint is missing */
    RANK_PROBLEM_LOST = 8,    /* events were lost while it was recorded */
    RANK_PROBLEM_ALONE = 16,  /* its MPI knows no other rank */
};

struct rank_row {
    uint32_t number;
    uint32_t host;        /* string of `names` */
    uint32_t processes;   /* that were recorded */
    uint32_t problems;    /* enum rank_problem, or'ed */
    int32_t exit_code;    /* of its first process, as in wait; INT32_MIN = unknown */
    uint64_t wall_ns;     /* from the start of its first process to the end of its last; 0 = unknown */
    uint64_t amount;      /* of all functions and threads, in the unit of the measure */
    uint64_t calls;       /* of all functions */
    uint64_t samples;     /* of all threads */
    uint64_t busiest;     /* the amount of its busiest thread, */
    uint64_t busiest_mpi; /* and the part of it that was spent in MPI */
    uint64_t mpi;         /* the part of `amount` that was spent in MPI */
};

/* What a function or a call path took on one rank. */
struct rank_cell {
    uint32_t rank;    /* place in the table's ranks */
    uint32_t samples; /* with it anywhere on the stack; UINT32_MAX = or more */
    uint64_t calls;
    uint64_t self, total; /* in the unit of the measure */
    uint64_t mpi; /* of the total's time, that in MPI, itself or further down; what is measured may be more */
};

struct rank_cells {
    struct rank_cell *rows; /* by rank, each once */
    uint32_t count, capacity;
};

/* Functions are the codes of `names`, from 1 on; call paths are its nodes, from 1 on. */
struct rank_table {
    struct recording names; /* codes, strings and, with paths, nodes; for analyse/labels.h */
    struct rank_row *ranks; /* by number */
    uint32_t rank_count, rank_capacity;
    struct rank_cells *functions; /* by code of `names` */
    uint32_t function_capacity;
    uint32_t *origins;        /* by code of `names`: its id in the recording where it was first seen */
    struct rank_cells *paths; /* by node of `names`; NULL when nobody asked */
    uint32_t path_capacity;
    bool with_paths; /* set it before the first add */

    enum measure measure; /* what the amounts are */
    bool sampled;         /* samples (of memory: blocks) stand for calls */
    uint32_t expected;    /* ranks that the run had, as it says itself; 0 = it does not */
    uint32_t added;       /* recordings so far */
    char **unread;        /* files that were not, and why, in words */
    uint32_t unread_count;
    bool mpi_is_measured; /* call by call (--mpi); else frames of mpi4py and of MPI's libraries tell */
    const struct recording
        *mpi;     /* what the ranks did with one another; borrowed; NULL = findings are silent about it */
    bool has_mpi; /* either way */

    struct map places;       /* number → place in `ranks` */
    struct strings identity; /* what makes a function itself → code of `names` */
    struct node_table nodes;
};

/* `selection` may be NULL; ids in it are of this recording. The first one's measure is that of the table. */
int rank_table_add(struct rank_table *table, const struct recording *recording,
                   const struct selection *selection, struct err *err);
/* For the report: a file of the run that cannot be read. */
int rank_table_note_unread(struct rank_table *table, const char *why, struct err *err);
/* Puts the ranks in order, and the cells. More may be added afterwards, and it be called again. */
int rank_table_finish(struct rank_table *table, struct err *err);
void rank_table_clear(struct rank_table *table);

static inline uint32_t rank_table_function_count(const struct rank_table *table)
{
    return table->names.codes_count ? table->names.codes_count - 1 : 0;
}
/* 0 when the function (a code of the recording that was added first) has no row. */
uint32_t rank_table_find_origin(const struct rank_table *table, uint32_t code);
/* NULL when the rank has no cell there. */
const struct rank_cell *rank_table_cell(const struct rank_cells *cells, uint32_t rank);
/* MAP_NONE when there is no rank of that number. */
uint32_t rank_table_place(const struct rank_table *table, uint32_t number);

#endif
