/*
 * asyncio: the tasks of event loops, who awaits whom, and where each of them waits.
 *
 * From 3.14 on _asyncio publishes where its tasks keep what is read here, in a section of its file that is called
 * ASYNCIO_SECTION; before, nothing does, and nothing is read. Only the tasks of _asyncio are seen, not those that a
 * library makes by itself.
 *
 * The thread that runs the loop must stand still. Every address goes through memory_read, every loop is bounded and
 * nothing is allocated: it may run in a signal handler, and damaged or cyclic memory comes to an end. A thread that holds
 * the interpreter's lock may use memory_own_alive for its own running task and what that names: each object is asked for
 * its type before it is taken for one. But not behind a set, which may be in the middle of being changed.
 */
#ifndef SONDE_PYTHON_ASYNCIO_H
#define SONDE_PYTHON_ASYNCIO_H

#include <sys/types.h>

#include "python/walk.h"

#define ASYNCIO_SECTION ".AsyncioDebug"

enum { ASYNCIO_FIRST_MINOR = 14, ASYNCIO_NAME_BYTES = 128 };

/* Offsets, in the order in which they are published; sizes are of the structures. */
#define ASYNCIO_FIELDS(FIELD)                                                                                \
    FIELD(task_size)                                                                                         \
    FIELD(task_name)                                                                                         \
    FIELD(task_awaited_by)                                                                                   \
    FIELD(task_is_task)           /* char: 0 = a future that is no task */                                   \
    FIELD(task_awaited_by_is_set) /* char: several await it */                                               \
    FIELD(task_coroutine)                                                                                    \
    FIELD(task_node)                                                                                         \
    FIELD(interpreter_size)                                                                                  \
    FIELD(interpreter_tasks) /* the list of tasks whose threads have ended */                                \
    FIELD(thread_size)                                                                                       \
    FIELD(thread_running_loop)                                                                               \
    FIELD(thread_running_task)                                                                               \
    FIELD(thread_tasks)

/* Borrows the layout. A zeroed one knows nothing. */
struct asyncio {
    const struct layout *layout;
#define ASYNCIO_FIELD(name) uint32_t name;
    ASYNCIO_FIELDS(ASYNCIO_FIELD)
#undef ASYNCIO_FIELD
};

struct asyncio_task {
    uint64_t address;
    uint64_t name;       /* a str, or the int of a name that the program did not choose */
    uint64_t awaited_by; /* a task or future, or a set of them; 0 = nobody */
    uint64_t coroutine;  /* 0 = a future that is no task */
    bool awaited_by_is_set;
};

/* From the table at `table`. False where it cannot be read or believed. */
bool asyncio_read(struct asyncio *asyncio, const struct layout *layout, const struct memory *memory,
                  uint64_t table);

/* The task that the thread with this PyThreadState runs; 0 = none. */
uint64_t asyncio_running(const struct asyncio *asyncio, const struct memory *memory, uint64_t state);
bool asyncio_read_task(const struct asyncio *asyncio, const struct memory *memory, uint64_t address,
                       struct asyncio_task *task);
/* What it is called, without an end; -1 = not readable. `chosen`: by the program; otherwise it is "Task-NUMBER". */
ssize_t asyncio_name(const struct asyncio *asyncio, const struct memory *memory,
                     const struct asyncio_task *task, char out[ASYNCIO_NAME_BYTES], bool *chosen);
/* Who awaits it directly: the count, of which `capacity` are written. Of very many not all are seen. */
uint32_t asyncio_awaiters(const struct asyncio *asyncio, const struct memory *memory,
                          const struct asyncio_task *task, uint64_t *out, uint32_t capacity);
/* The one of several that its samples are shown under: always the same one, as long as they all live. 0 = none. */
uint64_t asyncio_parent(const struct asyncio *asyncio, const struct memory *memory,
                        const struct asyncio_task *task);
/* The frame of a coroutine, as walk_frames gives it. */
static inline uint64_t asyncio_frame(const struct asyncio *asyncio, uint64_t coroutine)
{
    return coroutine + asyncio->layout->generator_frame;
}
/* Where a task waits: the frames of its coroutine and of those that it awaits in turn, outermost first. Ends before a
 * frame that runs: that one is on a thread's stack. */
uint32_t asyncio_stack(const struct asyncio *asyncio, const struct memory *memory,
                       const struct asyncio_task *task, struct walk_frame *frames, uint32_t capacity);
/* All tasks of the thread with this PyThreadState, the oldest first: their count, of which `capacity` are written; -1
 * when the list cannot be read. */
ssize_t asyncio_tasks(const struct asyncio *asyncio, const struct memory *memory, uint64_t state,
                      uint64_t *out, size_t capacity);

#endif
