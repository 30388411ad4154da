#include "collect/agent/seccomp_watch.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "collect/agent/sampler.h"
#include "collect/agent/seccomp_filter.h"
#include "python/memory.h"

#define EXPORT         __attribute__((visibility("default")))
#define PIECE_BYTES    512
#define MOST_STEPS     4096
#define MOST_ARGUMENTS 6

static bool deadly;
static uint32_t harmless; /* filters that were put on and do us no harm */

bool seccomp_watch_is_deadly(void)
{
    return __atomic_load_n(&deadly, __ATOMIC_ACQUIRE);
}

void seccomp_watch_compare(uint32_t filters)
{
    static uint32_t at_first = UINT32_MAX;
    uint32_t known = __atomic_load_n(&harmless, __ATOMIC_ACQUIRE);
    if (filters == UINT32_MAX)
        return;
    if (at_first == UINT32_MAX)
        at_first = filters;
    else if (filters > at_first + known)
        __atomic_store_n(&deadly, true, __ATOMIC_RELEASE);
}

#if defined(__x86_64__)

static bool is_readable(const void *address, size_t size)
{
    const struct memory memory = memory_own();
    char piece[PIECE_BYTES];
    for (size_t at = 0; at < size; at += sizeof piece)
        if (!memory_read(&memory, (uint64_t)(uintptr_t)address + at, piece,
                         size - at < sizeof piece ? size - at : sizeof piece))
            return false;
    return true;
}

/* What cannot be read is a mistake of the program's, and the kernel will say so; else it is better to be careful. */
static bool would_kill(unsigned long operation, const struct sock_fprog *filter)
{
    if (operation == SECCOMP_SET_MODE_STRICT)
        return true;
    if (operation != SECCOMP_SET_MODE_FILTER || !filter)
        return false;
    if (!is_readable(filter, sizeof *filter) || filter->len > MOST_STEPS ||
        !is_readable(filter->filter, filter->len * sizeof *filter->filter))
        return true;
    return seccomp_filter_is_deadly(filter);
}

/* Not the C library's: to look that up may allocate, and allocators call this. */
static long call(long number, const long a[MOST_ARGUMENTS])
{
    long result;
    register long fourth __asm__("r10") = a[3];
    register long fifth __asm__("r8") = a[4];
    register long sixth __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(fourth), "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    if ((unsigned long)result < (unsigned long)-4095)
        return result;
    errno = (int)-result;
    return -1;
}

/* From the moment that a deadly filter is in force nothing of ours may call the kernel in this thread. */
static long put_on(unsigned long operation, const void *filter, long number, const long *arguments)
{
    bool kills = !seccomp_watch_is_deadly() && would_kill(operation, filter);
    if (kills)
        sampler_hold(true);
    long result = call(number, arguments);
    if (kills && result >= 0)
        __atomic_store_n(&deadly, true, __ATOMIC_RELEASE);
    else if (result >= 0)
        __atomic_fetch_add(&harmless, 1, __ATOMIC_RELEASE);
    if (kills)
        sampler_hold(false);
    return result;
}

static long pass_on(long number, const long *a)
{
    if (number == SYS_seccomp)
        return put_on((unsigned long)a[0], (const void *)a[2], number, a);
    if (number != SYS_prctl || a[0] != PR_SET_SECCOMP)
        return call(number, a);
    unsigned long operation = a[1] == SECCOMP_MODE_STRICT ? SECCOMP_SET_MODE_STRICT : SECCOMP_SET_MODE_FILTER;
    return put_on(operation, (const void *)a[2], number, a);
}

EXPORT int prctl(int option, ...)
{
    va_list list;
    long arguments[MOST_ARGUMENTS] = {option};
    va_start(list, option);
    for (int i = 1; i < 5; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    return (int)pass_on(SYS_prctl, arguments);
}

EXPORT long syscall(long number, ...)
{
    va_list list;
    long arguments[MOST_ARGUMENTS];
    va_start(list, number);
    for (int i = 0; i < MOST_ARGUMENTS; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    return pass_on(number, arguments);
}

#endif
