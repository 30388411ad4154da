/*
 * dump_roll: which threads a process has, as the kernel and as Python list them, and what each was doing at one instant:
 * who held the GIL, who slept, who waited. However many there are, none is left out.
 *
 * A zeroed struct is empty. It owns its arrays.
 */
#ifndef SONDE_CLI_DUMP_ROLL_H
#define SONDE_CLI_DUMP_ROLL_H

#include <sys/types.h>

#include "collect/outside/target_python.h"
#include "python/threads.h"
#include "show/dump.h"

struct core_file;
struct core_file_thread;
struct err;

/* A thread as the kernel sees it. */
struct dump_roll_thread {
    uint32_t tid;     /* as we see it */
    uint32_t own_tid; /* as the process sees it */
};

/* A thread as Python sees it; one that runs no Python has no `row.state`. */
struct dump_roll_row {
    struct threads_row row;
    enum dump_state state;
};

struct dump_roll {
    uint32_t pid;                 /* 0 = a core file */
    const struct core_file *core; /* NULL = a process */
    const struct memory *memory;
    const struct target_python *python;
    uint32_t tid_offset;              /* as target_python_tid_offset says */
    struct dump_roll_thread *threads; /* by own_tid */
    size_t thread_count, thread_capacity;
    struct dump_roll_row *rows; /* the newest first */
    size_t row_count;
    struct threads_row *listed; /* room for Python's list */
    size_t listed_capacity;
};

void dump_roll_clear(struct dump_roll *roll);
/* The kernel's threads of `pid`, or those in `core`. */
int dump_roll_list(struct dump_roll *roll, struct err *err);
/* Once `python` has been found: Python's threads and their states. */
int dump_roll_call(struct dump_roll *roll, struct err *err);

/* What the thread is doing now. */
enum dump_state dump_roll_state(const struct dump_roll *roll, const struct threads_row *row,
                                const struct dump_roll_thread *thread);
/* The number by which the process itself knows the thread. */
uint32_t dump_roll_own_tid(const struct dump_roll *roll, const struct threads_row *row);
/* NULL when it has just ended. */
const struct dump_roll_thread *dump_roll_find(const struct dump_roll *roll, uint32_t own_tid);
/* The same in the core file. */
const struct core_file_thread *dump_roll_find_dead(const struct dump_roll *roll, uint32_t tid);

#endif
