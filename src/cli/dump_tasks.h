/*
 * dump_tasks: the tasks of the event loop of one thread, taken while it stands still and kept until it is shown.
 */
#ifndef SONDE_CLI_DUMP_TASKS_H
#define SONDE_CLI_DUMP_TASKS_H

#include "collect/outside/target_python.h"
#include "python/asyncio.h"

/* A task as it was. */
struct dump_tasks_row {
    uint64_t address;
    char name[ASYNCIO_NAME_BYTES];
    size_t name_bytes;
    bool running;
    size_t first_awaiter, awaiter_count; /* in `awaiters` */
    size_t first_frame, frame_count;     /* in `frames`, outermost first; none when it runs */
};

/* A zeroed one knows no tasks. */
struct dump_tasks {
    struct asyncio asyncio;
    struct memory memory;
    struct dump_tasks_row *rows;
    size_t count, capacity;
    size_t left_out;    /* more tasks than are shown */
    uint64_t *awaiters; /* addresses of tasks */
    size_t awaiter_count, awaiter_capacity;
    struct walk_frame *frames;
    size_t frame_count, frame_capacity;
};

/* Finds asyncio in what is looked at; where there is none, no tasks are found. `layout` is borrowed. */
void dump_tasks_init(struct dump_tasks *tasks, const struct target_image *image, const struct layout *layout);
void dump_tasks_clear(struct dump_tasks *tasks);

/* Those of the thread with this PyThreadState (0 = none), in place of what was taken before. */
void dump_tasks_take(struct dump_tasks *tasks, uint64_t state);

#endif
