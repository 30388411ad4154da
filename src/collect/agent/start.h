/*
 * start: calls a function when a CPython in this process is about to run its main program (script, module,
 * command or standard input), with the interpreter lock held and nothing of the user's executed yet.
 *
 * A C audit hook is added before main(); CPython raises "cpython.run_*" just then. Afterwards the hook is
 * unlinked from the runtime, so that audited operations cost the program what they always cost.
 */
#ifndef SONDE_COLLECT_AGENT_START_H
#define SONDE_COLLECT_AGENT_START_H

/* NULL when all is arranged, else why this process cannot be recorded. */
const char *start_when_main_runs(void (*function)(void));

#endif
