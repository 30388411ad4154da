#include "collect/inside/line_session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent/agent.h"
#include "collect/inside/code_table.h"
#include "collect/inside/finder.h"
#include "collect/inside/heap_access.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_discovery.h"
#include "collect/inside/line_events.h"
#include "collect/inside/line_hook.h"
#include "collect/inside/line_peers.h"
#include "collect/inside/line_probes.h"
#include "collect/inside/line_profile.h"
#include "collect/inside/line_requests.h"
#include "collect/inside/line_targets.h"
#include "collect/inside/resident.h"
#include "collect/inside/script.h"

#define PRIVATE_BYTES ((uint64_t)256 << 20) /* reserved, not used, until lines fill it */

static struct trace trace;
static const struct agent *agent; /* of a launched program */
static bool is_told_of_code;      /* by others than the evaluation hook */
static uint32_t profilers;        /* of the program itself, that need the session now */
static bool has_events;
static bool resting; /* the recorder wants nothing now */

void line_session_choose(PyObject *code)
{
    struct line_code *function = line_codes_find(code);
    if (function && function->choice == LINE_CHOSEN)
        return;
    function = line_codes_set(code, LINE_CHOSEN);
    if (function && interpreter.has_monitoring && has_events)
        line_events_choose(code);
    if (!function || interpreter.has_monitoring)
        return;
    line_probes_make_room(function);
    line_hook_choose(function);
}

bool line_session_is_looking(void)
{
    return agent && (!is_told_of_code || line_requests_are_open() || line_peers_are_awaited());
}

void line_session_choose_running(PyObject *code, PyObject *frame)
{
    line_session_choose(code);
    if (!interpreter.has_monitoring)
        line_hook_begin_running(code, frame);
}

void line_session_look_again(void)
{
    line_codes_forget_others();
    if (interpreter.has_monitoring)
        line_events_look_again();
    else
        line_hook_review();
}

static void take_up(PyObject *code, uint64_t targets)
{
    struct line_code *function = NULL;
    if (!targets) {
        line_codes_set(code, LINE_OTHER);
        return;
    }
    line_session_choose(code);
    function = line_codes_find(code);
    if (function && function->choice == LINE_CHOSEN)
        function->targets |= targets;
}

static void look_for_peers(PyObject *code)
{
    bool awaited = line_peers_are_awaited();
    line_peers_look(code);
    if (awaited != line_peers_are_awaited() && !interpreter.has_monitoring)
        line_hook_review();
}

struct line_code *line_session_look(PyObject *code, PyObject *globals)
{
    PyObject *type, *value, *traceback;
    int64_t heap = line_memory_own_begin();
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *module = globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
    if (agent)
        look_for_peers(code);
    if (!line_peers_have(code))
        line_targets_look_through(code, module, take_up);
    uint64_t targets = line_targets_match(code, module);
    if (!targets && line_requests_match(code)) {
        line_session_choose(code);
        if (!interpreter.has_monitoring)
            line_hook_review();
    } else
        take_up(code, targets);
    PyErr_Restore(type, value, traceback);
    line_memory_own_end(heap);
    return line_codes_find(code);
}

double line_session_ticks_per_ns(void)
{
    struct clock_pair start = {.ticks = trace.arena->start_ticks, .ns = trace.arena->start_ns};
    bool counter = clock_has_counter();
    while (clock_monotonic_ns() - start.ns < 100000)
        ;
    return 1 / clock_rate_between(start, clock_read_pair(counter), counter).ns_per_tick;
}

void line_session_note(const char *text)
{
    if (trace.arena && !trace.arena->remark)
        trace.arena->remark = code_table_text(&trace, text, strlen(text));
}

static struct arena *open_arena(void)
{
    return agent->open_arena(interpreter.version, SESSION_LINES);
}

static struct arena *open_arena_of_child(void)
{
    struct arena *arena = agent->session->follow ? open_arena() : NULL;
    if (agent->session->hot)
        line_requests_begin(agent, arena);
    return arena;
}

/* Private memory is the child's own as it is. */
void line_session_before_fork(void)
{
    if (agent)
        line_clock_before_fork();
}

void line_session_after_fork(void)
{
    if (agent)
        line_clock_after_fork(open_arena_of_child);
}

void line_session_forked(void)
{
    if (agent)
        return;
    line_clock_forget_others();
    resident_forget();
}

static int begin(struct arena *arena, bool shared, char *why, size_t why_bytes)
{
    const struct trace_settings settings = {0};
    if (trace_init(&trace, arena, shared, &settings, why, why_bytes) < 0)
        return -1;
    line_probes_init();
    return line_codes_init(&trace, why, why_bytes);
}

static int begin_events(char *why, size_t why_bytes)
{
    int result =
        interpreter.has_monitoring ? line_events_begin(why, why_bytes) : line_hook_begin(why, why_bytes);
    has_events = result == 0;
    return result;
}

static void end_events(void)
{
    has_events = false;
    if (interpreter.has_monitoring)
        line_events_end();
    else
        line_hook_end();
}

/* A launched program's session has them but while it rests, any other while a profiler needs it. */
static int set_events(char *why, size_t why_bytes)
{
    bool wanted = profilers || (agent && !resting);
    if (wanted && !has_events) {
        line_discovery_catch_up();
        return begin_events(why, why_bytes);
    }
    if (!wanted && has_events)
        end_events();
    return 0;
}

void line_session_rest(bool rests)
{
    char why[200];
    resting = rests;
    set_events(why, sizeof why); /* it could at the program's start */
    if (rests && !profilers)
        line_clock_rest();
}

/* Only in the program that sonde itself started: its children find what it has prepared, or do without. */
static int set_up(char *why, size_t why_bytes)
{
    const struct session *session = agent->session;
    if (!session->setup || (uint64_t)getpid() != session->main_pid)
        return 0;
    PyObject *space = script_run(session->setup, "__main__");
    if (space) {
        Py_DECREF(space);
        return 0;
    }
    PyErr_Print();
    snprintf(why, why_bytes, "the set-up script %s failed", session->setup);
    return -1;
}

struct line_memory_heap line_session_heap(void)
{
    char why[200];
    const struct heap *heap = heap_access_open(why, sizeof why);
    if (!heap)
        return (struct line_memory_heap){0};
    return (struct line_memory_heap){heap->thread_growth, heap->live_bytes};
}

static int start(char *why, size_t why_bytes)
{
    struct arena *arena = open_arena();
    if (!arena) {
        snprintf(why, why_bytes,
                 "no shared memory could be had for the recording (the limits of ulimit -f and -v count)");
        return -1;
    }
    if (begin(arena, true, why, why_bytes) < 0)
        return -1;
    if (line_targets_init(agent->session, &trace.filter, why, why_bytes) < 0)
        return -1;
    line_clock_begin(&trace, agent->session->per_thread);
    line_clock.is_logged = agent->session->timeline;
    if (agent->session->line_memory) {
        arena->measures_memory = 1;
        line_memory_begin(line_session_heap(), agent->session->stop_at_bytes);
    }
    if (line_profile_install(agent->session->line_memory) < 0) {
        snprintf(why, why_bytes, "the name profile could not be added to the built-in ones");
        return -1;
    }
    finder_install_for_lines(agent->session->line_memory);
    if (set_up(why, why_bytes) < 0)
        return -1;
    if (agent->session->hot)
        line_requests_begin(agent, arena);
    is_told_of_code =
        line_discovery_begin(agent->session->line_target_count > 0 || agent->session->all_lines);
    return begin_events(why, why_bytes);
}

/* Without it, profilers of the program itself have a session of their own. */
int line_session_start(const struct agent *given, char *why, size_t why_bytes)
{
    agent = given;
    if (start(why, why_bytes) == 0)
        return 0;
    agent = NULL;
    line_clock_end();
    trace = (struct trace){0};
    return -1;
}

/* ---- profilers of the program itself ---- */

struct arena *line_session_arena(void)
{
    return trace.arena;
}

static int begin_private(char *why, size_t why_bytes)
{
    if (interpreter_init(why, why_bytes) < 0)
        return -1;
    const struct arena_limits limits = arena_line_limits_within(PRIVATE_BYTES);
    struct arena *arena = trace.arena ? trace.arena : trace_new_private_arena(&limits);
    if (!arena) {
        snprintf(why, why_bytes, "not enough address space for a profile (256 MiB are reserved)");
        return -1;
    }
    if (!trace.arena && begin(arena, false, why, why_bytes) < 0)
        return -1;
    line_clock_begin(&trace, false);
    return begin_events(why, why_bytes);
}

int line_session_share(char *why, size_t why_bytes)
{
    if (!agent && !profilers && begin_private(why, why_bytes) < 0)
        return -1;
    profilers++;
    return set_events(why, why_bytes);
}

void line_session_unshare(void)
{
    char why[200];
    profilers--;
    set_events(why, sizeof why);
    if (!profilers && !agent)
        line_clock_end();
}
