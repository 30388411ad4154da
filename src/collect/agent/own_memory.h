/*
 * own_memory: memory of our own in the target, straight from the kernel: it is no allocation of the program's, and having
 * it is async-signal-safe. Zeroed, and only what is written to takes room.
 */
#ifndef SONDE_COLLECT_AGENT_OWN_MEMORY_H
#define SONDE_COLLECT_AGENT_OWN_MEMORY_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* NULL when there is none. */
static inline void *own_memory_map(size_t bytes)
{
    long memory = syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == -1 ? NULL : (void *)memory;
}

static inline void own_memory_unmap(void *memory, size_t bytes)
{
    syscall(SYS_munmap, memory, bytes);
}

#endif
