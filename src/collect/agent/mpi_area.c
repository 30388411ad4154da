#include "collect/agent/mpi_area.h"

#define ALIGNMENT 4096u

static const struct heap_area_limits limits = {.nodes = MPI_AREA_NODES, .records = 1};

static uint64_t stacks_at(void)
{
    return (sizeof(struct mpi_area) + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

uint64_t mpi_area_bytes(void)
{
    return stacks_at() + heap_area_bytes(&limits);
}

void mpi_area_format(struct mpi_area *area, uint64_t pid, uint32_t python)
{
    area->total_bytes = mpi_area_bytes();
    area->stacks_at = stacks_at();
    area->communicator_count = area->total_count = 1;
    heap_area_format(mpi_area_stacks(area), &limits, pid, python);
    __atomic_store_n(&area->magic, MPI_AREA_MAGIC, __ATOMIC_RELEASE);
}

bool mpi_area_look(struct heap_area_view *stacks, struct mpi_area *area, uint64_t size)
{
    if (size != mpi_area_bytes() || __atomic_load_n(&area->magic, __ATOMIC_ACQUIRE) != MPI_AREA_MAGIC)
        return false;
    struct heap_area *heap = (struct heap_area *)((char *)area + stacks_at());
    return heap_area_look(stacks, heap, size - stacks_at());
}
