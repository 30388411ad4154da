#include "collect/outside/hold.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE_NS 10000000 /* twice this is the longest wait for an answer */

/* Thread-directed, so that nobody else's wait ends by it. */
#define WAKE_SIGNAL SIGRTMAX

static _Thread_local timer_t timer;

static void on_wake(int number)
{
    (void)number; /* a wait that it interrupts returns: that is all */
}

int hold_init(void)
{
    struct sigaction action = {.sa_handler = on_wake};
    sigset_t wake;
    sigemptyset(&wake);
    sigaddset(&wake, WAKE_SIGNAL);
    sigaction(WAKE_SIGNAL, &action, NULL);
    pthread_sigmask(SIG_UNBLOCK, &wake, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE_SIGNAL};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    const struct itimerspec often = {.it_interval = {.tv_nsec = PATIENCE_NS},
                                     .it_value = {.tv_nsec = PATIENCE_NS}};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
        return -1;
    return timer_settime(timer, 0, &often, NULL);
}

void hold_clear(void)
{
    timer_delete(timer);
}

/* Where it stopped: at our request or in a stop of the whole process (which goes on when it is let go of), or with a
 * signal in its hands. */
static enum hold_outcome take_stop(struct hold *hold, int status)
{
    if (!WIFSTOPPED(status))
        return HOLD_GONE;
    hold->signal = status >> 16 ? 0 : WSTOPSIG(status);
    return HOLD_TAKEN;
}

static enum hold_outcome await(struct hold *hold, int flags)
{
    int status;
    pid_t got;
    for (int interruptions = 0; interruptions < 2; interruptions++) {
        got = waitpid((pid_t)hold->tid, &status, __WALL | flags);
        if (got == (pid_t)hold->tid)
            return take_stop(hold, status);
        if (got == 0 || errno != EINTR)
            break;
    }
    return got < 0 && errno != EINTR ? HOLD_GONE : HOLD_PENDING;
}

enum hold_outcome hold_take(struct hold *hold, uint32_t tid)
{
    *hold = (struct hold){.tid = tid};
    if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, NULL) != 0)
        return HOLD_GONE;
    hold->since_ns = clock_monotonic_ns();
    if (ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL) != 0) {
        hold_release(hold);
        return HOLD_GONE;
    }
    return await(hold, 0);
}

enum hold_outcome hold_again(struct hold *hold)
{
    uint64_t now_ns = clock_monotonic_ns();
    enum hold_outcome outcome = await(hold, WNOHANG);
    if (outcome == HOLD_PENDING)
        hold->since_ns = now_ns;
    return outcome;
}

bool hold_registers(const struct hold *hold, struct user_regs_struct *registers)
{
    struct iovec place = {registers, sizeof *registers};
    return ptrace(PTRACE_GETREGSET, (pid_t)hold->tid, (void *)NT_PRSTATUS, &place) == 0;
}

uint64_t hold_release(struct hold *hold)
{
    ptrace(PTRACE_DETACH, (pid_t)hold->tid, NULL, (void *)(intptr_t)hold->signal);
    uint64_t stood_ns = clock_monotonic_ns() - hold->since_ns;
    *hold = (struct hold){0};
    return stood_ns;
}
