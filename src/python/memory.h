/*
 * memory: where the bytes of a CPython process come from: our own process, another one, a copy, a core file.
 *
 * memory_view gives bytes at an address: the bytes in place where they are our own and the caller has proved
 * that they are mapped, else a copy made by `read`, which must survive any address. Nothing here allocates,
 * locks or fails otherwise than by returning false, so all of it may run in a signal handler.
 */
#ifndef SONDE_PYTHON_MEMORY_H
#define SONDE_PYTHON_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct memory {
    /* Copies size bytes at address; false where they cannot all be had. */
    bool (*read)(void *context, uint64_t address, void *out, size_t size);
    void *context;
    bool own; /* addresses are our own: what is proved to be mapped may be loaded */
};

/* Our own process: proved memory by plain loads, all other through process_vm_readv. */
struct memory memory_own(void);
/* The same by plain loads alone: for objects that are certainly alive. */
struct memory memory_own_alive(void);
/* Another process, which the caller may read (same rights as ptrace). */
struct memory memory_of_process(int process);

static inline bool memory_read(const struct memory *memory, uint64_t address, void *out, size_t size)
{
    return memory->read(memory->context, address, out, size);
}

static inline bool memory_read_word(const struct memory *memory, uint64_t address, uint64_t *out)
{
    return memory_read(memory, address, out, sizeof *out);
}

/* The bytes at an address, in place or in `copy` (of at least size bytes); NULL where they cannot be had.
 * `proved` promises that they are mapped if the memory is our own. */
static inline const unsigned char *memory_view(const struct memory *memory, bool proved, uint64_t address,
                                               void *copy, size_t size)
{
    if (proved && memory->own)
        return (const unsigned char *)(uintptr_t)address;
    return memory_read(memory, address, copy, size) ? copy : NULL;
}

static inline uint64_t memory_word(const unsigned char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

static inline int32_t memory_int(const unsigned char *bytes)
{
    int32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

#endif
