#include "collect/agent/own_signal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static int ours; /* 0 = none */
static void (*our_handler)(int, siginfo_t *, void *);
static void (*hold_signals)(bool);
static __thread bool wants_it_blocked __attribute__((tls_model("initial-exec")));

static struct {
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t);
    int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigtimedwait)(const sigset_t *, siginfo_t *, const struct timespec *);
    int (*signalfd)(int, const sigset_t *, int);
} real;

static void find_real(void)
{
    if (real.sigaction)
        return;
    *(void **)&real.signal = dlsym(RTLD_NEXT, "signal");
    *(void **)&real.pthread_sigmask = dlsym(RTLD_NEXT, "pthread_sigmask");
    *(void **)&real.sigwait = dlsym(RTLD_NEXT, "sigwait");
    *(void **)&real.sigtimedwait = dlsym(RTLD_NEXT, "sigtimedwait");
    *(void **)&real.signalfd = dlsym(RTLD_NEXT, "signalfd");
    *(void **)&real.sigaction = dlsym(RTLD_NEXT, "sigaction");
}

/* ---- having it ---- */

static int find_free(int except)
{
    for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--) {
        struct sigaction present;
        if (number != except && real.sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            return number;
    }
    return 0;
}

static int take(int except)
{
    struct sigaction action = {.sa_sigaction = our_handler, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    int number = find_free(except);
    sigfillset(&action.sa_mask);
    if (number)
        real.sigaction(number, &action, NULL);
    return number;
}

/* In the calling thread: what the program thinks is blocked is blocked. */
static void set_blocked(int number, bool blocked)
{
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    if (number && wants_it_blocked)
        real.pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &only, NULL);
}

int own_signal_take(void (*handler)(int, siginfo_t *, void *), void (*hold)(bool))
{
    find_real();
    our_handler = handler;
    hold_signals = hold;
    ours = take(0);
    sigset_t blocked;
    real.pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    wants_it_blocked = ours && sigismember(&blocked, ours) == 1;
    set_blocked(ours, false);
    return ours;
}

int own_signal_number(void)
{
    return ours;
}

/* The program wants this one. */
static void move_on(int number)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    hold_signals(true);
    set_blocked(number, true);
    ours = take(number);
    set_blocked(ours, false);
    real.sigaction(number, &usual, NULL);
    hold_signals(false);
}

void own_signal_before_exec(void)
{
    set_blocked(ours, true);
    /* One that came while the kernel had it blocked (not everybody asks the C library) would kill the new program. */
    const uint64_t only = ours ? UINT64_C(1) << (ours - 1) : 0;
    const struct timespec now = {0, 0};
    while (only && syscall(SYS_rt_sigtimedwait, &only, NULL, &now, sizeof only) > 0)
        continue;
}

void own_signal_exec_failed(void)
{
    set_blocked(ours, false);
}

/* ---- what the program sees ---- */

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    find_real();
    if (!ours || number != ours)
        return real.sigaction(number, action, old);
    if (action && action->sa_handler != SIG_DFL) {
        move_on(number);
        return real.sigaction(number, action, old);
    }
    if (old)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return 0;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    find_real();
    if (ours && number == ours && handler == SIG_DFL)
        return SIG_DFL;
    if (ours && number == ours)
        move_on(number);
    return real.signal(number, handler);
}

static sigset_t without_ours(const sigset_t *set)
{
    sigset_t copy = *set;
    if (ours)
        sigdelset(&copy, ours);
    return copy;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    find_real();
    if (!ours)
        return real.pthread_sigmask(how, set, old);
    bool wanted = wants_it_blocked, named = set && sigismember(set, ours) == 1;
    const sigset_t given = set ? without_ours(set) : (sigset_t){0};
    int failed = real.pthread_sigmask(how, set ? &given : NULL, old);
    if (failed)
        return failed;
    if (old && wanted)
        sigaddset(old, ours);
    if (set && how == SIG_SETMASK)
        wants_it_blocked = named;
    else if (named)
        wants_it_blocked = how == SIG_BLOCK;
    return 0;
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    int failed = pthread_sigmask(how, set, old);
    if (failed)
        errno = failed;
    return failed ? -1 : 0;
}

EXPORT int sigwait(const sigset_t *set, int *number)
{
    find_real();
    const sigset_t others = without_ours(set);
    return real.sigwait(&others, number);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    find_real();
    const sigset_t others = without_ours(set);
    return real.sigtimedwait(&others, info, timeout);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return sigtimedwait(set, info, NULL);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    find_real();
    const sigset_t others = without_ours(set);
    return real.signalfd(fd, &others, flags);
}

/* ---- calls that sleep ---- */

#if defined(__x86_64__)

/* Whether the call ends by itself, after a time. One that waits for ever may be waiting for a signal of the program's
 * own, and that one may just have come: to that we add nothing. */
static bool ends_by_itself(long number, const greg_t *registers)
{
    switch (number) {
    case SYS_clock_nanosleep:
    case SYS_nanosleep:
        return true;
    case SYS_poll:
        return (int)registers[REG_RDX] >= 0;
    case SYS_ppoll:
        return registers[REG_RDX] != 0;
    case SYS_select:
    case SYS_pselect6:
        return registers[REG_R8] != 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
        return (int)registers[REG_R10] >= 0;
    case SYS_futex:
        return registers[REG_R10] != 0;
    default:
        return false;
    }
}

/* The kernel leaves the program behind its `syscall` instruction, with RCX pointing there too and the result
 * EINTR. It does not say which call it was; but as a rule the instruction before is `mov $number, %eax`. */
void own_signal_restart_call(void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (registers[REG_RAX] != -EINTR || registers[REG_RCX] != registers[REG_RIP])
        return;
    const uint8_t *code = (const uint8_t *)registers[REG_RIP] - 7;
    int32_t number;
    memcpy(&number, code + 1, sizeof number);
    if (code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05 || !ends_by_itself(number, registers))
        return;
    registers[REG_RAX] = number;
    registers[REG_RIP] -= 2;
}

#else

void own_signal_restart_call(void *context)
{
    (void)context;
}

#endif
