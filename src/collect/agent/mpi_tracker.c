#include "collect/agent/mpi_tracker.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/agent.h"
#include "collect/agent/announcement.h"
#include "collect/agent/current_calls.h"
#include "collect/agent/heap_stack.h"
#include "collect/agent/heap_tree.h"
#include "collect/agent/mpi_pickle.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/stack_sample.h"

#define PROBES_MAX    256
#define KEPT_FOR_REST 4096 /* totals */
#define TLS           __thread __attribute__((tls_model("initial-exec")))

struct mpi_thread {
    struct mpi_ring *ring; /* NULL = there were too many threads */
    uint32_t root;
    uint32_t node; /* of the call that it is in; 0 = not asked for yet */
    struct heap_thread_row *row;
    struct current_call *call; /* NULL = there were too many threads */
    void *scratch;
    uint64_t scratch_bytes;
    struct heap_stack stack;
};

static const struct agent *agent;
static struct mpi_area *shared; /* NULL = not opened */
static struct heap_area *stacks;
static struct heap_tree tree;
static struct stack_reader interpreter;
static struct heap_stack_reader reader;
static bool has_looked;  /* for Python */
static uint32_t opening; /* 1 = somebody opens it, or nobody ever will */
static uint32_t paused;  /* enum mpi_paused, or'ed */

static TLS struct mpi_thread *current;
static TLS bool is_inside; /* of a call, or of the making of `current` */
static pthread_key_t thread_end;

/* ---- beginning and end ---- */

/* A child has no part in its parent's job. */
static void forked(void)
{
    shared = NULL;
    opening = 1;
}

void mpi_tracker_init(const struct agent *with)
{
    agent = with;
}

static void interpreter_is_gone(void)
{
    reader.interpreter = NULL;
}

const char *mpi_tracker_read_python(void)
{
    if (has_looked)
        return NULL;
    has_looked = true;
    const char *why = stack_sample_init(&interpreter);
    if (why)
        return why;
    int (*at_exit)(void (*)(void)) = (int (*)(void (*)(void)))dlsym(RTLD_DEFAULT, "Py_AtExit");
    interpreter.process.memory = memory_own_alive(); /* a thread reads its own frames, which live */
    heap_stack_reader_init(&reader, &interpreter, &tree);
    reader.is_shared = true;
    mpi_pickle_begin();
    if (at_exit)
        at_exit(interpreter_is_gone);
    return NULL;
}

static struct mpi_area *open_area(void)
{
    uint64_t bytes = mpi_area_bytes();
    int fd;
    struct mpi_area *area = announcement_allowed_bytes(bytes) < bytes ? NULL : announcement_map(bytes, &fd);
    if (!area)
        return NULL;
    mpi_area_format(area, (uint64_t)getpid(), agent->python);
    area->by_function = agent->session->trace;
    struct session_hello hello;
    announcement_init(&hello, SESSION_MPI);
    hello.arena_bytes = bytes;
    return announcement_send(agent->session, area, fd, &hello);
}

static void release(void *value)
{
    struct mpi_thread *thread = value;
    is_inside = true; /* for good: other destructors come later */
    current = NULL;
    if (shared)
        thread->row->end_ticks = heap_area_now(stacks);
    if (thread->call)
        current_calls_leave(thread->call);
    own_memory_unmap(thread->scratch, thread->scratch_bytes);
    own_memory_unmap(thread, sizeof *thread);
}

static bool open_once(void)
{
    uint32_t unused = 0;
    if (!agent ||
        !__atomic_compare_exchange_n(&opening, &unused, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    struct mpi_area *area = pthread_key_create(&thread_end, release) == 0 ? open_area() : NULL;
    if (!area || !heap_tree_open(&tree, mpi_area_stacks(area)))
        return false;
    pthread_atfork(NULL, NULL, forked);
    stacks = mpi_area_stacks(area);
    __atomic_store_n(&shared, area, __ATOMIC_RELEASE);
    return true;
}

/* ---- threads ---- */

/* 0 = there is no room. */
static uint32_t take(uint32_t *count, uint32_t limit)
{
    uint32_t row = __atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL);
    if (row < limit)
        return row;
    __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
    return 0;
}

static bool fill_row(struct mpi_thread *thread)
{
    uint32_t number = take(&stacks->thread_count, HEAP_AREA_THREADS);
    thread->root = number ? heap_tree_root(&tree, number) : 0;
    if (!thread->root)
        return false;
    struct heap_thread_row *row = thread->row = &stacks->threads[number];
    row->start_ticks = heap_area_now(stacks);
    row->root = thread->root;
    row->in_use = 1;
    if (syscall(SYS_gettid) == getpid())
        strcpy(row->name, "MainThread");
    else
        prctl(PR_GET_NAME, row->name);
    uint32_t ring = __atomic_fetch_add(&shared->ring_count, 1, __ATOMIC_RELAXED);
    thread->ring = ring < MPI_AREA_RINGS ? &shared->rings[ring] : NULL;
    uint64_t tid = (uint64_t)syscall(SYS_gettid);
    thread->call = current_calls_take(agent->calls, tid);
    __atomic_store_n(&row->tid, tid, __ATOMIC_RELEASE);
    return true;
}

/* A thread that finds no room stays inside for good, so that it is not counted. */
static struct mpi_thread *make_thread(void)
{
    struct mpi_thread *thread = shared || open_once() ? own_memory_map(sizeof *thread) : NULL;
    if (thread && fill_row(thread) && pthread_setspecific(thread_end, thread) == 0)
        return current = thread;
    if (thread)
        own_memory_unmap(thread, sizeof *thread);
    return NULL;
}

struct mpi_thread *mpi_tracker_begin(const char *name)
{
    if (is_inside || (opening && !shared))
        return NULL;
    is_inside = true;
    struct mpi_thread *thread = current ? current : make_thread();
    if (thread) {
        thread->node = 0;
        current_calls_set(thread->call, name);
    }
    return thread;
}

void mpi_tracker_end(struct mpi_thread *thread)
{
    current_calls_set(thread->call, NULL);
    is_inside = false;
}

struct mpi_area *mpi_tracker_area(void)
{
    return shared;
}

uint64_t mpi_tracker_now(void)
{
    return heap_area_now(stacks);
}

/* A program that has a Python inside does not say when that begins: the first thread that runs it does. */
static void look_for_python(void)
{
    static int (*is_initialised)(void);
    static void *(*own_state)(void);
    if (!own_state) {
        *(void **)&is_initialised = dlsym(RTLD_DEFAULT, "Py_IsInitialized");
        *(void **)&own_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    }
    if (is_initialised && own_state && is_initialised() && own_state())
        mpi_tracker_read_python();
}

uint32_t mpi_tracker_node(struct mpi_thread *thread)
{
    if (!has_looked)
        look_for_python();
    if (!thread->node)
        thread->node = heap_stack_node(&thread->stack, &reader, thread->root);
    return thread->node;
}

void *mpi_tracker_scratch(struct mpi_thread *thread, uint64_t bytes)
{
    if (bytes <= thread->scratch_bytes)
        return thread->scratch;
    own_memory_unmap(thread->scratch, thread->scratch_bytes);
    thread->scratch = own_memory_map(bytes * 2);
    thread->scratch_bytes = thread->scratch ? bytes * 2 : 0;
    return thread->scratch;
}

/* ---- the call itself ---- */

uint64_t mpi_tracker_enter(struct mpi_thread *thread, uint32_t call)
{
    struct mpi_ring *ring = thread->ring;
    if (!ring || paused)
        return mpi_tracker_now();
    ring->open_call = call;
    ring->open_node = mpi_tracker_node(thread);
    uint64_t now = mpi_tracker_now();
    __atomic_store_n(&ring->open_ticks, now, __ATOMIC_RELEASE);
    return now;
}

uint64_t mpi_tracker_leave(struct mpi_thread *thread)
{
    uint64_t now = mpi_tracker_now();
    if (thread->ring)
        __atomic_store_n(&thread->ring->open_ticks, 0, __ATOMIC_RELAXED);
    return now;
}

/* ---- totals ---- */

static bool is_same(const struct mpi_total *total, uint32_t node, const struct mpi_tally *tally)
{
    return total->node == node && total->call == tally->call && total->communicator == tally->communicator &&
           total->peer == tally->peer;
}

static uint32_t place_of(uint32_t node, const struct mpi_tally *tally)
{
    uint64_t key = ((uint64_t)node << 32 | tally->peer) * 0x9e3779b97f4a7c15u;
    key = (key ^ tally->call ^ (uint64_t)tally->communicator << 24) * 0xff51afd7ed558ccdu;
    return (uint32_t)(key >> 32) % MPI_AREA_INDEX;
}

/* Some rows are kept for the sums of what there is no room for. */
static uint32_t add_total(uint32_t node, const struct mpi_tally *tally)
{
    bool is_rest = !tally->communicator && tally->peer == MPI_TRACKER_NOBODY;
    uint32_t row = take(&shared->total_count, is_rest ? MPI_AREA_TOTALS : MPI_AREA_TOTALS - KEPT_FOR_REST);
    struct mpi_total *total = &shared->totals[row];
    if (!row)
        return 0;
    *total =
        (struct mpi_total){.communicator = tally->communicator, .peer = tally->peer, .call = tally->call};
    __atomic_store_n(&total->node, node, __ATOMIC_RELEASE);
    return row;
}

/* NULL when the table is full. */
static struct mpi_total *find_total(uint32_t node, const struct mpi_tally *tally)
{
    uint32_t at = place_of(node, tally), row = 0;
    for (uint32_t probes = 0; probes < PROBES_MAX; probes++, at = (at + 1) % MPI_AREA_INDEX) {
        uint32_t found = __atomic_load_n(&shared->index[at], __ATOMIC_ACQUIRE);
        if (found && is_same(&shared->totals[found], node, tally))
            return &shared->totals[found];
        if (found)
            continue;
        row = row ? row : add_total(node, tally);
        if (!row)
            return NULL;
        /* Another thread may take the place first: the next one will do. */
        if (__atomic_compare_exchange_n(&shared->index[at], &found, row, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
            return &shared->totals[row];
    }
    return row ? &shared->totals[row] : NULL;
}

static void add_bytes(struct mpi_total *total, const struct mpi_tally *tally)
{
    if (tally->sent_bytes)
        __atomic_fetch_add(&total->sent_bytes, tally->sent_bytes, __ATOMIC_RELAXED);
    if (tally->received_bytes)
        __atomic_fetch_add(&total->received_bytes, tally->received_bytes, __ATOMIC_RELAXED);
}

/* Of calls that there is no room for, the thread's root keeps the sum. */
static struct mpi_total *find_rest(const struct mpi_thread *thread, const struct mpi_tally *tally)
{
    const struct mpi_tally rest = {.call = tally->call, .peer = MPI_TRACKER_NOBODY};
    __atomic_fetch_add(&shared->lost_totals, 1, __ATOMIC_RELAXED);
    return find_total(thread->root, &rest);
}

void mpi_tracker_count(struct mpi_thread *thread, const struct mpi_tally *tally, uint64_t ticks)
{
    if (paused)
        return;
    struct mpi_total *total = find_total(mpi_tracker_node(thread), tally);
    if (!total)
        total = find_rest(thread, tally);
    if (!total)
        return;
    total->count++;
    total->ticks += ticks;
    add_bytes(total, tally);
}

void mpi_tracker_add_bytes(uint32_t node, const struct mpi_tally *tally)
{
    bool has_any = tally->sent_bytes || tally->received_bytes;
    struct mpi_total *total = paused || !node || !has_any ? NULL : find_total(node, tally);
    if (total)
        add_bytes(total, tally);
}

/* ---- single messages and collectives ---- */

void mpi_tracker_tell(struct mpi_thread *thread, const struct mpi_event *event)
{
    struct mpi_ring *ring = thread->ring;
    if (paused || shared->stop)
        return;
    if (!ring || ring->written - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) >= MPI_AREA_RING_EVENTS) {
        __atomic_fetch_add(&shared->lost_events, 1, __ATOMIC_RELAXED);
        return;
    }
    ring->events[ring->written % MPI_AREA_RING_EVENTS] = *event;
    __atomic_store_n(&ring->written, ring->written + 1, __ATOMIC_RELEASE);
}

void mpi_tracker_pause(enum mpi_paused by, bool is_paused)
{
    if (is_paused)
        __atomic_fetch_or(&paused, by, __ATOMIC_RELAXED);
    else
        __atomic_fetch_and(&paused, ~(uint32_t)by, __ATOMIC_RELAXED);
}
