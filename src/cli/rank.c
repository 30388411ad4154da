#include "cli/rank.h"

#include <stdlib.h>

/* Launchers of MPI first: inside a Slurm job mpirun's own numbers are the true ones. */
static const struct launcher {
    const char *rank, *size;
} launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, /* Open MPI */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},   /* MVAPICH2 */
    {"PMI_RANK", "PMI_SIZE"},                         /* MPICH, Intel MPI, Cray under PMI-1 */
    {"PALS_RANKID", NULL},                            /* Cray PALS */
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},         /* srun; a batch script has no step size above 1 */
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
    {"PMIX_RANK", NULL}, /* any PMIx launcher; it does not say how many */
    {0},
};

/* -1 when the variable is absent or no plain number. */
static int64_t read_variable(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    if (!text || *text < '0' || *text > '9')
        return -1;
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    return *end || value >= RANK_NONE ? -1 : (int64_t)value;
}

struct rank rank_detect(void)
{
    for (const struct launcher *launcher = launchers; launcher->rank; launcher++) {
        int64_t number = read_variable(launcher->rank), size = read_variable(launcher->size);
        if (number < 0 || size == 1 || (launcher->size && size < 0))
            continue;
        return (struct rank){(uint32_t)number, size > 0 ? (uint32_t)size : 0, launcher->rank};
    }
    return (struct rank){.number = RANK_NONE};
}
