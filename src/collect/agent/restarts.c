#include "collect/agent/restarts.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/clock.h"

#define EXPORT __attribute__((visibility("default")))

static struct {
    int (*nanosleep)(const struct timespec *, struct timespec *);
    int (*clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
    int (*epoll_wait)(int, struct epoll_event *, int, int);
    int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
    int (*sem_timedwait)(sem_t *, const struct timespec *);
    int (*semtimedop)(int, struct sembuf *, size_t, const struct timespec *);
} real;

/* Whether our signal has ended this thread's call. */
static __thread bool interrupted __attribute__((tls_model("initial-exec")));

#define FIND(name) *(void **)&real.name = dlsym(RTLD_NEXT, #name)

void restarts_init(void)
{
    if (real.nanosleep)
        return;
    FIND(clock_nanosleep);
    FIND(poll);
    FIND(ppoll);
    FIND(select);
    FIND(pselect);
    FIND(epoll_wait);
    FIND(epoll_pwait);
    FIND(sem_timedwait);
    FIND(semtimedop);
    FIND(nanosleep);
}

/* The interrupted code then stands behind the instruction of the call, which is about to give EINTR. Another
 * signal's handler that is about to begin would stand there instead: its interruption is the program's. */
void restarts_note(const void *context)
{
#if defined(__x86_64__)
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *next = (const uint8_t *)registers[REG_RIP];
    interrupted |= registers[REG_RAX] == -EINTR && next[-2] == 0x0f && next[-1] == 0x05;
#elif defined(__aarch64__)
    const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
    interrupted |= (int64_t)machine->regs[0] == -EINTR && ((const uint32_t *)machine->pc)[-1] == 0xd4000001;
#else
    (void)context;
#endif
}

/* To be asked after each call; the next one begins with a clean slate. */
static bool was_ours(bool failed)
{
    bool ours = interrupted;
    interrupted = false;
    return failed && ours;
}

static bool again(int result, bool ends)
{
    return was_ours(result < 0 && errno == EINTR) && ends;
}

/* ---- how much of a time is left ---- */

static struct timespec span(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

static struct timespec rest_of(const struct timespec *whole, uint64_t begin_ns)
{
    uint64_t passed_ns = clock_monotonic_ns() - begin_ns;
    uint64_t whole_ns = (uint64_t)whole->tv_sec * 1000000000u + (uint64_t)whole->tv_nsec;
    return span(whole_ns > passed_ns ? whole_ns - passed_ns : 0);
}

static int rest_of_ms(int whole_ms, uint64_t begin_ns)
{
    uint64_t passed_ms = (clock_monotonic_ns() - begin_ns) / 1000000u;
    return (uint64_t)whole_ms > passed_ms ? whole_ms - (int)passed_ms : 0;
}

/* ---- the calls ---- */

EXPORT int nanosleep(const struct timespec *time, struct timespec *rest)
{
    struct timespec left;
    restarts_init();
    interrupted = false;
    int result = real.nanosleep(time, &left);
    while (again(result, true)) {
        struct timespec wanted = left;
        result = real.nanosleep(&wanted, &left);
    }
    if (rest && result < 0 && errno == EINTR)
        *rest = left;
    return result;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *rest)
{
    struct timespec left, wanted = {0};
    restarts_init();
    interrupted = false;
    int error = real.clock_nanosleep(clock, flags, time, &left);
    while (was_ours(error == EINTR)) {
        if (!(flags & TIMER_ABSTIME))
            wanted = left;
        error = real.clock_nanosleep(clock, flags, flags & TIMER_ABSTIME ? time : &wanted, &left);
    }
    if (rest && error == EINTR && !(flags & TIMER_ABSTIME))
        *rest = left;
    return error;
}

EXPORT int usleep(useconds_t time)
{
    const struct timespec wanted = span((uint64_t)time * 1000);
    return nanosleep(&wanted, NULL);
}

EXPORT unsigned sleep(unsigned seconds)
{
    struct timespec left = {.tv_sec = seconds};
    return nanosleep(&left, &left) < 0 ? (unsigned)left.tv_sec : 0;
}

EXPORT int poll(struct pollfd *polled, nfds_t count, int time_ms)
{
    uint64_t begin_ns = time_ms > 0 ? clock_monotonic_ns() : 0;
    restarts_init();
    interrupted = false;
    int result = real.poll(polled, count, time_ms);
    while (again(result, time_ms >= 0))
        result = real.poll(polled, count, rest_of_ms(time_ms, begin_ns));
    return result;
}

EXPORT int ppoll(struct pollfd *polled, nfds_t count, const struct timespec *time, const sigset_t *mask)
{
    uint64_t begin_ns = time ? clock_monotonic_ns() : 0;
    restarts_init();
    interrupted = false;
    int result = real.ppoll(polled, count, time, mask);
    while (again(result, time)) {
        struct timespec left = rest_of(time, begin_ns);
        result = real.ppoll(polled, count, &left, mask);
    }
    return result;
}

/* Linux counts the time down in place, and leaves the sets alone when it fails. */
EXPORT int select(int count, fd_set *read, fd_set *write, fd_set *except, struct timeval *time)
{
    restarts_init();
    interrupted = false;
    int result = real.select(count, read, write, except, time);
    while (again(result, time))
        result = real.select(count, read, write, except, time);
    return result;
}

EXPORT int pselect(int count, fd_set *read, fd_set *write, fd_set *except, const struct timespec *time,
                   const sigset_t *mask)
{
    uint64_t begin_ns = time ? clock_monotonic_ns() : 0;
    restarts_init();
    interrupted = false;
    int result = real.pselect(count, read, write, except, time, mask);
    while (again(result, time)) {
        struct timespec left = rest_of(time, begin_ns);
        result = real.pselect(count, read, write, except, &left, mask);
    }
    return result;
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int count, int time_ms)
{
    uint64_t begin_ns = time_ms > 0 ? clock_monotonic_ns() : 0;
    restarts_init();
    interrupted = false;
    int result = real.epoll_wait(epoll, events, count, time_ms);
    while (again(result, time_ms >= 0))
        result = real.epoll_wait(epoll, events, count, rest_of_ms(time_ms, begin_ns));
    return result;
}

EXPORT int epoll_pwait(int epoll, struct epoll_event *events, int count, int time_ms, const sigset_t *mask)
{
    uint64_t begin_ns = time_ms > 0 ? clock_monotonic_ns() : 0;
    restarts_init();
    interrupted = false;
    int result = real.epoll_pwait(epoll, events, count, time_ms, mask);
    while (again(result, time_ms >= 0))
        result = real.epoll_pwait(epoll, events, count, rest_of_ms(time_ms, begin_ns), mask);
    return result;
}

/* Until a point in time: the same again. */
EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    restarts_init();
    interrupted = false;
    int result = real.sem_timedwait(semaphore, until);
    while (again(result, true))
        result = real.sem_timedwait(semaphore, until);
    return result;
}

EXPORT int semtimedop(int set, struct sembuf *operations, size_t count, const struct timespec *time)
{
    uint64_t begin_ns = time ? clock_monotonic_ns() : 0;
    restarts_init();
    interrupted = false;
    int result = real.semtimedop(set, operations, count, time);
    while (again(result, time)) {
        struct timespec left = rest_of(time, begin_ns);
        result = real.semtimedop(set, operations, count, &left);
    }
    return result;
}
