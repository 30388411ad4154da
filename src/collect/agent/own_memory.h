/*
 * own_memory: memory of our own in the target, straight from the kernel: it is no allocation of the program's, and having
 * it is async-signal-safe, also in the sampler's process (own_calls.h). Zeroed, and only what is written to takes room.
 */
#ifndef SONDE_COLLECT_AGENT_OWN_MEMORY_H
#define SONDE_COLLECT_AGENT_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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

/* The first bytes of a file, as they are or, shared, to be written. NULL when that cannot be. */
static inline void *own_memory_map_file(int fd, size_t bytes, bool shared)
{
    long memory = syscall(SYS_mmap, NULL, bytes, shared ? PROT_READ | PROT_WRITE : PROT_READ,
                          shared ? MAP_SHARED | MAP_NORESERVE : MAP_PRIVATE, fd, 0);
    return memory == -1 ? NULL : (void *)memory;
}

static inline void own_memory_unmap(void *memory, size_t bytes)
{
    syscall(SYS_munmap, memory, bytes);
}

/* How much of it takes room now. */
static inline uint64_t own_memory_resident_bytes(void *memory, size_t bytes)
{
    enum { PAGE_BYTES = 4096, PAGES = 1024 };
    unsigned char pages[PAGES] = {0};
    uint64_t resident = 0;
    for (size_t at = 0; at < bytes; at += (size_t)PAGES * PAGE_BYTES) {
        size_t rest = bytes - at,
               part = rest < (size_t)PAGES * PAGE_BYTES ? rest : (size_t)PAGES * PAGE_BYTES;
        if (syscall(SYS_mincore, (char *)memory + at, part, pages) != 0)
            continue;
        for (size_t page = 0; page * PAGE_BYTES < part; page++)
            resident += (pages[page] & 1) * PAGE_BYTES;
    }
    return resident;
}

#endif
