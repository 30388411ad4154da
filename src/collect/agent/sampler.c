#include "collect/agent/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/sample_area.h"
#include "collect/agent/stack_sample.h"
#include "collect/agent/task_list.h"

#define STACK_BYTES    (256 * 1024)
#define TLS_BYTES      8192 /* copied from either side of the thread pointer */
#define REPEATS_MAX    64   /* ticks of an unchanged sleep that one record may stand for */
#define TRIES_MAX      5
#define PATIENCE_TICKS 200 /* how long a paused sampler waits for the end of an exec */

static struct stack_reader reader;
static struct sample_area *area; /* of this process; NULL = not sampled */
static struct sample_area *(*open_area)(uint32_t python);
static int signal_number;
static uint32_t paused;
static bool is_main; /* the process that the recorder started */

/* What the sampler remembers of a thread, beside its slot. */
struct watched {
    struct task task;
    struct task_times times; /* when it was last seen asleep */
    bool asleep;             /* its stack has been written and cannot have changed since */
    uint32_t repeats;        /* ticks since then, not written yet */
    struct task_times seen;  /* at the last tick */
    uint64_t seen_ns;
    bool ran;        /* at the last tick */
    uint32_t bursts; /* ticks that found it running, but only just: not asked of it */
};

static struct watched *watched; /* one for each slot */

/* ---- in the threads ---- */

/* A stack that is just being changed is asked for again at the next tick: dropping it would be a bias against calls
 * and returns. */
static void take_sample(struct sample_slot *slot)
{
    uint32_t due = __atomic_exchange_n(&slot->due, 0, __ATOMIC_ACQ_REL);
    if (!due || area->stop)
        return;
    bool last_try = slot->tries >= TRIES_MAX;
    if (stack_sample_self(area, slot, &reader, due, last_try) || last_try) {
        slot->tries = 0;
        return;
    }
    slot->tries++;
    __atomic_fetch_add(&slot->due, due, __ATOMIC_ACQ_REL);
}

static uint64_t now_ticks(void)
{
    return area->ns_per_tick > 0 ? clock_monotonic_ns() : clock_counter();
}

static void answer(struct sample_slot *slot)
{
    uint32_t unused = 0;
    uint64_t begin = now_ticks();
    __atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
    if (__atomic_compare_exchange_n(&slot->busy, &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        take_sample(slot);
        __atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
    }
    __atomic_fetch_add(&area->signals, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&area->handler_ticks, now_ticks() - begin, __ATOMIC_RELAXED);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    int saved = errno;
    uint32_t place = (uint32_t)info->si_value.sival_int;
    struct sample_slot *slot = area && place < SAMPLE_AREA_SLOTS ? &area->slots[place] : NULL;
    if (slot && slot->tid == (uint64_t)syscall(SYS_gettid))
        answer(slot);
    errno = saved;
}

/* The highest real-time signal that the program has not taken for itself. */
static int choose_signal(void)
{
    for (int number = SIGRTMAX - 1; number > SIGRTMIN; number--) {
        struct sigaction present;
        if (sigaction(number, NULL, &present) == 0 && present.sa_handler == SIG_DFL)
            return number;
    }
    return 0;
}

/* ---- in the sampler ---- */

static void send_signal(uint32_t place, struct sample_slot *slot)
{
    siginfo_t info = {.si_signo = signal_number, .si_code = SI_QUEUE};
    info.si_pid = (pid_t)area->pid;
    info.si_uid = getuid();
    info.si_value.sival_int = (int)place;
    __atomic_store_n(&area->sending, 1, __ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&paused, __ATOMIC_SEQ_CST) && !area->stop) {
        __atomic_store_n(&slot->pending, 1, __ATOMIC_RELEASE);
        if (syscall(SYS_rt_tgsigqueueinfo, (pid_t)area->pid, (pid_t)slot->tid, signal_number, &info) != 0)
            __atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&area->sending, 0, __ATOMIC_SEQ_CST);
}

static void write_repeats(struct watched *thread, struct sample_slot *slot)
{
    if (thread->repeats)
        stack_sample_again(area, slot, thread->repeats, false);
    thread->repeats = 0;
}

/* Whether the thread has been running for a while. One that has only just woken up may be asleep again when the
 * signal comes, and its system call would be interrupted. */
static bool runs_steadily(struct watched *thread, const struct task_times *times)
{
    uint64_t now_ns = clock_monotonic_ns();
    bool through = thread->ran && times->slices == thread->seen.slices;
    bool much = (times->run_ns - thread->seen.run_ns) * 3 > now_ns - thread->seen_ns;
    thread->seen_ns = now_ns;
    return through || much;
}

static bool sleeps_on(void *context)
{
    struct watched *thread = context;
    struct task_times times;
    return task_list_times(&thread->task, &times) && memcmp(&times, &thread->times, sizeof times) == 0 &&
           task_list_state(&thread->task) != 'R';
}

static void look_at_sleeper(struct watched *thread, struct sample_slot *slot, const struct task_times *times)
{
    thread->times = *times;
    thread->asleep = false;
    if (!slot->state)
        slot->state = task_list_python_state(&reader, (uint32_t)slot->tid);
    if (!slot->state) {
        area->stateless++;
        return;
    }
    uint32_t free_to_write = 0;
    if (!__atomic_compare_exchange_n(&slot->busy, &free_to_write, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    thread->asleep = stack_sample_sleeper(area, slot, &reader, 1, sleeps_on, thread);
    if (thread->asleep && thread->bursts) { /* short bursts between sleeps are shown where it sleeps */
        stack_sample_again(area, slot, thread->bursts, true);
        thread->bursts = 0;
    }
    __atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
}

static void look_at_runner(uint32_t place, bool steady)
{
    struct watched *thread = &watched[place];
    struct sample_slot *slot = &area->slots[place];
    thread->asleep = false;
    thread->bursts++;
    if (!steady)
        return;
    __atomic_fetch_add(&slot->due, thread->bursts, __ATOMIC_ACQ_REL);
    thread->bursts = 0;
    if (!__atomic_load_n(&slot->pending, __ATOMIC_ACQUIRE))
        send_signal(place, slot);
}

static void look_at(uint32_t place)
{
    struct watched *thread = &watched[place];
    struct sample_slot *slot = &area->slots[place];
    struct task_times times;
    if (!task_list_times(&thread->task, &times))
        return;
    if (thread->asleep && memcmp(&times, &thread->times, sizeof times) == 0) {
        if (++thread->repeats >= REPEATS_MAX)
            write_repeats(thread, slot);
        return;
    }
    write_repeats(thread, slot);
    char state = task_list_state(&thread->task);
    bool steady = runs_steadily(thread, &times);
    thread->ran = state == 'R';
    thread->seen = times;
    if (state == 'R')
        look_at_runner(place, steady);
    else if (state == 'S' || state == 'D')
        look_at_sleeper(thread, slot, &times);
}

static void end_slot(uint32_t place)
{
    struct watched *thread = &watched[place];
    struct sample_slot *slot = &area->slots[place];
    write_repeats(thread, slot);
    task_list_close(&thread->task);
    *thread = (struct watched){0};
    __atomic_store_n(&slot->end_ticks, now_ticks(), __ATOMIC_RELEASE);
}

static void begin_slot(uint32_t tid)
{
    for (uint32_t place = 0; place < SAMPLE_AREA_SLOTS; place++) {
        struct sample_slot *slot = &area->slots[place];
        if (__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE))
            continue;
        if (!task_list_open(&watched[place].task, (uint32_t)area->pid, tid))
            return;
        slot->state = 0;
        slot->due = slot->pending = slot->busy = slot->depth = slot->tries = 0;
        slot->end_ticks = 0;
        slot->start_ticks = now_ticks();
        task_list_name(&watched[place].task, slot->name, sizeof slot->name);
        slot->generation++;
        if (place >= area->slot_count)
            area->slot_count = place + 1;
        __atomic_store_n(&slot->tid, tid, __ATOMIC_RELEASE);
        return;
    }
    area->lost_threads++;
}

/* Threads that have come get a slot, those that have gone lose it. False when the process has ended. */
static bool refresh(struct task_folder *folder)
{
    static bool seen[SAMPLE_AREA_SLOTS];
    memset(seen, 0, area->slot_count);
    uint32_t tid, alive = 0;
    task_list_rewind(folder);
    while ((tid = task_list_next(folder)) != 0) {
        uint32_t place = 0;
        alive++;
        while (place < area->slot_count && (area->slots[place].tid != tid || area->slots[place].end_ticks))
            place++;
        if (place < area->slot_count)
            seen[place] = true;
        else
            begin_slot(tid);
    }
    for (uint32_t place = 0; place < area->slot_count; place++)
        if (!seen[place] && area->slots[place].tid && !area->slots[place].end_ticks &&
            watched[place].task.tid && !task_list_is_alive(&watched[place].task))
            end_slot(place);
    return alive > 0;
}

static uint64_t next_interval(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    double uniform = (double)((*random >> 11) + 1) / 9007199254740993.0;
    double interval = -log(uniform) * (double)area->period_ns;
    return interval < 20.0 * (double)area->period_ns ? (uint64_t)interval : 20 * area->period_ns;
}

static void sleep_until(uint64_t ns)
{
    const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int run_sampler(void *unused)
{
    (void)unused;
    if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
        for (int fd = 0; fd < 65536; fd++)
            close(fd);
    prctl(PR_SET_NAME, "sonde-sampler");
    struct task_folder folder;
    uint64_t random = clock_counter() | 1, next_ns = clock_monotonic_ns();
    uint32_t waited = 0;
    if (!task_list_open_folder(&folder, (uint32_t)area->pid))
        return 0;
    while (!area->stop && refresh(&folder)) {
        next_ns += next_interval(&random);
        sleep_until(next_ns);
        if (__atomic_load_n(&paused, __ATOMIC_SEQ_CST)) {
            if (++waited > PATIENCE_TICKS)
                break;
            continue;
        }
        waited = 0;
        for (uint32_t place = 0; place < area->slot_count; place++)
            if (watched[place].task.tid)
                look_at(place);
        area->ticks_done++;
        area->sampler_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    for (uint32_t place = 0; place < area->slot_count; place++)
        if (watched[place].task.tid)
            write_repeats(&watched[place], &area->slots[place]);
    area->sampler = 0;
    return 0;
}

/* ---- starting it ---- */

/* Thread-local storage of its own, a copy of the calling thread's: the C library keeps errno there. */
static void *copy_thread_storage(void)
{
#if defined(__x86_64__)
    char *memory = mmap(NULL, 2 * TLS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    char *from, *to = memory + TLS_BYTES;
    __asm__("mov %%fs:0, %0" : "=r"(from));
    for (int side = -1; side <= 0; side++) {
        for (size_t at = 0; at < TLS_BYTES; at += 64) {
            ptrdiff_t offset = side < 0 ? -(ptrdiff_t)at - 64 : (ptrdiff_t)at;
            struct iovec here = {to + offset, 64}, there = {from + offset, 64};
            if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 64)
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

static const char *spawn(void)
{
    static char *stack;
    static void *storage;
    if (!stack) {
        stack =
            mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        storage = copy_thread_storage();
        watched = mmap(NULL, SAMPLE_AREA_SLOTS * sizeof *watched, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    if (stack == MAP_FAILED || !storage || watched == MAP_FAILED)
        return "no memory for the sampler, or not on this kind of machine";
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    /* Without a signal at its end it is a child that wait() does not know of. The recorder's own child makes it a
     * sibling, so that nobody who lists the program's children meets it. */
    int flags = CLONE_VM | CLONE_SETTLS | (is_main ? CLONE_PARENT : 0);
    int pid = clone(run_sampler, stack + STACK_BYTES, flags, NULL, NULL, storage, NULL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid < 0)
        return "the sampler could not be started";
    area->sampler = (uint32_t)pid;
    return NULL;
}

const char *sampler_start(struct sample_area *(*open)(uint32_t python), bool main_process)
{
    const char *why = stack_sample_init(&reader);
    open_area = open;
    is_main = main_process;
    signal_number = why ? 0 : choose_signal();
    if (why)
        return why;
    if (!signal_number)
        return "the program uses every real-time signal itself";
    area = open_area(reader.layout.version);
    if (!area)
        return "no shared memory could be had for the samples (the limits of ulimit -f and -v count)";
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(signal_number, &action, NULL);
    return spawn();
}

void sampler_after_fork(void)
{
    if (!area)
        return;
    paused = 0;
    is_main = false;
    memset(watched, 0, SAMPLE_AREA_SLOTS * sizeof *watched);
    reader.process.memory = memory_own();
    struct sample_area *parents = area;
    area = open_area(reader.layout.version);
    munmap(parents, parents->total_bytes);
    if (area)
        spawn();
}

void sampler_before_exec(void)
{
    /* The child of a vfork shares our memory, but is another process. */
    if (!area || (uint64_t)syscall(SYS_getpid) != area->pid)
        return;
    __atomic_store_n(&paused, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&area->sending, __ATOMIC_SEQ_CST))
        sched_yield();
    /* One that came while the program had it blocked is taken out of the queue. */
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, signal_number);
    const struct timespec now = {0, 0};
    while (sigtimedwait(&ours, NULL, &now) > 0)
        continue;
}

void sampler_exec_failed(void)
{
    if (!area || (uint64_t)syscall(SYS_getpid) != area->pid)
        return;
    int saved = errno;
    __atomic_store_n(&paused, 0, __ATOMIC_SEQ_CST);
    if (!area->sampler && !area->stop)
        spawn();
    errno = saved;
}
