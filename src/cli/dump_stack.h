/*
 * dump_stack: the frames, variables and tasks of one thread → rows of the dump.
 *
 * Variables are read while the thread stands still, names afterwards: code objects do not change.
 */
#ifndef SONDE_CLI_DUMP_STACK_H
#define SONDE_CLI_DUMP_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct dump_reading;
struct dump_thread;
struct walk;

/* The thread stands still: takes what may change once it runs again. `state` 0 = it runs no Python. */
struct walk dump_stack_take(struct dump_reading *reading, uint64_t state);
/* Drops what was taken, to try again. */
void dump_stack_forget(struct dump_reading *reading, struct dump_thread *thread);
/* Names what was taken. `stood`: the thread did stand still. */
void dump_stack_finish(struct dump_reading *reading, struct dump_thread *thread, bool stood,
                       const struct walk *walk);
void dump_stack_add_tasks(struct dump_reading *reading, struct dump_thread *thread);

#endif
