#include "base/rank.h"

#include <stdio.h>
#include <stdlib.h>

/* Steps of Slurm from here on are no srun's: the batch script, the shell of salloc. */
#define SLURM_STEP_SPECIAL 0xfffffff0

/* Launchers of MPI first: inside a Slurm job mpirun's own numbers are the true ones, while Slurm's are those of the
 * batch script or of mpirun's daemon, and the same for many ranks. torchrun comes before them all where it is sure
 * that it is torchrun, since srun starts it once for each node. */
/* clang-format off */
const struct rank_launcher rank_launchers[] = {
    {.name = "SONDE_RANK", .rank = "SONDE_RANK", .size = "SONDE_SIZE", .local_rank = "SONDE_LOCAL_RANK",
     .run = {"SONDE_RUN_ID"}, .is_final = true},
    {.name = "torchrun", .rank = "RANK", .size = "WORLD_SIZE", .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE", .run = {"TORCHELASTIC_RUN_ID", "MASTER_PORT"}, .needs_size = true,
     .needs_run = true},
    {.name = "Open MPI", .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK", .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .run = {"OMPI_MCA_orte_precondition_transports", "PMIX_NAMESPACE"}},
    {.name = "MVAPICH2", .rank = "MV2_COMM_WORLD_RANK", .size = "MV2_COMM_WORLD_SIZE",
     .local_rank = "MV2_COMM_WORLD_LOCAL_RANK", .local_size = "MV2_COMM_WORLD_LOCAL_SIZE", .may_be_srun = true},
    {.name = "MVAPICH", .rank = "MVP_COMM_WORLD_RANK", .size = "MVP_COMM_WORLD_SIZE",
     .local_rank = "MVP_COMM_WORLD_LOCAL_RANK", .local_size = "MVP_COMM_WORLD_LOCAL_SIZE", .may_be_srun = true},
    {.name = "MPICH, Intel MPI or PMI", .rank = "PMI_RANK", .size = "PMI_SIZE", .local_rank = "MPI_LOCALRANKID",
     .local_size = "MPI_LOCALNRANKS", .run = {"PALS_APID", "FLUX_JOB_ID"}, .may_be_srun = true},
    {.name = "PMI", .rank = "PMI_ID", .size = "PMI_SIZE", .local_rank = "PMI_LOCAL_RANK",
     .local_size = "PMI_LOCAL_SIZE", .may_be_srun = true},
    {.name = "Cray PALS", .rank = "PALS_RANKID", .size = "PMI_SIZE", .local_rank = "PALS_LOCAL_RANKID",
     .run = {"PALS_APID"}},
    {.name = "Cray ALPS", .rank = "ALPS_APP_PE"},
    {.name = "LSF jsrun", .rank = "JSM_NAMESPACE_RANK", .size = "JSM_NAMESPACE_SIZE",
     .local_rank = "JSM_NAMESPACE_LOCAL_RANK", .local_size = "JSM_NAMESPACE_LOCAL_SIZE", .run = {"PMIX_NAMESPACE"}},
    {.name = "Flux", .rank = "FLUX_TASK_RANK", .size = "FLUX_JOB_SIZE", .local_rank = "FLUX_TASK_LOCAL_ID",
     .run = {"FLUX_JOB_ID"}},
    {.name = "PMIx", .rank = "PMIX_RANK", .run = {"PMIX_NAMESPACE"}, .may_be_srun = true},
    {.name = "WORLD_SIZE", .rank = "RANK", .size = "WORLD_SIZE", .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE", .run = {NULL, "MASTER_PORT"}, .needs_size = true},
    {.name = "MPI_RANKID", .rank = "MPI_RANKID"},
    {.name = "IBM POE", .rank = "MP_CHILD", .size = "MP_PROCS"},
    {.name = "MP_RANK", .rank = "MP_RANK", .size = "MP_PROCS"},
    {.name = "mpirun_rsh", .rank = "MPIRUN_RANK", .size = "MPIRUN_NPROCS", .run = {"MPIRUN_ID"}},
    {.name = "HPE MPT", .rank = "MPT_MPI_RANK", .size = "MPT_MPI_SIZE"},
    {.name = "Slurm", .rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS", .local_rank = "SLURM_LOCALID",
     .needs_size = true, .may_be_srun = true},
    {0},
};
/* clang-format on */

const char *const rank_array_variables[] = {"SLURM_ARRAY_TASK_ID", "PBS_ARRAY_INDEX", "PBS_ARRAYID",
                                            "LSB_JOBINDEX",        "SGE_TASK_ID",     NULL};

const char *rank_own_environment(const void *environment, const char *name)
{
    (void)environment;
    return getenv(name);
}

int64_t rank_number_of(rank_lookup *lookup, const void *environment, const char *name)
{
    const char *text = name ? lookup(environment, name) : NULL;
    if (!text || *text < '0' || *text > '9')
        return -1;
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    return *end || value >= RANK_NONE ? -1 : (int64_t)value;
}

static bool is_set(rank_lookup *lookup, const void *environment, const char *name)
{
    const char *text = name ? lookup(environment, name) : NULL;
    return text && *text;
}

/* Of launchers that do not say it, srun knows the number of tasks. */
static int64_t size_of(const struct rank_launcher *launcher, rank_lookup *lookup, const void *environment)
{
    int64_t size = rank_number_of(lookup, environment, launcher->size);
    if (size < 0 && launcher->may_be_srun && is_set(lookup, environment, "SLURM_STEP_ID")) {
        size = rank_number_of(lookup, environment, "SLURM_STEP_NUM_TASKS");
        size = size < 0 ? rank_number_of(lookup, environment, "SLURM_NTASKS") : size;
    }
    return size;
}

/* Likewise srun knows the place on the host. */
static int64_t local_of(const struct rank_launcher *launcher, int64_t number, rank_lookup *lookup,
                        const void *environment)
{
    int64_t local = rank_number_of(lookup, environment, launcher->local_rank);
    if (local < 0 && launcher->may_be_srun && is_set(lookup, environment, "SLURM_STEP_ID") &&
        rank_number_of(lookup, environment, "SLURM_PROCID") == number)
        local = rank_number_of(lookup, environment, "SLURM_LOCALID");
    return local;
}

struct rank rank_find(rank_lookup *lookup, const void *environment)
{
    bool is_single = false; /* so a launcher said: then others must know better */
    for (const struct rank_launcher *row = rank_launchers; row->name; row++) {
        int64_t number = rank_number_of(lookup, environment, row->rank);
        int64_t size = number < 0 ? -1 : size_of(row, lookup, environment);
        if (number < 0 || ((row->needs_size || is_single) && size <= number) ||
            (row->needs_run && !is_set(lookup, environment, row->run[0])))
            continue;
        if (number == 0 && size == 1) {
            is_single = true;
            if (row->is_final)
                break;
            continue;
        }
        int64_t local = local_of(row, number, lookup, environment);
        int64_t local_size = rank_number_of(lookup, environment, row->local_size);
        return (struct rank){.number = (uint32_t)number,
                             .size = size > number ? (uint32_t)size : 0,
                             .local = local < 0 ? RANK_NONE : (uint32_t)local,
                             .local_size = local_size > 0 ? (uint32_t)local_size : 0,
                             .launcher = row};
    }
    return (struct rank){.number = RANK_NONE, .local = RANK_NONE};
}

struct rank rank_detect(void)
{
    return rank_find(rank_own_environment, NULL);
}

/* LSF says 0 outside of arrays. */
int64_t rank_array_task(void)
{
    for (const char *const *name = rank_array_variables; *name; name++) {
        int64_t task = rank_number_of(rank_own_environment, NULL, *name);
        if (task > 0 || (task == 0 && **name != 'L'))
            return task;
    }
    return -1;
}

/* The daemons of mpirun may have been started by srun: then its numbers are theirs. */
bool rank_slurm_step(const struct rank *rank, char *text, size_t size)
{
    const char *job = getenv("SLURM_JOB_ID");
    int64_t step = rank_number_of(rank_own_environment, NULL, "SLURM_STEP_ID");
    if (!job || !*job || step < 0 || step >= SLURM_STEP_SPECIAL || !rank->launcher ||
        !rank->launcher->may_be_srun ||
        rank_number_of(rank_own_environment, NULL, "SLURM_PROCID") != (int64_t)rank->number)
        return false;
    const char *array = getenv("SLURM_ARRAY_JOB_ID"), *task = getenv("SLURM_ARRAY_TASK_ID");
    if (array && *array && task && *task)
        snprintf(text, size, "%s_%s.%u", array, task, (unsigned)step);
    else
        snprintf(text, size, "%s.%u", job, (unsigned)step);
    return true;
}
