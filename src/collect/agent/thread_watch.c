#include "collect/agent/thread_watch.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/stack_sample.h"

#define REPEATS_MAX 64     /* ticks of an unchanged sleep that one record may stand for */
#define TURN_NS     100000 /* of the CPU, at a time */
#define WARY_TICKS  100    /* for which a thread that has slept is looked at more closely */
#define LIST_INTERVAL_NS                                                                                     \
    1000000000 /* threads are listed again after this time though nothing hints at a change */
#define NAME_TRIES 30
#define RENAME_NS  20000000u /* a name that is known is looked at again, one thread's at a time */

static void write_repeats(struct thread_watch *watch, uint32_t place)
{
    struct watched *thread = &watch->threads[place];
    if (thread->repeats)
        stack_sample_again(watch->area, &watch->area->slots[place], thread->repeats, false);
    thread->repeats = 0;
}

/* Whether a runnable thread is still in the call that it slept in: woken, but not yet on a CPU again. A signal would
 * interrupt that call, too. */
static bool is_still_in_call(struct thread_watch *watch, struct watched *thread,
                             const struct task_times *times)
{
    uint64_t slept, displaced;
    if (!thread->wary)
        return false;
    thread->wary--;
    if (!task_list_switches(&thread->task, (uint32_t)watch->area->pid, &slept, &displaced))
        return true;
    bool on_cpu = times->slices > slept + displaced;
    /* On one CPU with us it is never seen running: we have just displaced it. Displaced, but not asleep since the last
     * look, it is past its call. */
    if (on_cpu || (slept == thread->slept && displaced != thread->displaced))
        thread->in_call = false;
    else if (slept != thread->slept)
        thread->in_call = true;
    thread->slept = slept;
    thread->displaced = displaced;
    return thread->in_call;
}

static bool sleeps_on(void *context)
{
    struct watched *thread = context;
    struct task_times times;
    return task_list_times(&thread->task, &times) && memcmp(&times, &thread->times, sizeof times) == 0 &&
           task_list_state(&thread->task) != 'R';
}

static void look_at_sleeper(struct thread_watch *watch, uint32_t place, const struct task_times *times)
{
    struct watched *thread = &watch->threads[place];
    struct sample_slot *slot = &watch->area->slots[place];
    thread->times = *times;
    thread->asleep = false;
    thread->wary = WARY_TICKS;
    thread->in_call = true;
    slot->state = watch->find_state(watch, place);
    if (!slot->state && !watch->reader->native) {
        watch->area->stateless += watch->ticks;
        return;
    }
    uint32_t free_to_write = 0;
    if (!__atomic_compare_exchange_n(&slot->busy, &free_to_write, 1, false, __ATOMIC_ACQUIRE,
                                     __ATOMIC_RELAXED))
        return;
    thread->asleep = stack_sample_sleeper(watch->area, slot, watch->reader, watch->ticks, sleeps_on, thread);
    if (thread->asleep && thread->bursts) { /* short bursts between sleeps are shown where it sleeps */
        stack_sample_again(watch->area, slot, thread->bursts, true);
        thread->bursts = 0;
    }
    __atomic_store_n(&slot->busy, 0, __ATOMIC_RELEASE);
}

static void look_at_runner(struct thread_watch *watch, uint32_t place, bool in_call)
{
    struct watched *thread = &watch->threads[place];
    struct sample_slot *slot = &watch->area->slots[place];
    thread->asleep = false;
    thread->bursts += watch->ticks;
    if (in_call)
        return;
    __atomic_fetch_add(&slot->due, thread->bursts, __ATOMIC_ACQ_REL);
    thread->bursts = 0;
    if (!__atomic_load_n(&slot->pending, __ATOMIC_ACQUIRE))
        watch->sample_runner(watch, place);
}

static void look_at(struct thread_watch *watch, uint32_t place)
{
    struct watched *thread = &watch->threads[place];
    struct task_times times;
    if (!thread->asleep && !thread->wary && task_list_runs(&thread->task)) {
        look_at_runner(watch, place, false);
        return;
    }
    if (!task_list_times(&thread->task, &times)) {
        watch->ended = true;
        return;
    }
    if (thread->asleep && memcmp(&times, &thread->times, sizeof times) == 0) {
        thread->repeats += watch->ticks;
        if (thread->repeats >= REPEATS_MAX)
            write_repeats(watch, place);
        return;
    }
    write_repeats(watch, place);
    char state = task_list_state(&thread->task);
    if (state == 'R')
        look_at_runner(watch, place, is_still_in_call(watch, thread, &times));
    else if ((state == 'S' || state == 'D') && !watch->area->cpu_clock)
        look_at_sleeper(watch, place, &times);
}

static void end_slot(struct thread_watch *watch, uint32_t place)
{
    struct watched *thread = &watch->threads[place];
    struct sample_slot *slot = &watch->area->slots[place];
    write_repeats(watch, place);
    task_list_close(&thread->task);
    *thread = (struct watched){0};
    if (place < watch->free_place)
        watch->free_place = place;
    __atomic_store_n(&slot->end_ticks, sample_area_now(watch->area), __ATOMIC_RELEASE);
}

/* What a thread used before we met it is not ours to tell of. */
static uint64_t used_cpu_ns(const struct thread_watch *watch, uint32_t place)
{
    struct task_times times;
    bool counts = watch->area->cpu_clock && task_list_times(&watch->threads[place].task, &times);
    return counts ? times.run_ns : 0;
}

/* The lowest, so that no more memory is touched than there are threads at the same time. Slots lie far apart: nothing
 * is looked for in them that is remembered here. SAMPLE_AREA_SLOTS = none is free. */
static uint32_t find_free_place(struct thread_watch *watch)
{
    bool all_taken = true;
    for (uint32_t place = watch->free_place; place < SAMPLE_AREA_SLOTS; place++) {
        bool taken = watch->threads[place].task.tid != 0;
        if (!taken && !__atomic_load_n(&watch->area->slots[place].tid, __ATOMIC_ACQUIRE))
            return place;
        all_taken &= taken; /* else its thread has ended, and the recorder has still to let go of it */
        if (all_taken)
            watch->free_place = place + 1;
    }
    return SAMPLE_AREA_SLOTS;
}

static void fill_slot(struct thread_watch *watch, uint32_t place, uint32_t tid)
{
    struct sample_area *area = watch->area;
    struct sample_slot *slot = &area->slots[place];
    slot->state = 0;
    slot->due = slot->pending = slot->busy = slot->depth = slot->tries = slot->long_before = 0;
    slot->end_ticks = 0;
    slot->stack = (struct own_stack){0};
    slot->cpu_ns = slot->cpu_now_ns = used_cpu_ns(watch, place);
    slot->start_ticks = tid == area->pid ? area->start_ticks : sample_area_now(area);
    watch->threads[place].unnamed = tid == area->pid ? NAME_TRIES : 0;
    if (tid == area->pid)
        strcpy(slot->name, "MainThread"); /* as Python names it, when it imports threading */
    else
        task_list_name(&watch->threads[place].task, slot->name, sizeof slot->name);
    slot->generation++;
    if (place >= area->slot_count)
        area->slot_count = place + 1;
    __atomic_store_n(&slot->tid, tid, __ATOMIC_RELEASE);
}

static void begin_slot(struct thread_watch *watch, uint32_t tid)
{
    uint32_t place = find_free_place(watch);
    bool opened = place < SAMPLE_AREA_SLOTS &&
                  task_list_open(&watch->threads[place].task, (uint32_t)watch->area->pid, tid);
    if (opened)
        fill_slot(watch, place, tid);
    else if (place == SAMPLE_AREA_SLOTS || (errno != ENOENT && errno != ESRCH)) /* it has not just ended */
        watch->area->lost_threads++;
}

/* The slot of a thread, looked for from `from` on, because threads are listed in the order of their slots for the
 * most part; SAMPLE_AREA_SLOTS = none. */
static uint32_t find_slot(const struct thread_watch *watch, uint32_t tid, uint32_t from)
{
    for (uint32_t i = 0, place = from; i < watch->area->slot_count; i++, place++) {
        if (place >= watch->area->slot_count)
            place = 0;
        if (watch->threads[place].task.tid == tid)
            return place;
    }
    return SAMPLE_AREA_SLOTS;
}

/* To list the threads costs more than to count them. */
static bool is_list_old(struct thread_watch *watch, struct task_folder *folder)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint32_t count = task_list_count(folder);
    if (!watch->ended && count && count == watch->threads_listed &&
        now_ns - watch->listed_ns < LIST_INTERVAL_NS)
        return false;
    watch->ended = false;
    watch->threads_listed = count;
    watch->listed_ns = now_ns;
    return true;
}

bool thread_watch_refresh(struct thread_watch *watch, struct task_folder *folder)
{
    struct sample_area *area = watch->area;
    if (!is_list_old(watch, folder))
        return true;
    bool seen[SAMPLE_AREA_SLOTS] = {0};
    uint32_t tid, place = 0, alive = 0;
    task_list_rewind(folder);
    while ((tid = task_list_next(folder)) != 0) {
        uint32_t found = find_slot(watch, tid, place);
        alive++;
        if (found < SAMPLE_AREA_SLOTS)
            seen[place = found] = true;
        else
            begin_slot(watch, tid);
    }
    for (place = 0; place < area->slot_count; place++)
        if (!seen[place] && watch->threads[place].task.tid &&
            !task_list_is_alive(&watch->threads[place].task))
            end_slot(watch, place);
    return alive > 0;
}

static void look_at_name(struct thread_watch *watch, uint32_t place)
{
    struct sample_slot *slot = &watch->area->slots[place];
    const struct layout *layout = watch->reader->process.layout;
    struct memory memory = watch->reader->process.memory;
    char name[SAMPLE_AREA_NAME_BYTES];
    memory.own = false; /* the thread may end while we read */
    watch->threads[place].unnamed++;
    bool known = watch->names.active;
    if (!thread_names_find(&watch->names, layout, &memory, slot->state)) {
        watch->threads[place].unnamed = NAME_TRIES; /* a long search in vain is not repeated soon */
        return;
    }
    if (!known)
        watch->names_ns = 0;
    ssize_t size = thread_names_read(&watch->names, layout, &memory, slot->state, name, sizeof name - 1);
    if (size <= 0)
        return;
    name[size] = '\0';
    memcpy(slot->name, name, (size_t)size + 1);
    watch->threads[place].unnamed = NAME_TRIES;
}

/* New threads at once, the others in turn: a program may name them late. */
static void look_at_names(struct thread_watch *watch)
{
    const struct sample_area *area = watch->area;
    for (uint32_t place = 0; place < area->slot_count; place++)
        if (watch->threads[place].task.tid && watch->threads[place].unnamed < NAME_TRIES &&
            area->slots[place].state)
            look_at_name(watch, place);
    uint64_t now_ns = clock_monotonic_ns();
    if (now_ns < watch->names_ns || (area->slot_count < 2 && !watch->names.active))
        return;
    watch->names_ns = now_ns + (watch->names.active ? RENAME_NS : 50 * (uint64_t)RENAME_NS);
    watch->names_place = (watch->names_place + 1) % area->slot_count;
    if (watch->threads[watch->names_place].task.tid && area->slots[watch->names_place].state)
        look_at_name(watch, watch->names_place);
}

void thread_watch_look(struct thread_watch *watch)
{
    watch->ticks += watch->ticks == 0;
    for (uint32_t place = 0; place < watch->area->slot_count; place++)
        if (watch->threads[place].task.tid)
            look_at(watch, place);
    look_at_names(watch);
    watch->area->ticks_done += watch->ticks;
    watch->area->looks++;
}

void thread_watch_begin_anew(struct thread_watch *watch)
{
    watch->next_ns = 0;
    for (uint32_t place = 0; place < watch->area->slot_count; place++) {
        watch->threads[place].asleep = false;
        watch->threads[place].bursts = 0;
        if (watch->area->cpu_clock && watch->threads[place].task.tid)
            watch->area->slots[place].cpu_ns = used_cpu_ns(watch, place);
    }
}

void thread_watch_finish(struct thread_watch *watch)
{
    for (uint32_t place = 0; place < watch->area->slot_count; place++)
        if (watch->threads[place].task.tid)
            write_repeats(watch, place);
}

uint64_t thread_watch_interval_ns(struct thread_watch *watch)
{
    uint64_t random = watch->random;
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    watch->random = random;
    double uniform = (double)((random >> 11) + 1) / 9007199254740993.0;
    double interval = -log(uniform) * (double)watch->area->period_ns;
    return interval < 20.0 * (double)watch->area->period_ns ? (uint64_t)interval
                                                            : 20 * watch->area->period_ns;
}

void thread_watch_ask_for_short_turns(void)
{
    const struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t turn_ns, deadline, period;
    } attributes = {.size = 48, .turn_ns = TURN_NS};
    prctl(PR_SET_TIMERSLACK, 1ul);
    if (sched_getscheduler(0) == SCHED_OTHER && getpriority(PRIO_PROCESS, 0) == 0)
        syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void note_lateness(struct sample_area *area, uint64_t late_ns)
{
    uint32_t power = 0;
    while (late_ns >> power >= 1000 && power < SAMPLE_AREA_LATENESS - 1)
        power++;
    area->lateness[power]++;
}

void thread_watch_wait(struct thread_watch *watch)
{
    if (!watch->next_ns)
        watch->next_ns = clock_monotonic_ns() + thread_watch_interval_ns(watch);
    const struct timespec until = {.tv_sec = (time_t)(watch->next_ns / 1000000000u),
                                   .tv_nsec = (long)(watch->next_ns % 1000000000u)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    uint64_t now_ns = clock_monotonic_ns();
    for (watch->ticks = 0; watch->next_ns <= now_ns; watch->ticks++) {
        note_lateness(watch->area, now_ns - watch->next_ns);
        watch->next_ns += thread_watch_interval_ns(watch);
    }
}
