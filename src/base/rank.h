/*
 * rank: which of several ranks of one parallel run a process is, from what the launcher left in its environment. One
 * table is all that knows the variables; the program, the Python package and whoever looks at another process ask it.
 *
 * It is a guess until MPI itself has said so. A variable that is empty or no plain number counts as not set. A
 * scheduler sets its variables in a plain batch script, too, so a size of 1 means no ranks: the next row is asked then.
 */
#ifndef SONDE_BASE_RANK_H
#define SONDE_BASE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_NONE UINT32_MAX

/* The value of an environment variable; NULL when it is not set. */
typedef const char *rank_lookup(const void *environment, const char *name);

/* The variables of one launcher, in the order in which they are asked. NULL = it has none. */
struct rank_launcher {
    const char *name; /* "Open MPI" */
    const char *rank, *size, *local_rank, *local_size;
    const char *run[2]; /* the same for all ranks of this run and of no other one that runs meanwhile */
    bool needs_size;    /* the rank's name is too common, or is set outside of parallel runs, too */
    bool needs_run;     /* likewise: run[0] tells that it is this launcher */
    bool is_final;      /* what it says counts, also when it says that there is one rank only */
    bool may_be_srun;   /* srun sets these variables, too, or nobody else does */
};
extern const struct rank_launcher rank_launchers[]; /* ended by a row without a name */

struct rank {
    uint32_t number;                      /* RANK_NONE = this is no rank */
    uint32_t size;                        /* how many ranks there are; 0 = the launcher does not say */
    uint32_t local;                       /* place among the ranks of this host; RANK_NONE = not known */
    uint32_t local_size;                  /* ranks on this host; 0 = not known */
    const struct rank_launcher *launcher; /* whose variables said so; NULL = nobody's */
};

struct rank rank_find(rank_lookup *lookup, const void *environment);
/* Of this process. */
struct rank rank_detect(void);
/* For rank_find and rank_number_of: getenv. */
const char *rank_own_environment(const void *environment, const char *name);

/* The number in a variable; -1 when that is not set, empty or no plain number. */
int64_t rank_number_of(rank_lookup *lookup, const void *environment, const char *name);

/* The task of an array job, which is no rank: its tasks are runs of their own. -1 = none. */
int64_t rank_array_task(void);
extern const char *const rank_array_variables[]; /* NULL-ended */

/* "1234.0", the step of Slurm that this rank was started by; false when it was started otherwise. */
bool rank_slurm_step(const struct rank *rank, char *text, size_t size);

#endif
