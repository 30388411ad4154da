#include "collect/agent/sampler.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/asyncio_table.h"
#include "collect/agent/native_watch.h"
#include "collect/agent/own_calls.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/own_signal.h"
#include "collect/agent/restarts.h"
#include "collect/agent/sample_area.h"
#include "collect/agent/sampler_process.h"
#include "collect/agent/seccomp_watch.h"
#include "collect/agent/stack_sample.h"
#include "collect/agent/state_list.h"
#include "collect/agent/thread_watch.h"

#define DISPLACED_TICKS    (1u << 18) /* about 100 us: a handler that took longer may have lost its CPU */
#define TRIES_MAX          5
#define PATIENCE_TICKS     200 /* how long a paused sampler waits for the end of an exec */
#define PATIENCE_MS        500 /* how long the program's start waits for the recorder to have read its code */
#define SENDER_PATIENCE_NS 1000000000u
#define SILENCE_NS         5000000000u
#define SILENCE_WAIT_US    100000
#define ARRIVAL_TRIES      2000 /* turns left to others, until a signal that is on its way has come */
#define FILTERS_NS         100000000u
#define REST_NS            20000000u /* between two looks whether the program is still there */
#define MISSES_MAX         6

static struct stack_reader reader;
static struct native_walker native;
static struct native_watch libraries;
static struct sample_area *area; /* of this process; NULL = there is none yet, or no sampling */
static struct sample_area
    *inherited; /* of the process that we were forked from, or an ancestor; NULL = none */
static struct sampled_process process; /* pid 0 = not sampled */
static uint64_t unseen_since_ns;       /* since when nobody has looked at it */
static sampler_open_area *open_area;
static uint32_t forking; /* the child has not left its fork yet, and still writes to the inherited area */
static uint32_t leaving; /* the program is about to become another one */
static uint32_t paused;
static uint32_t sending; /* the sampler is about to send a signal */
static bool is_main;     /* the process that the recorder started */
static uint32_t resting; /* nothing is to be sampled until it is 0 again */

static struct watched *watched; /* one for each slot */
static struct thread_watch watch;
static struct state_list states;

/* ---- in the threads ---- */

/* A stack that is just being changed is asked for again at the next tick: dropping it would be a bias against calls
 * and returns. */
static void take_sample(struct sample_slot *slot, const ucontext_t *context)
{
    uint32_t due = __atomic_exchange_n(&slot->due, 0, __ATOMIC_ACQ_REL);
    if (!due || area->stop || __atomic_load_n(&resting, __ATOMIC_RELAXED))
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

static const uint32_t *watched_word;
static uint32_t watched_value;
static int (*watched_changed)(void);

void sampler_watch(const uint32_t *word, int (*changed)(void))
{
    __atomic_store_n(&watched_word, NULL, __ATOMIC_SEQ_CST);
    watched_value = 0;
    watched_changed = changed;
    __atomic_store_n(&watched_word, word, __ATOMIC_SEQ_CST);
}

static void look_at_word(void)
{
    const uint32_t *word = __atomic_load_n(&watched_word, __ATOMIC_SEQ_CST);
    uint32_t value = word ? __atomic_load_n(word, __ATOMIC_ACQUIRE) : 0;
    if (value != watched_value && word && watched_changed() == 0)
        watched_value = value;
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
    look_at_word();
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

/* After this the sampler sends no more. One that somebody has killed while it was sending never says so, one that
 * somebody has stopped not soon: neither is waited for. False when it was given up. */
static bool pause_sampler(void)
{
    __atomic_store_n(&paused, 1, __ATOMIC_SEQ_CST);
    uint64_t until_ns = clock_monotonic_ns() + SENDER_PATIENCE_NS;
    bool in_time = true;
    while (in_time && __atomic_load_n(&sending, __ATOMIC_SEQ_CST) && sampler_process_is_there()) {
        sched_yield();
        in_time = clock_monotonic_ns() < until_ns;
    }
    __atomic_store_n(&sending, 0, __ATOMIC_SEQ_CST);
    return in_time;
}

void sampler_show_calls(const struct current_calls *calls)
{
    reader.calls = calls;
}

void sampler_hold(bool held)
{
    if (!process.pid)
        return;
    if (held)
        pause_sampler();
    else
        __atomic_store_n(&paused, 0, __ATOMIC_SEQ_CST);
    /* Those on their way to other threads arrive when these run; they may have to wait for a CPU. */
    for (uint32_t place = 0; held && area && place < area->slot_count; place++)
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
    __atomic_store_n(&sending, 1, __ATOMIC_SEQ_CST);
    info.si_signo = number = own_signal_number();
    if (seccomp_watch_is_deadly())
        area->forbidden += __atomic_exchange_n(&slot->due, 0, __ATOMIC_ACQ_REL);
    else if (!number)
        area->unasked += __atomic_exchange_n(&slot->due, 0, __ATOMIC_ACQ_REL);
    else if (!__atomic_load_n(&paused, __ATOMIC_SEQ_CST) && !area->stop) {
        __atomic_store_n(&slot->pending, 1, __ATOMIC_RELEASE);
        if (syscall(SYS_rt_tgsigqueueinfo, (pid_t)area->pid, (pid_t)slot->tid, number, &info) != 0)
            __atomic_store_n(&slot->pending, 0, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&sending, 0, __ATOMIC_SEQ_CST);
}

/* Threads that never run Python are asked for more and more rarely. */
static uint64_t find_state(struct thread_watch *unused, uint32_t place)
{
    (void)unused;
    const struct sample_slot *slot = &area->slots[place];
    struct watched *thread = &watched[place];
    if (slot->state || area->looks % (1u << thread->misses))
        return slot->state;
    uint64_t state = state_list_find(&states, &reader, (uint32_t)slot->tid, area->looks);
    if (!state && thread->misses < MISSES_MAX)
        thread->misses++;
    return state;
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

/* Filters of system calls that we have not seen being put on. */
static void attend_filters(void)
{
    static uint64_t next_ns;
    uint64_t now_ns = clock_monotonic_ns();
    const struct task main_thread = {.tid = (uint32_t)area->pid};
    if (now_ns < next_ns)
        return;
    next_ns = now_ns + FILTERS_NS;
    seccomp_watch_compare(task_list_filters(&main_thread, (uint32_t)area->pid));
}

/* What passes meanwhile is nobody's. */
static void rest_a_while(void)
{
    const struct timespec patience = {.tv_nsec = REST_NS};
    uint64_t begin_ns = clock_monotonic_ns();
    thread_watch_finish(&watch);
    syscall(SYS_futex, &resting, FUTEX_WAIT, 1, &patience, NULL, 0);
    area->rested_ns += clock_monotonic_ns() - begin_ns;
    thread_watch_begin_anew(&watch);
}

static void sample_until_end(struct task_folder *folder)
{
    uint32_t waited = 0;
    while (!area->stop && thread_watch_refresh(&watch, folder)) {
        bool rests = __atomic_load_n(&resting, __ATOMIC_SEQ_CST);
        if (rests)
            rest_a_while();
        else
            thread_watch_wait(&watch);
        if (__atomic_load_n(&paused, __ATOMIC_SEQ_CST)) {
            waited += rests ? PATIENCE_TICKS / 10 : 1;
            if (waited > PATIENCE_TICKS)
                break;
            continue;
        }
        waited = 0;
        if (rests)
            continue;
        if (is_unheard()) {
            usleep(SILENCE_WAIT_US);
            continue;
        }
        attend_filters();
        attend_libraries();
        thread_watch_look(&watch);
        area->sampler_cpu_ns = clock_read_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    thread_watch_finish(&watch);
}

/* Exchanges the area that we were forked with for one of our own. The rows of the parent, or of an older ancestor,
 * stay: they are right for us too, until we load something. */
static void leave_area(void)
{
    static struct sample_area *lender; /* whose rows they are */
    bool had_rows = reader.native && native.area->table_at;
    struct sample_area *own = open_area(&process);
    if (reader.native) {
        native_stack_after_fork(&native, own ? native_area_of(own) : NULL, inherited->pid);
        reader.native = native.area ? &native : NULL;
    }
    struct sample_area *unused = had_rows ? lender : inherited;
    lender = had_rows ? inherited : lender;
    area = own;
    inherited = NULL;
    if (unused)
        own_memory_unmap(unused, unused->total_bytes);
}

/* Until the first look at a forked child is due; less when it execs, and for ever when it ends. */
static void await_first_look(void)
{
    watch.area = inherited;
    watch.next_ns = unseen_since_ns + thread_watch_interval_ns(&watch);
    const struct timespec until = {.tv_sec = (time_t)(watch.next_ns / 1000000000u),
                                   .tv_nsec = (long)(watch.next_ns % 1000000000u)};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if ((uint64_t)getppid() == process.pid)
        syscall(SYS_futex, &leaving, FUTEX_WAIT_BITSET, 0, &until, NULL, FUTEX_BITSET_MATCH_ANY);
    prctl(PR_SET_PDEATHSIG, 0ul);
}

/* False when the child is not worth an area any more. */
static bool come_late(void)
{
    await_first_look();
    while (__atomic_load_n(&forking, __ATOMIC_ACQUIRE) && (uint64_t)getppid() == process.pid)
        sched_yield();
    if (__atomic_load_n(&leaving, __ATOMIC_SEQ_CST) || (uint64_t)getppid() != process.pid)
        return false;
    leave_area();
    watch.area = area;
    return area;
}

static int run_sampler(void *unused)
{
    (void)unused;
    if (syscall(SYS_close_range, 0u, ~0u, 0u) != 0)
        for (int fd = 0; fd < 65536; fd++)
            own_calls_close(fd);
    prctl(PR_SET_NAME, "sonde-sampler");
    struct task_folder folder;
    thread_watch_ask_for_short_turns();
    memset(watched, 0, SAMPLE_AREA_SLOTS * sizeof *watched);
    watch.random = clock_counter() | 1;
    if (!area && !come_late())
        return 0;
    allow_descriptors();
    if (task_list_open_folder(&folder, (uint32_t)area->pid))
        sample_until_end(&folder);
    return 0;
}

/* ---- starting it ---- */

static const char *spawn(void)
{
    if (!watched)
        watched = own_memory_map(SAMPLE_AREA_SLOTS * sizeof *watched);
    if (!watched)
        return "no memory for the sampler";
    watch = (struct thread_watch){.area = area,
                                  .reader = &reader,
                                  .threads = watched,
                                  .sample_runner = send_signal,
                                  .find_state = find_state};
    return sampler_process_start(run_sampler, is_main);
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

const char *sampler_start(sampler_open_area *open, bool main_process)
{
    const char *why = stack_sample_init(&reader);
    open_area = open;
    is_main = main_process;
    if (why)
        return why;
    process = (struct sampled_process){.python = reader.layout.version,
                                       .pid = (uint64_t)getpid(),
                                       .parent_pid = (uint64_t)getppid(),
                                       .since = clock_read_pair(clock_has_counter())};
    area = open_area(&process);
    if (!area)
        return "no shared memory could be had for the samples (the limits of ulimit -f and -v count)";
    native_watch_init(&libraries);
    if (wants_tasks()) /* the interpreter itself may hold them */
        stack_sample_find_tasks(&reader, asyncio_table_find());
    prepare_native();
    if (!own_signal_take(on_signal, sampler_hold))
        return "the program uses every real-time signal itself";
    return spawn();
}

static bool is_followed(void)
{
    bool deadly = seccomp_watch_is_deadly();
    __atomic_fetch_add(&inherited->unfollowed, deadly, __ATOMIC_RELAXED);
    return !deadly && !inherited->stop;
}

void sampler_rest(bool rests)
{
    __atomic_store_n(&resting, rests, __ATOMIC_SEQ_CST);
    if (!rests && process.pid)
        syscall(SYS_futex, &resting, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void sampler_note_unfollowed(void)
{
    if (area)
        __atomic_fetch_add(&area->unfollowed, 1, __ATOMIC_RELAXED);
}

/* The time until the child runs on is the program's loss; its parent's area is still there to note it in. */
void sampler_after_fork(void)
{
    inherited = area ? area : inherited;
    area = NULL;
    if (!inherited || !is_followed()) {
        inherited = NULL;
        process.pid = 0;
        return;
    }
    uint64_t begin_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    process.parent_pid = process.pid;
    process.pid = (uint64_t)getpid();
    process.since = clock_read_pair(!inherited->ns_per_tick);
    unseen_since_ns = process.since.ns;
    paused = sending = leaving = 0;
    forking = 1;
    is_main = false;
    states.look = 0;
    sampler_process_after_fork();
    spawn();
    uint64_t used_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
    __atomic_fetch_add(&inherited->fork_ns, used_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&forking, 0, __ATOMIC_RELEASE);
}

/* The child of a vfork shares our memory, but is another process. */
static bool is_our_process(void)
{
    return process.pid && !seccomp_watch_is_deadly() && (uint64_t)syscall(SYS_getpid) == process.pid;
}

void sampler_before_exec(void)
{
    if (!is_our_process())
        return;
    pause_sampler();
    __atomic_store_n(&leaving, 1, __ATOMIC_SEQ_CST);
    if (!area) /* it need not come at all */
        syscall(SYS_futex, &leaving, FUTEX_WAKE, 1, NULL, NULL, 0);
    own_signal_before_exec();
}

void sampler_exec_failed(void)
{
    int saved = errno;
    if (!is_our_process())
        return;
    own_signal_exec_failed();
    uint64_t until_ns = clock_monotonic_ns() + SENDER_PATIENCE_NS;
    while (!area && sampler_process_is_there() && clock_monotonic_ns() < until_ns)
        sched_yield(); /* it makes the area just now, or ends */
    __atomic_store_n(&leaving, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&paused, 0, __ATOMIC_SEQ_CST);
    if (!sampler_process_is_there() && (area ? !area->stop : inherited != NULL)) {
        unseen_since_ns = clock_monotonic_ns();
        spawn();
    }
    errno = saved;
}
