/*
 * agent: the one library of sonde in the target, preloaded. Libc alone, no Python.h, no thread, no signal
 * handler. Its constructor reads the session, cleans the environment and, in a Python, asks to be called when
 * the main program is about to run; then it loads the extension (collect/inside), which records.
 *
 * The extension and other libraries reach the agent through this struct only. Everything in it lives as long as the process.
 */
#ifndef SONDE_COLLECT_AGENT_AGENT_H
#define SONDE_COLLECT_AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/agent/session.h"

struct arena;
struct current_calls;

#define AGENT_VERSION 6u

struct agent {
    uint32_t version;
    const struct session *session;
    /* A new shared arena for calls or for lines (SESSION_HELLO, SESSION_LINES), announced to the recorder; NULL when
     * that failed. Async-signal-safe. */
    struct arena *(*open_arena)(uint32_t python, enum session_message purpose);
    /* While the process is sampled, `changed` is called, in signal handlers, when the word has changed, until it has
     * returned 0. NULL = no more. */
    void (*watch)(const uint32_t *word, int (*changed)(void));
    /* PY_VERSION_HEX of this interpreter; 0 = this is none that can be recorded. */
    uint32_t python;
    /* What to call before every fork, and in its child before fork returns. */
    void (*call_at_fork)(void (*before)(void), void (*child)(void));
    /* From now on nothing is sampled, and allocations are not counted; or they are again. At the start of the program
     * as session_begins_at_rest has it. */
    void (*rest)(bool resting);
    /* Has the recorder write all that it was told, and waits for it. False when it has not by then. */
    bool (*flush)(int patience_ms);
    /* See zones.h. */
    void (*watch_zones)(void (*passed)(uint32_t kind, uint32_t name));
    /* Where libraries that follow others say what is called just now. */
    struct current_calls *calls;
};

/* The agent itself, for libraries that are preloaded with it. */
#define AGENT_SYMBOL "sonde_agent"

/* The extension's entry: starts recording. Called with the interpreter lock held. 0, or -1 with words. */
typedef int agent_start(const struct agent *agent, char *why, size_t why_bytes);
#define AGENT_START_SYMBOL "sonde_inside_start"

#endif
