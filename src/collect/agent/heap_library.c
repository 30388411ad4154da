/* The library that counts allocations, as it is preloaded beside the agent: its beginning, and what others see of it. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/agent/agent.h"
#include "collect/agent/announcement.h"
#include "collect/agent/heap.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/heap_counting.h"
#include "collect/agent/heap_python.h"
#include "collect/agent/heap_tracker.h"
#include "collect/agent/heap_wrappers.h"
#include "collect/agent/stack_sample.h"

static const struct agent *agent;
static struct stack_reader interpreter;
static bool follows_allocators;

/* A program that may have little memory is the one whose end is to be explained: there the area may be twice as large a
 * part of that as other modes take. */
static bool find_limits(const struct session *session, struct heap_area_limits *limits)
{
    uint64_t usual = announcement_allowed_bytes(session->memory_bytes),
             most = 2 * usual < session->memory_bytes ? 2 * usual : session->memory_bytes;
    return heap_area_limits_within(usual, session->heap_log, session->native, limits) ||
           heap_area_limits_within(most, session->heap_log, session->native, limits);
}

static struct heap_area *open_area(void)
{
    struct heap_area_limits limits;
    const struct session *session = agent->session;
    int fd;
    if (!find_limits(session, &limits))
        return NULL;
    uint64_t bytes = heap_area_bytes(&limits);
    struct heap_area *area = announcement_map(bytes, &fd);
    if (!area)
        return NULL;
    heap_area_format(area, &limits, (uint64_t)getpid(), agent->python);
    area->sample_bytes = session->heap_sample_bytes;
    area->totals = session->heap_totals;
    struct session_hello hello;
    announcement_init(&hello, SESSION_HEAP);
    hello.arena_bytes = bytes;
    return announcement_send(session, area, fd, &hello);
}

static void fork_child(void)
{
    heap_counting_after_fork(agent->session->follow ? open_area : NULL);
}

static int start_tracker(struct heap_area *area, const struct heap_settings *settings)
{
    heap_wrappers_init();
    follows_allocators = settings->python_allocators;
    return heap_counting_start(area, settings, settings->python_allocators ? 4 : heap_wrappers_shift());
}

/* Of a program that was not started to be counted: its children are not. */
static void fork_of_other(void)
{
    heap_counting_after_fork(NULL);
}

/* In an interpreter that runs already. */
static int start(struct heap_area *area, const struct heap_settings *settings)
{
    if (start_tracker(area, settings) < 0)
        return -1;
    if (settings->stacks && !interpreter.runtime && dlsym(RTLD_DEFAULT, "Py_GetVersion"))
        heap_python_read(&interpreter);
    if (settings->python_allocators)
        heap_python_follow_allocators();
    static bool registered;
    if (!registered && !heap_wrappers_are_first())
        pthread_atfork(NULL, NULL, fork_of_other);
    registered = true;
    return 0;
}

static void stop(void)
{
    heap_python_leave_allocators();
    heap_counting_stop();
}

static void pass_over(bool own)
{
    if (own)
        heap_tracker_nested++;
    else
        heap_tracker_nested--;
}

static const char *python_runs(void)
{
    const char *why = heap_python_read(&interpreter);
    if (!why)
        heap_python_call_at_end();
    if (agent) /* one that runs already is not kept waiting */
        heap_counting_await_native();
    if (!why && follows_allocators)
        heap_python_follow_allocators();
    return why;
}

__attribute__((visibility("default"))) const struct heap sonde_heap = {
    .version = HEAP_VERSION,
    .start = start,
    .area = heap_counting_area,
    .pass_over = pass_over,
    .stop = stop,
    .live_bytes = heap_counting_live_bytes,
    .thread_growth = heap_tracker_growth,
    .python_runs = python_runs,
    .wrappers = heap_wrappers_list,
    .rest = heap_counting_rest,
};

/* The agent comes later in the list of preloaded libraries, and so was there first. */
static bool begin(void)
{
    agent = dlsym(RTLD_DEFAULT, AGENT_SYMBOL);
    if (!agent || agent->version != AGENT_VERSION || !agent->session->heap || !agent->python)
        return false;
    struct heap_area *area = open_area();
    heap_counting_rest(session_begins_at_rest(agent->session) && !agent->session->heap_totals);
    const struct heap_settings settings = {.sample_bytes = agent->session->heap_sample_bytes,
                                           .stacks = !agent->session->heap_totals,
                                           .log = agent->session->heap_log,
                                           .python_allocators = agent->session->heap_python};
    return area && start_tracker(area, &settings) == 0;
}

__attribute__((constructor)) static void heap_library_load(void)
{
    heap_wrappers_init();
    if (!heap_wrappers_are_first())
        return;
    if (begin())
        pthread_atfork(NULL, NULL, fork_child);
    else
        heap_counting_never();
}
