#include "collect/agent/sampler_process.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/agent/own_memory.h"

#define STACK_BYTES (256 * 1024)
#define TLS_BYTES   8192 /* copied from either side of the thread pointer */

static char *stack;
static void *storage;
static pid_t there; /* 0 = it is not */

/* Thread-local storage of its own, a copy of the calling thread's: the C library keeps errno there. */
static void *copy_thread_storage(void)
{
#if defined(__x86_64__)
    char *memory = own_memory_map(2 * TLS_BYTES);
    if (!memory)
        return NULL;
    char *from, *to = memory + TLS_BYTES;
    __asm__("mov %%fs:0, %0" : "=r"(from));
    for (int side = -1; side <= 0; side++) {
        for (size_t at = 0; at < TLS_BYTES; at += 64) {
            ptrdiff_t offset = side < 0 ? -(ptrdiff_t)at - 64 : (ptrdiff_t)at;
            struct iovec here = {to + offset, 64}, there_too = {from + offset, 64};
            if (process_vm_readv(getpid(), &here, 1, &there_too, 1, 0) != 64)
                break;
        }
    }
    ((void **)to)[0] = to; /* the two words by which code finds it */
    ((void **)to)[2] = to;
    return to;
#else
    return NULL;
#endif
}

static bool make_memory(void)
{
    if (stack)
        return true;
    char *memory = own_memory_map(STACK_BYTES);
    storage = copy_thread_storage();
    if (!memory || !storage)
        return false;
    stack = memory;
    return true;
}

const char *sampler_process_start(int (*run)(void *), bool as_sibling)
{
    if (!make_memory())
        return "no memory for the sampler, or not on this kind of machine";
    /* By hand: to the C library's function it would matter that one of them is ours. */
    const uint64_t all = ~UINT64_C(0);
    uint64_t before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    /* Without a signal at its end it is a child that wait() does not know of. */
    int flags = CLONE_VM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID |
                (as_sibling ? CLONE_PARENT : 0);
    int pid = clone(run, stack + STACK_BYTES, flags, NULL, &there, storage, &there);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    return pid < 0 ? "the sampler could not be started" : NULL;
}

bool sampler_process_is_there(void)
{
    return __atomic_load_n(&there, __ATOMIC_SEQ_CST) != 0;
}

void sampler_process_after_fork(void)
{
    there = 0;
}
