#include "collect/agent/mpi_job.h"

#include "collect/agent/mpi_abi.h"
#include "collect/agent/mpi_clocks.h"
#include "collect/agent/mpi_communicators.h"

static enum { UNKNOWN, RUNS, ENDED } state;

/* Where MPI had been initialised before we were there, its clocks cannot be compared: other ranks may be anywhere. */
bool mpi_job_runs(void)
{
    int is_initialised = 0, is_finalised = 0;
    if (state != UNKNOWN)
        return state == RUNS;
    mpi_binding.Initialized((mpi_word)&is_initialised);
    mpi_binding.Finalized((mpi_word)&is_finalised);
    if (!is_initialised || is_finalised)
        return false;
    mpi_communicators_begin();
    state = RUNS;
    return true;
}

void mpi_job_begin(void)
{
    if (state == UNKNOWN) {
        mpi_communicators_begin();
        state = RUNS;
        mpi_clocks_begin();
    }
}

void mpi_job_before_end(void)
{
    if (state == RUNS)
        mpi_clocks_end();
}

void mpi_job_end(void)
{
    state = ENDED;
}
