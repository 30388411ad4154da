#include "python/memory.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

/* The context is the process id. */
static bool read_process(void *context, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    int saved = errno;
    ssize_t got = process_vm_readv((pid_t)(intptr_t)context, &here, 1, &there, 1, 0);
    errno = saved; /* a signal handler must not change it */
    return got == (ssize_t)size;
}

struct memory memory_of_process(int process)
{
    return (struct memory){.read = read_process, .context = (void *)(intptr_t)process};
}

struct memory memory_own(void)
{
    struct memory memory = memory_of_process(getpid());
    memory.own = true;
    return memory;
}
