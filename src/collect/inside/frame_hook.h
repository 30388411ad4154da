/*
 * frame_hook: calls and returns of Python functions from the frame evaluation hook (3.9 to 3.11), for traces
 * without C calls: far cheaper than the profile slot.
 *
 * Under the hook a Python call uses more of the C stack (3.11 otherwise spares it altogether). A program that
 * recurses deeply must not run out of stack because of us: beyond the first eighth of a thread's stack the hook
 * gives way to the profile slot, which needs none, for the rest of the run. So it does for greenlets, whose
 * frames can only be checked between events.
 */
#ifndef SONDE_COLLECT_INSIDE_FRAME_HOOK_H
#define SONDE_COLLECT_INSIDE_FRAME_HOOK_H

#include "collect/inside/interpreter.h"

bool frame_hook_is_possible(void);
void frame_hook_set(bool active);

/* Another function that is told first of all that is evaluated, and calls frame_hook_inner to have it done; NULL = none
 * any more. */
void frame_hook_put_around(interpreter_evaluate *function);
extern interpreter_evaluate *frame_hook_inner;
/* The same around that one, which calls frame_hook_within. */
void frame_hook_put_outermost(interpreter_evaluate *function);
extern interpreter_evaluate *frame_hook_within;
/* Whether any of them is there. */
bool frame_hook_is_there(void);
/* The interpreter evaluates all by itself, until frame_hook_put_around is called again. */
void frame_hook_pause(void);
/* Whether the calling thread has used so much of its stack that a hook should let the interpreter alone. */
bool frame_hook_stack_is_short(void);
/* Runs a program in a namespace of its own, to try something out. Whether it ran through. */
bool frame_hook_run_aside(const char *program);

#endif
