#include "python/memory.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

static bool copy_from(pid_t process, uint64_t address, void *out, size_t size)
{
    struct iovec here = {out, size};
    struct iovec there = {(void *)(uintptr_t)address, size};
    int saved = errno;
    ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
    errno = saved; /* a signal handler must not change it */
    return got == (ssize_t)size;
}

/* The context is the process id. */
static bool read_process(void *context, uint64_t address, void *out, size_t size)
{
    return copy_from((pid_t)(intptr_t)context, address, out, size);
}

/* Asks who we are each time: a forked child must not read its parent. */
static bool read_own(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    return copy_from(getpid(), address, out, size);
}

struct memory memory_of_process(int process)
{
    return (struct memory){.read = read_process, .context = (void *)(intptr_t)process};
}

struct memory memory_own(void)
{
    return (struct memory){.read = read_own, .own = true};
}

static bool load(void *context, uint64_t address, void *out, size_t size)
{
    (void)context;
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

struct memory memory_own_alive(void)
{
    return (struct memory){.read = load, .own = true};
}
