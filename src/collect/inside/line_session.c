#include "collect/inside/line_session.h"

#include <stdio.h>

#include "collect/agent/agent.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_events.h"
#include "collect/inside/line_hook.h"
#include "collect/inside/line_profile.h"
#include "collect/inside/line_targets.h"

static struct trace trace;
static const struct agent *agent;

void line_session_choose(PyObject *code)
{
    struct line_code *function = line_codes_find(code);
    if (function && function->choice == LINE_CHOSEN)
        return;
    if (line_codes_set(code, LINE_CHOSEN) && interpreter.has_monitoring)
        line_events_choose(code);
}

/* __name__ of the globals of the function that is starting just now, borrowed. */
static PyObject *module_of_running(void)
{
    PyObject *globals = PyEval_GetGlobals();
    return globals ? PyDict_GetItemString(globals, "__name__") : NULL;
}

struct line_code *line_session_look(PyObject *code)
{
    if (!line_targets_match(code, module_of_running()))
        return line_codes_set(code, LINE_OTHER);
    line_session_choose(code);
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

static struct arena *open_arena(void)
{
    return agent->open_arena(interpreter.version, SESSION_LINES);
}

static struct arena *open_arena_of_child(void)
{
    return agent->session->follow ? open_arena() : NULL;
}

void line_session_before_fork(void)
{
    line_clock_before_fork();
}

void line_session_after_fork(void)
{
    line_clock_after_fork(open_arena_of_child);
}

int line_session_start(const struct agent *given, char *why, size_t why_bytes)
{
    agent = given;
    struct arena *arena = open_arena();
    const struct trace_settings settings = {0};
    if (!arena) {
        snprintf(why, why_bytes,
                 "no shared memory could be had for the recording (the limits of ulimit -f and -v count)");
        return -1;
    }
    if (trace_init(&trace, arena, true, &settings, why, why_bytes) < 0 ||
        line_codes_init(&trace, why, why_bytes) < 0)
        return -1;
    line_targets_init(agent->session);
    line_clock_begin(&trace, agent->session->per_thread);
    if (line_profile_install() < 0) {
        snprintf(why, why_bytes, "the name profile could not be added to the built-in ones");
        return -1;
    }
    return interpreter.has_monitoring ? line_events_begin(why, why_bytes) : line_hook_begin(why, why_bytes);
}
