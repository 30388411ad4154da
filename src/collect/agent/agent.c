#include "collect/agent/agent.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/agent/announcement.h"
#include "collect/agent/arena.h"
#include "collect/agent/current_calls.h"
#include "collect/agent/exec.h"
#include "collect/agent/heap.h"
#include "collect/agent/mpi.h"
#include "collect/agent/native_area.h"
#include "collect/agent/nvtx_in.h"
#include "collect/agent/nvtx_out.h"
#include "collect/agent/restarts.h"
#include "collect/agent/sample_area.h"
#include "collect/agent/sampler.h"
#include "collect/agent/seccomp_watch.h"
#include "collect/agent/start.h"
#include "collect/agent/zones.h"
#include "python/layouts.h"

static struct session session;
static void (*before_fork)(void), (*after_fork)(void);
static const struct mpi *mpi;
static struct current_calls calls;

static struct arena *open_arena(uint32_t python, enum session_message purpose)
{
    uint64_t most_bytes = announcement_allowed_bytes(session.memory_bytes);
    struct arena_limits limits =
        purpose == SESSION_LINES ? arena_line_limits_within(most_bytes) : arena_limits_within(most_bytes);
    if (session.timeline && purpose == SESSION_HELLO)
        limits.log_words = ARENA_LOG_WORDS;
    uint64_t bytes = arena_bytes(&limits);
    int fd;
    bool possible = !seccomp_watch_is_deadly() && announcement_allowed_bytes(bytes) >= bytes / 2;
    struct arena *arena = possible ? announcement_map(bytes, &fd) : NULL;
    if (!arena)
        return NULL;
    bool counter = clock_has_counter();
    struct clock_pair now = clock_read_pair(counter);
    arena->start_ticks = now.ticks;
    arena->start_ns = now.ns;
    arena->ns_per_tick = counter ? 0.0 : 1.0;
    arena->python = python;
    arena_format(arena, &limits);
    if (limits.log_words) {
        arena_log(arena)->keeps_last = session.timeline_ring;
        arena_log(arena)->size_bytes = session.timeline_bytes;
    }
    struct session_hello hello;
    announcement_init(&hello, purpose);
    hello.arena_bytes = bytes;
    return announcement_send(&session, arena, fd, &hello);
}

static struct sample_area *open_sample_area(const struct sampled_process *process)
{
    uint64_t bytes = sizeof(struct sample_area), with_native = bytes + sizeof(struct native_area);
    if (session.native && announcement_allowed_bytes(with_native) == with_native)
        bytes = with_native;
    int fd;
    struct sample_area *area =
        announcement_allowed_bytes(bytes) < bytes ? NULL : announcement_map(bytes, &fd);
    if (!area)
        return NULL;
    sample_area_format(area, bytes, process->pid, session.sample_period_ns, process->python);
    area->start_ticks = process->since.ticks;
    area->start_ns = process->since.ns;
    area->cpu_clock = session.cpu_clock;
    area->tasks = session.tasks;
    struct session_hello hello;
    announcement_init(&hello, SESSION_SAMPLES);
    hello.arena_bytes = bytes;
    hello.pid = process->pid;
    hello.parent_pid = process->parent_pid;
    hello.start_ns = process->since.ns;
    return announcement_send(&session, area, fd, &hello);
}

static void call_at_fork(void (*before)(void), void (*child)(void))
{
    before_fork = before;
    after_fork = child;
}

static void fork_begins(void)
{
    if (before_fork)
        before_fork();
}

static void fork_child(void)
{
    zones_after_fork();
    if (session.follow)
        sampler_after_fork();
    if (after_fork)
        after_fork();
}

/* Lines that are charged with memory need its total all the time. */
static void rest(bool resting)
{
    const struct heap *heap = session.heap && !session.heap_totals ? dlsym(RTLD_DEFAULT, HEAP_SYMBOL) : NULL;
    sampler_rest(resting);
    if (heap)
        heap->rest(resting);
    if (mpi)
        mpi->rest(resting);
}

static bool flush(int patience_ms)
{
    return announcement_flush(&session, patience_ms);
}

__attribute__((visibility("default"))) struct agent sonde_agent = {
    .version = AGENT_VERSION,
    .session = &session,
    .open_arena = open_arena,
    .watch = sampler_watch,
    .call_at_fork = call_at_fork,
    .rest = rest,
    .flush = flush,
    .watch_zones = zones_watch,
    .calls = &calls,
};

/* The program that sonde itself started must not run unrecorded; a child of it may. */
static void refuse(const char *why)
{
    announcement_refuse(&session, why);
    if ((uint64_t)getpid() == session.main_pid)
        _exit(2);
}

static int start_inside(char *why, size_t why_bytes)
{
    void *library = dlopen(session.inside, RTLD_NOW | RTLD_LOCAL);
    agent_start *start = library ? (agent_start *)dlsym(library, AGENT_START_SYMBOL) : NULL;
    if (start)
        return start(&sonde_agent, why, why_bytes);
    const char *error = dlerror();
    snprintf(why, why_bytes, "the extension could not be loaded: %s", error ? error : session.inside);
    return -1;
}

static const char *start_heap(void)
{
    const struct heap *heap = dlsym(RTLD_DEFAULT, HEAP_SYMBOL);
    return heap ? heap->python_runs() : "the library that counts allocations is not there";
}

/* What follows calls of MPI; NULL = they are not followed. A program without it runs all the same. */
static const struct mpi *load_mpi(void)
{
    void *library = session.mpi_library ? dlopen(session.mpi_library, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct mpi *found = library ? dlsym(library, MPI_SYMBOL) : NULL;
    return found && found->version == MPI_INTERFACE ? found : NULL;
}

static bool needs_inside(void)
{
    return session.trace || session.lines || session_begins_at_rest(&session) || session.stop_at ||
           session.mark_count || session.marks_script_count;
}

static void main_is_about_to_run(void)
{
    char why[200] = "";
    const char *no_heap = session.heap ? start_heap() : NULL;
    if (no_heap)
        refuse(no_heap);
    if (mpi)
        mpi->python_runs();
    if (session.resident_regions) { /* and nothing else: the program is only looked at */
        start_inside(why, sizeof why);
        return;
    }
    if (needs_inside() && start_inside(why, sizeof why) < 0) {
        refuse(why);
        return;
    }
    const char *no_samples = session.sample_period_ns
                                 ? sampler_start(open_sample_area, (uint64_t)getpid() == session.main_pid)
                                 : NULL;
    if (no_samples)
        refuse(no_samples);
}

/* The path of this program ends in "python…" or "pypy…"; others may link an interpreter and never run it. */
static bool is_interpreter(void)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

static void take_session(char *text)
{
    char *kept = strdup(text), *parsed = strdup(text);
    if (!kept || !parsed || session_parse(parsed, &session) < 0)
        return;
    exec_init(&session, kept);
    restarts_init();
    if (!session.follow && (uint64_t)getpid() != session.main_pid)
        return;
    pthread_atfork(fork_begins, NULL, fork_child);
    zones_begin(&session, &sonde_agent.python);
    nvtx_out_start(&session);
    nvtx_in_start(&session);
    const char *why = start_when_main_runs(main_is_about_to_run);
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    if (!why)
        sonde_agent.python = layouts_version(version());
    mpi = why ? NULL : load_mpi();
    if (mpi) {
        sampler_show_calls(&calls);
        mpi->start(&sonde_agent);
    }
    if (why && is_interpreter() && !session.resident_regions)
        refuse(why);
}

__attribute__((constructor)) static void agent_load(void)
{
    static const char name[] = SESSION_VARIABLE "=";
    for (char **entry = environ; entry && *entry; entry++) {
        if (strncmp(*entry, name, sizeof name - 1) == 0) {
            take_session(*entry + sizeof name - 1);
            return;
        }
    }
}
