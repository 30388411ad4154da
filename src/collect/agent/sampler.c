#include "collect/agent/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/asyncio_table.h"
#include "collect/agent/native_watch.h"
#include "collect/agent/own_signal.h"
#include "collect/agent/restarts.h"
#include "collect/agent/sample_area.h"
#include "collect/agent/stack_sample.h"
#include "collect/agent/thread_watch.h"

#define DISPLACED_TICKS    (1u << 18) /* about 100 us: a handler that took longer may have lost its CPU */
#define STACK_BYTES        (256 * 1024)
#define TLS_BYTES          8192 /* copied from either side of the thread pointer */
#define TRIES_MAX          5
#define PATIENCE_TICKS     200 /* how long a paused sampler waits for the end of an exec */
#define PATIENCE_MS        500 /* how long the program's start waits for the recorder to have read its code */
#define SENDER_PATIENCE_NS 1000000000u
#define SILENCE_NS         5000000000u
#define SILENCE_WAIT_US    100000
#define ARRIVAL_TRIES      2000 /* turns left to others, until a signal that is on its way has come */

static struct stack_reader reader;
static struct native_walker native;
static struct native_watch libraries;
static struct sample_area *area; /* of this process; NULL = not sampled */
static struct sample_area *(*open_area)(uint32_t python);
static uint32_t paused;
static bool is_main; /* the process that the recorder started */

static struct watched *watched; /* one for each slot */
static struct thread_watch watch;

/* ---- in the threads ---- */

/* A stack that is just being changed is asked for again at the next tick: dropping it would be a bias against calls
 * and returns. */
static void take_sample(struct sample_slot *slot, const ucontext_t *context)
{
    uint32_t due = __atomic_exchange_n(&slot->due, 0, __ATOMIC_ACQ_REL);
    if (!due || area->stop)
        return;
    bool last_try = slot->tries >= TRIES_MAX;
    if (area->cpu_clock)
        slot->cpu_now_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    if (stack_sample_self(area, slot, &reader, due, last_try, context) || last_try) {
        slot->tries = 0;
        return;
    }
    slot->tries++;
    __atomic_fetch_add(&slot->due, due, __ATOMIC_ACQ_REL);
}

/* A handler that took long had lost its CPU meanwhile, or the stack is very deep. The thread's own clock tells, but
 * asking it costs as much as a sample: it is asked only after another long one. */
static void note_cost(struct sample_slot *slot, uint64_t begin, uint64_t cpu_begin_ns)
{
    uint64_t now = sample_area_now(area), ticks = now - begin;
    slot->long_before = ticks >= DISPLACED_TICKS;
    if (slot->long_before) {
        double cpu_ns = cpu_begin_ns ? (double)(clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_begin_ns) : 0;
        double run_ns = (double)(clock_monotonic_ns() - area->start_ns);
        ticks = (uint64_t)(cpu_ns / run_ns * (double)(now - area->start_ticks));
    }
    __atomic_fetch_add(&area->signals, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&area->handler_ticks, ticks, __ATOMIC_RELAXED);
}

static void answer(struct sample_slot *slot, const ucontext_t *context)
{
    uint32_t unused = 0;
    uint64_t begin = sample_area_now(area);
    uint64_t cpu_begin_ns = slot->long_before ? clock_read_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    __atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
    if (__atomic_compare_exchange_n(&slot->busy, &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        take_sample(slot, context);
        __atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
    }
    note_cost(slot, begin, cpu_begin_ns);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number;
    int saved = errno;
    uint32_t place = (uint32_t)info->si_value.sival_int;
    struct sample_slot *slot = area && place < SAMPLE_AREA_SLOTS ? &area->slots[place] : NULL;
    if (slot && slot->tid == (uint64_t)syscall(SYS_gettid))
        answer(slot, context);
    own_signal_restart_call(context);
    restarts_note(context);
    errno = saved;
}

/* After this the sampler sends no more; one that somebody has killed or stopped while it was sending never says so,
 * and is not waited for any longer. */
static void pause_sampler(void)
{
    __atomic_store_n(&paused, 1, __ATOMIC_SEQ_CST);
    uint64_t until_ns = clock_monotonic_ns() + SENDER_PATIENCE_NS;
    while (__atomic_load_n(&area->sending, __ATOMIC_SEQ_CST) && clock_monotonic_ns() < until_ns)
        sched_yield();
    __atomic_store_n(&area->sending, 0, __ATOMIC_SEQ_CST);
}

/* See own_signal.h. */
static void hold_signals(bool held)
{
    if (!area)
        return;
    if (held)
        pause_sampler();
    else
        __atomic_store_n(&paused, 0, __ATOMIC_SEQ_CST);
    /* Those on their way to other threads arrive when these run; they may have to wait for a CPU. */
    for (uint32_t place = 0; held && place < area->slot_count; place++)
        for (int tries = 0;
             tries < ARRIVAL_TRIES && __atomic_load_n(&area->slots[place].pending, __ATOMIC_ACQUIRE); tries++)
            sched_yield();
}

/* ---- in the sampler ---- */

static void send_signal(struct thread_watch *unused, uint32_t place)
{
    (void)unused;
    struct sample_slot *slot = &area->slots[place];
    int number;
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_pid = (pid_t)area->pid;
    info.si_uid = getuid();
    info.si_value.sival_int = (int)place;
    __atomic_store_n(&area->sending, 1, __ATOMIC_SEQ_CST);
    info.si_signo = number = own_signal_number();
    if (!number)
        area->unasked += __atomic_exchange_n(&slot->due, 0, __ATOMIC_ACQ_REL);
    else if (!__atomic_load_n(&paused, __ATOMIC_SEQ_CST) && !area->stop) {
        __atomic_store_n(&slot->pending, 1, __ATOMIC_RELEASE);
        if (syscall(SYS_rt_tgsigqueueinfo, (pid_t)area->pid, (pid_t)slot->tid, number, &info) != 0)
            __atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&area->sending, 0, __ATOMIC_SEQ_CST);
}

static uint64_t find_state(struct thread_watch *unused, uint32_t place)
{
    (void)unused;
    const struct sample_slot *slot = &area->slots[place];
    return slot->state ? slot->state : task_list_python_state(&reader, (uint32_t)slot->tid);
}

/* Whether nobody has emptied the rings for a long time: a recorder that was killed, or stopped. */
static bool is_unheard(void)
{
    static uint32_t heard;
    static uint64_t heard_ns;
    uint32_t drains = __atomic_load_n(&area->drains, __ATOMIC_RELAXED);
    uint64_t now_ns = clock_monotonic_ns();
    if (drains != heard || !heard_ns)
        heard_ns = now_ns;
    heard = drains;
    return now_ns - heard_ns > SILENCE_NS;
}

/* Two for each thread; the limit is the sampler's own, not the program's. */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool wants_tasks(void)
{
    return area->tasks && !reader.tasks && layout_minor(&reader.layout) >= ASYNCIO_FIRST_MINOR;
}

/* What has been loaded since the last look. */
static void attend_libraries(void)
{
    if ((!reader.native && !wants_tasks()) || !native_watch_changed(&libraries))
        return;
    if (reader.native)
        native_stack_ask(&native);
    if (wants_tasks())
        stack_sample_find_tasks(&reader, asyncio_table_find());
}

static int run_sampler(void *unused)
{
    (void)unused;
    if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
        for (int fd = 0; fd < 65536; fd++)
            close(fd);
    prctl(PR_SET_NAME, "sonde-sampler");
    struct task_folder folder;
    uint32_t waited = 0;
    thread_watch_ask_for_short_turns();
    allow_descriptors();
    if (!task_list_open_folder(&folder, (uint32_t)area->pid))
        return 0;
    watch.random = clock_counter() | 1;
    while (!area->stop && thread_watch_refresh(&watch, &folder)) {
        thread_watch_wait(&watch);
        if (__atomic_load_n(&paused, __ATOMIC_SEQ_CST)) {
            if (++waited > PATIENCE_TICKS)
                break;
            continue;
        }
        waited = 0;
        if (is_unheard()) {
            usleep(SILENCE_WAIT_US);
            continue;
        }
        attend_libraries();
        thread_watch_look(&watch);
        area->sampler_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    thread_watch_finish(&watch);
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
    watch = (struct thread_watch){.area = area,
                                  .reader = &reader,
                                  .threads = watched,
                                  .sample_runner = send_signal,
                                  .find_state = find_state};
    if (stack == MAP_FAILED || !storage || watched == MAP_FAILED)
        return "no memory for the sampler, or not on this kind of machine";
    /* By hand: to the C library's function it would matter that one of them is ours. */
    const uint64_t all = ~UINT64_C(0);
    uint64_t before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    /* Without a signal at its end it is a child that wait() does not know of. The recorder's own child makes it a
     * sibling, so that nobody who lists the program's children meets it. */
    int flags = CLONE_VM | CLONE_SETTLS | (is_main ? CLONE_PARENT : 0);
    int pid = clone(run_sampler, stack + STACK_BYTES, flags, NULL, NULL, storage, NULL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    if (pid < 0)
        return "the sampler could not be started";
    area->sampler = (uint32_t)pid;
    return NULL;
}

/* Native stacks from the first sample on. A recorder that takes too long costs those until then. */
static void prepare_native(void)
{
    struct native_area *rows = native_area_of(area);
    reader.native = rows ? &native : NULL;
    if (!rows)
        return;
    native_stack_init(&native, rows);
    const struct timespec pause = {0, 1000000};
    for (int waited_ms = 0; !native_stack_ready(&native) && waited_ms < PATIENCE_MS; waited_ms++)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

const char *sampler_start(struct sample_area *(*open)(uint32_t python), bool main_process)
{
    const char *why = stack_sample_init(&reader);
    open_area = open;
    is_main = main_process;
    if (why)
        return why;
    area = open_area(reader.layout.version);
    if (!area)
        return "no shared memory could be had for the samples (the limits of ulimit -f and -v count)";
    native_watch_init(&libraries);
    if (wants_tasks()) /* the interpreter itself may hold them */
        stack_sample_find_tasks(&reader, asyncio_table_find());
    prepare_native();
    if (!own_signal_take(on_signal, hold_signals))
        return "the program uses every real-time signal itself";
    return spawn();
}

/* Exchanges the parent's area for one of our own. The rows of the parent, or of an older ancestor, stay: they are
 * right for us too, until we load something. */
static void leave_area(void)
{
    static struct sample_area *lender; /* whose rows they are */
    struct sample_area *parents = area;
    bool had_rows = reader.native && native.area->table_at;
    area = open_area(reader.layout.version);
    if (reader.native) {
        native_stack_after_fork(&native, area ? native_area_of(area) : NULL, parents->pid);
        reader.native = native.area ? &native : NULL;
    }
    struct sample_area *unused = had_rows ? lender : parents;
    lender = had_rows ? parents : lender;
    if (unused)
        munmap(unused, unused->total_bytes);
}

void sampler_after_fork(void)
{
    if (!area)
        return;
    paused = 0;
    is_main = false;
    memset(watched, 0, SAMPLE_AREA_SLOTS * sizeof *watched);
    reader.process.memory = memory_own();
    leave_area();
    if (area)
        spawn();
}

void sampler_before_exec(void)
{
    /* The child of a vfork shares our memory, but is another process. */
    if (!area || (uint64_t)syscall(SYS_getpid) != area->pid)
        return;
    pause_sampler();
    own_signal_before_exec();
}

void sampler_exec_failed(void)
{
    if (!area || (uint64_t)syscall(SYS_getpid) != area->pid)
        return;
    int saved = errno;
    own_signal_exec_failed();
    __atomic_store_n(&paused, 0, __ATOMIC_SEQ_CST);
    if (!area->sampler && !area->stop)
        spawn();
    errno = saved;
}
