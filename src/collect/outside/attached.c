#include "collect/outside/attached.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "collect/agent/session.h"
#include "collect/agent/stack_sample.h"
#include "collect/agent/thread_watch.h"
#include "collect/outside/hold.h"
#include "collect/outside/process_image.h"
#include "collect/outside/read_ahead.h"
#include "collect/outside/target_asyncio.h"
#include "collect/outside/thread_states.h"
#include "store/recording.h"

#define LIBRARIES_NS     1000000000u
#define TASKS_NS         20000000u
#define LET_GO_NS        200000000u
#define PENDING_PAUSE_NS 200000
#define TRIES_MAX        5

/* What is known of the thread in a slot, beside what thread_watch knows. */
struct attached_thread {
    uint32_t generation; /* of the slot when this was made */
    uint32_t tid;        /* as the process itself numbers it, which may be in another namespace */
    uint32_t misses;     /* looks in a row that have found no Python state of it */
    uint64_t next_look;  /* the tick of the next one: threads that never run Python are many */
    struct hold pending; /* asked to stand still, has not answered yet */
    uint64_t waited_ns;  /* for a CPU, up to when it was asked */
    struct read_ahead_list *list;
};

struct attached {
    uint32_t pid;
    struct target_python python;
    struct sample_area *area;
    int area_fd;
    int memory_fd; /* /proc/PID/mem: ends when the process becomes another program */
    struct stack_reader reader;
    struct native_walker native;
    uint64_t next_ask_ns;                   /* when the recorder is asked to look for new libraries */
    uint64_t next_tasks_ns, tasks_pause_ns; /* when asyncio is looked for again, and after which time */
    struct read_ahead ahead;
    struct thread_states states;
    struct thread_watch watch;
    struct watched watched[SAMPLE_AREA_SLOTS];
    struct attached_thread threads[SAMPLE_AREA_SLOTS];
    struct task_folder folder;
    uint32_t pending; /* threads that have not answered yet */
    pthread_t thread;
    bool started;
    int state; /* enum attached_state; written by the thread */
};

/* ---- one thread ---- */

static struct attached_thread *thread_at(struct attached *attached, uint32_t place)
{
    struct attached_thread *thread = &attached->threads[place];
    const struct sample_slot *slot = &attached->area->slots[place];
    if (thread->generation != slot->generation) {
        thread->generation = slot->generation;
        thread->tid = thread_states_own_tid(attached->pid, (uint32_t)slot->tid);
        thread->misses = 0;
        thread->next_look = 0;
        attached->pending -= thread->pending.tid != 0;
        thread->pending = (struct hold){0};
        if (thread->list)
            thread->list->count = 0;
    }
    if (!thread->list)
        thread->list = calloc(1, sizeof *thread->list);
    return thread->list ? thread : NULL;
}

/* Looked up anew where the last one is no longer this thread's. */
static uint64_t state_of(struct attached *attached, struct attached_thread *thread, struct sample_slot *slot)
{
    uint64_t tick = attached->area->ticks_done;
    if (thread_states_is_of(&attached->states, slot->state, thread->tid))
        return slot->state;
    slot->state = 0;
    if (tick < thread->next_look)
        return 0;
    slot->state = thread_states_find(&attached->states, thread->tid, slot->tid == attached->pid, tick);
    thread->misses = slot->state ? 0 : thread->misses + 1;
    thread->next_look = slot->state ? 0 : tick + (1u << (thread->misses < 6 ? thread->misses : 6));
    return slot->state;
}

/* A thread that sleeps is about to be read. */
static uint64_t find_state(struct thread_watch *watch, uint32_t place)
{
    struct attached *attached = watch->context;
    struct attached_thread *thread = thread_at(attached, place);
    if (!thread)
        return 0;
    uint64_t state = state_of(attached, thread, &attached->area->slots[place]);
    if (attached->ahead.list)
        read_ahead_end(&attached->ahead);
    if (state)
        read_ahead_begin(&attached->ahead, thread->list);
    return state;
}

/* A stack that is just being changed is asked for again at the next tick: dropping it would be a bias against calls
 * and returns. */
static void take_due(struct attached *attached, struct sample_slot *slot, const struct hold *hold)
{
    struct user_regs_struct user;
    struct walk_native_registers registers = {0};
    uint32_t due = slot->due;
    bool last_try = slot->tries >= TRIES_MAX;
    slot->due = 0;
    struct task_times times; /* exact now that it stands still */
    if (attached->area->cpu_clock &&
        task_list_times(&attached->watched[slot - attached->area->slots].task, &times))
        slot->cpu_now_ns = times.run_ns;
    if (attached->reader.native && hold_registers(hold, &user))
        walk_native_from_ptrace(&registers, &user);
    if (stack_sample_runner(attached->area, slot, &attached->reader, slot->state, due, last_try,
                            &registers) ||
        last_try) {
        slot->tries = 0;
        return;
    }
    slot->tries++;
    slot->due = due;
}

/* The area counts in ticks, whose length is known by how many there have been since it was made. */
static uint64_t to_ticks(const struct sample_area *area, uint64_t span_ns)
{
    uint64_t elapsed_ns = clock_monotonic_ns() - area->start_ns;
    double per_ns = elapsed_ns ? (double)(sample_area_now(area) - area->start_ticks) / (double)elapsed_ns : 1;
    return (uint64_t)((double)span_ns * per_ns);
}

static uint64_t waited_ns(const struct attached *attached, uint32_t place)
{
    struct task_times times;
    return task_list_times(&attached->watched[place].task, &times) ? times.wait_ns : 0;
}

/* A thread that had to wait for a CPU before it could stand still did not wait because of us. */
static uint64_t slowed_ns(const struct attached *attached, uint32_t place, uint64_t stood_ns,
                          uint64_t seen_ns)
{
    uint64_t waited = waited_ns(attached, place) - attached->threads[place].waited_ns;
    uint64_t own_ns = stood_ns > waited ? stood_ns - waited : 0;
    return own_ns > seen_ns ? own_ns : seen_ns;
}

/* The thread stands still. */
static void sample_held(struct attached *attached, uint32_t place, struct hold *hold)
{
    struct attached_thread *thread = &attached->threads[place];
    struct sample_slot *slot = &attached->area->slots[place];
    uint64_t begin_ns = clock_monotonic_ns();
    read_ahead_begin(&attached->ahead, thread->list);
    take_due(attached, slot, hold);
    uint64_t stood_ns = hold_release(hold);
    attached->area->signals++;
    uint64_t seen_ns = clock_monotonic_ns() - begin_ns;
    attached->area->handler_ticks += to_ticks(attached->area, slowed_ns(attached, place, stood_ns, seen_ns));
    read_ahead_end(&attached->ahead);
}

/* A thread that has ended owes nothing; one that somebody else traces does. */
static void count_lost(struct attached *attached, uint32_t place)
{
    struct sample_slot *slot = &attached->area->slots[place];
    if (task_list_is_alive(&attached->watched[place].task))
        attached->area->lost_held += slot->due;
    slot->due = 0;
}

static void sample_runner(struct thread_watch *watch, uint32_t place)
{
    struct attached *attached = watch->context;
    struct attached_thread *thread = thread_at(attached, place);
    struct sample_slot *slot = &attached->area->slots[place];
    struct hold hold;
    if (!thread || thread->pending.tid)
        return;
    if (!state_of(attached, thread, slot) && !attached->reader.native) {
        attached->area->stateless += slot->due;
        slot->due = 0;
        return;
    }
    if (attached->ahead.list)
        read_ahead_end(&attached->ahead);
    thread->waited_ns = waited_ns(attached, place);
    switch (hold_take(&hold, (uint32_t)slot->tid)) {
    case HOLD_TAKEN:
        sample_held(attached, place, &hold);
        break;
    case HOLD_PENDING:
        thread->pending = hold;
        attached->pending++;
        break;
    case HOLD_GONE:
        count_lost(attached, place);
        break;
    }
}

/* Threads that were asked to stand still and could not at once: they waited for a CPU, or were deep in the kernel.
 * They stand where they were asked, so the sample is good. */
static void take_pending(struct attached *attached)
{
    for (uint32_t place = 0; attached->pending && place < attached->area->slot_count; place++) {
        struct hold *hold = &attached->threads[place].pending;
        enum hold_outcome outcome = hold->tid ? hold_again(hold) : HOLD_PENDING;
        if (outcome == HOLD_PENDING)
            continue;
        if (outcome == HOLD_TAKEN)
            sample_held(attached, place, hold);
        *hold = (struct hold){0};
        attached->pending--;
    }
}

/* ---- the sampling thread ---- */

/* The old memory is gone as soon as the process has ended or runs another program. */
static bool is_same_program(const struct attached *attached)
{
    char byte;
    return pread(attached->memory_fd, &byte, 1, (off_t)attached->python.runtime) == 1;
}

static bool must_stop(const struct attached *attached)
{
    return __atomic_load_n(&attached->area->stop, __ATOMIC_ACQUIRE);
}

/* A thread that answers late must not stand there until we happen to look. */
static void attend_pending(struct attached *attached, uint64_t until_ns)
{
    const struct timespec pause = {0, PENDING_PAUSE_NS};
    while (attached->pending && clock_monotonic_ns() < until_ns) {
        take_pending(attached);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
}

/* False when it shall stop. */
static bool await_instant(struct attached *attached)
{
    do {
        attend_pending(attached, attached->watch.next_ns);
        thread_watch_wait(&attached->watch);
    } while (!attached->watch.ticks && !must_stop(attached));
    return !must_stop(attached);
}

/* asyncio may be loaded at any time. */
static void look_for_tasks(struct attached *attached)
{
    struct process_image image;
    uint64_t now_ns = clock_monotonic_ns();
    if (!attached->area->tasks || attached->reader.tasks || now_ns < attached->next_tasks_ns)
        return;
    /* Soon at first: a program that is just starting imports it then. */
    attached->tasks_pause_ns = attached->tasks_pause_ns ? 2 * attached->tasks_pause_ns : TASKS_NS;
    if (attached->tasks_pause_ns > LIBRARIES_NS)
        attached->tasks_pause_ns = LIBRARIES_NS;
    attached->next_tasks_ns = now_ns + attached->tasks_pause_ns;
    if (process_image_open(&image, attached->pid, NULL) < 0)
        return;
    stack_sample_find_tasks(&attached->reader, target_asyncio_find(&image.image));
    process_image_close(&image);
}

/* Code that is not known yet is asked for when it is met; code that has taken the place of other code is not. */
static void ask_for_libraries(struct attached *attached)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (!attached->reader.native || now_ns < attached->next_ask_ns)
        return;
    native_stack_ask(&attached->native);
    attached->next_ask_ns = now_ns + LIBRARIES_NS;
}

static enum attached_state sample_until_end(struct attached *attached)
{
    for (;;) {
        bool alive = thread_watch_refresh(&attached->watch, &attached->folder);
        if (!await_instant(attached))
            return ATTACHED_SAMPLING;
        if (!alive || !is_same_program(attached))
            return thread_states_is_running(attached->pid) ? ATTACHED_REPLACED : ATTACHED_ENDED;
        take_pending(attached);
        ask_for_libraries(attached);
        look_for_tasks(attached);
        thread_watch_look(&attached->watch);
        if (attached->ahead.list)
            read_ahead_end(&attached->ahead);
        attached->area->sampler_cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    }
}

static void *run_thread(void *context)
{
    struct attached *attached = context;
    hold_init();
    thread_watch_ask_for_short_turns();
    int state = sample_until_end(attached);
    /* Should one take longer still, the kernel lets go of it when we end. */
    attend_pending(attached, clock_monotonic_ns() + LET_GO_NS);
    thread_watch_finish(&attached->watch);
    hold_clear();
    __atomic_store_n(&attached->state, state, __ATOMIC_RELEASE);
    return NULL;
}

/* ---- opening and closing ---- */

static int map_area(struct attached *attached, uint64_t period_ns, bool native, struct err *err)
{
    uint64_t bytes = sizeof *attached->area + (native ? sizeof(struct native_area) : 0);
    attached->area_fd = memfd_create("sonde", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (attached->area_fd < 0 || ftruncate(attached->area_fd, (off_t)bytes) != 0)
        return err_set_errno(err, "no memory for the samples");
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, attached->area_fd, 0);
    if (memory == MAP_FAILED)
        return err_set_errno(err, "no memory for the samples");
    attached->area = memory;
    sample_area_format(attached->area, bytes, attached->pid, period_ns, attached->python.layout.version);
    return 0;
}

static int open_files(struct attached *attached, struct err *err)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/mem", attached->pid);
    attached->memory_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (attached->memory_fd < 0 || !task_list_open_folder(&attached->folder, attached->pid))
        return err_set_errno(err, "%s", path);
    return 0;
}

static int find_python(struct attached *attached, struct err *err)
{
    struct process_image image;
    if (process_image_open(&image, attached->pid, err) < 0)
        return -1;
    int result = target_python_find(&image.image, &attached->python, err);
    process_image_close(&image);
    return result;
}

static void connect_parts(struct attached *attached)
{
    struct stack_reader *reader = &attached->reader;
    struct memory memory = read_ahead_memory(&attached->ahead);
    attached->ahead.pid = (int)attached->pid;
    reader->layout = attached->python.layout;
    reader->runtime = attached->python.runtime;
    reader->process = target_python_walk(&attached->python, &memory, &reader->codes);
    struct native_area *native = native_area_of(attached->area);
    if (native) {
        native_stack_init(&attached->native, native);
        attached->native.pid = attached->pid;
        reader->native = &attached->native;
    }
    thread_states_init(&attached->states, &attached->python, attached->pid);
    attached->watch = (struct thread_watch){.area = attached->area,
                                            .reader = reader,
                                            .threads = attached->watched,
                                            .random = clock_counter() | 1,
                                            .sample_runner = sample_runner,
                                            .find_state = find_state,
                                            .context = attached};
}

void attached_show_tasks(struct attached *attached)
{
    attached->area->tasks = layout_minor(&attached->reader.layout) >= ASYNCIO_FIRST_MINOR;
}

void attached_use_cpu_clock(struct attached *attached)
{
    attached->area->cpu_clock = 1;
}

struct attached *attached_open(uint32_t pid, uint64_t period_ns, bool native, struct err *err)
{
    struct attached *attached = calloc(1, sizeof *attached);
    if (!attached) {
        err_set(err, "out of memory");
        return NULL;
    }
    attached->pid = pid;
    attached->area_fd = attached->memory_fd = attached->folder.fd = -1;
    if (open_files(attached, err) < 0 || find_python(attached, err) < 0 ||
        map_area(attached, period_ns, native, err) < 0) {
        attached_free(attached);
        return NULL;
    }
    connect_parts(attached);
    return attached;
}

int attached_describe(const struct attached *attached, struct session_hello *hello)
{
    char path[64];
    *hello = (struct session_hello){.version = SESSION_VERSION,
                                    .message = SESSION_SAMPLES,
                                    .pid = attached->pid,
                                    .arena_bytes = attached->area->total_bytes};
    snprintf(path, sizeof path, "/proc/%u/exe", attached->pid);
    ssize_t size = readlink(path, hello->executable, sizeof hello->executable - 1);
    hello->executable[size > 0 ? size : 0] = '\0';
    snprintf(path, sizeof path, "/proc/%u/cmdline", attached->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd >= 0 ? read(fd, hello->text, sizeof hello->text) : 0;
    hello->text_bytes = size > 0 ? (uint32_t)size : 0;
    if (fd >= 0)
        close(fd);
    return attached->area_fd;
}

int attached_start(struct attached *attached, struct err *err)
{
    attached->started = pthread_create(&attached->thread, NULL, run_thread, attached) == 0;
    return attached->started ? 0 : err_set(err, "no thread can be started to sample with");
}

enum attached_state attached_state(const struct attached *attached)
{
    return (enum attached_state)__atomic_load_n(&attached->state, __ATOMIC_ACQUIRE);
}

void attached_stop(struct attached *attached)
{
    __atomic_store_n(&attached->area->stop, 1, __ATOMIC_RELEASE);
    if (attached->started)
        pthread_join(attached->thread, NULL);
    attached->started = false;
}

static void close_descriptor(int fd)
{
    if (fd >= 0)
        close(fd);
}

void attached_free(struct attached *attached)
{
    if (!attached)
        return;
    if (attached->started)
        attached_stop(attached);
    for (uint32_t place = 0; place < SAMPLE_AREA_SLOTS; place++) {
        free(attached->threads[place].list);
        if (attached->watched[place].task.tid)
            task_list_close(&attached->watched[place].task);
    }
    if (attached->area)
        munmap(attached->area, attached->area->total_bytes);
    close_descriptor(attached->area_fd);
    close_descriptor(attached->memory_fd);
    task_list_close_folder(&attached->folder);
    free(attached);
}
