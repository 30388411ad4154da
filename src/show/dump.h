/*
 * dump: what every thread of a process is doing at this moment: the model that dump_text and dump_json show.
 *
 * Threads, frames and variables are arrays; a thread names its frames and a frame its variables by ranges in
 * them, and all text is in `strings`. Rows are added in order: a thread, its frames, after each frame its
 * variables; then its tasks, after each task its awaiters and frames. A zeroed struct is valid and empty; running out of memory is sticky (`failed`).
 */
#ifndef SONDE_SHOW_DUMP_H
#define SONDE_SHOW_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

enum dump_state {
    DUMP_UNKNOWN, /* of a dead process */
    DUMP_ACTIVE,
    DUMP_IDLE,
    DUMP_WAITS_FOR_GIL,
};

struct dump_variable {
    uint32_t name, value; /* in strings */
    uint64_t address;
    bool argument;
};

struct dump_frame {
    uint32_t function, file; /* in strings; file 0 = not known */
    int32_t line;            /* below 1 = not known */
    uint32_t module;         /* in strings: of a native one the library */
    bool native;
    bool entry; /* called from C */
    size_t first_variable, variable_count;
};

struct dump_thread {
    uint64_t native_id; /* as we number it; 0 = not known */
    uint64_t thread_id; /* as threading.get_ident says */
    int64_t interpreter;
    uint32_t name; /* in strings; 0 = none */
    enum dump_state state;
    bool holds_gil;
    bool died;        /* the signal that ended the process came to this one */
    uint32_t problem; /* in strings: why there are no frames; 0 = none */
    size_t first_frame, frame_count;
    size_t first_task, task_count;
    size_t frames_left_out; /* so many more, the outermost */
    size_t tasks_left_out;  /* there are so many more */
};

/* A task of the event loop that a thread runs. */
struct dump_task {
    uint64_t id;   /* its address */
    uint32_t name; /* in strings; 0 = not known */
    bool running;  /* its frames are the thread's; otherwise they are where it waits */
    size_t first_awaiter, awaiter_count;
    size_t first_frame, frame_count;
};

struct dump {
    struct strings strings;
    uint64_t pid, parent;
    uint32_t command, executable, version; /* in strings */
    uint32_t core;                         /* in strings: the file; 0 = a process */
    int signal;                            /* that the process died of */
    bool stopped;                          /* by a signal or a debugger */
    struct dump_thread *threads;
    size_t thread_count, thread_capacity;
    struct dump_frame *frames;
    size_t frame_count, frame_capacity;
    struct dump_variable *variables;
    size_t variable_count, variable_capacity;
    struct dump_task *tasks;
    size_t task_count, task_capacity;
    uint64_t *awaiters; /* ids of tasks */
    size_t awaiter_count, awaiter_capacity;
    bool failed;
};

void dump_clear(struct dump *dump);

/* A new row at the end, zeroed but for its range; NULL when memory ran out. It stays where it is until the next one
 * of its kind is added. */
struct dump_thread *dump_add_thread(struct dump *dump);
struct dump_frame *dump_add_frame(struct dump *dump);
struct dump_task *dump_add_task(struct dump *dump);
void dump_add_awaiter(struct dump *dump, uint64_t id);
struct dump_variable *dump_add_variable(struct dump *dump);

uint32_t dump_intern(struct dump *dump, const char *text, size_t size);

/* "active+gil", "waiting for the GIL", ... */
const char *dump_state_text(const struct dump_thread *thread);

#endif
