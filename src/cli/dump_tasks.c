#include "cli/dump_tasks.h"

#include <stdlib.h>

#include "collect/outside/target_asyncio.h"

enum { TASKS_MAX = 4096, FRAMES_MAX = 256, AWAITERS_MAX = 32, FUTURES_MAX = 4 };

void dump_tasks_init(struct dump_tasks *tasks, const struct target_image *image, const struct layout *layout)
{
    *tasks = (struct dump_tasks){.memory = image->memory};
    uint64_t table = layout_minor(layout) < ASYNCIO_FIRST_MINOR ? 0 : target_asyncio_find(image);
    if (table)
        asyncio_read(&tasks->asyncio, layout, &image->memory, table);
}

void dump_tasks_clear(struct dump_tasks *tasks)
{
    free(tasks->rows);
    free(tasks->awaiters);
    free(tasks->frames);
    *tasks = (struct dump_tasks){0};
}

/* Room for `more` further items; false when there is none: then they are left out. */
static bool make_room(void **items, size_t count, size_t more, size_t *capacity, size_t item_bytes)
{
    if (count + more <= *capacity)
        return true;
    size_t wanted = 2 * (count + more);
    void *moved = realloc(*items, wanted * item_bytes);
    if (!moved)
        return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

/* A future that is no task stands for those who await it in turn. */
static void add_awaiters(struct dump_tasks *tasks, const struct asyncio_task *task, int futures)
{
    uint64_t found[AWAITERS_MAX];
    uint32_t count = asyncio_awaiters(&tasks->asyncio, &tasks->memory, task, found, AWAITERS_MAX);
    for (uint32_t i = 0; i < count && i < AWAITERS_MAX; i++) {
        struct asyncio_task awaiter;
        if (!asyncio_read_task(&tasks->asyncio, &tasks->memory, found[i], &awaiter))
            continue;
        if (!awaiter.coroutine) {
            if (futures < FUTURES_MAX)
                add_awaiters(tasks, &awaiter, futures + 1);
        } else if (make_room((void **)&tasks->awaiters, tasks->awaiter_count, 1, &tasks->awaiter_capacity,
                             sizeof *tasks->awaiters))
            tasks->awaiters[tasks->awaiter_count++] = awaiter.address;
    }
}

static void add_task(struct dump_tasks *tasks, uint64_t address, uint64_t running)
{
    const struct asyncio *asyncio = &tasks->asyncio;
    struct asyncio_task task;
    bool chosen;
    if (!asyncio_read_task(asyncio, &tasks->memory, address, &task) ||
        !make_room((void **)&tasks->rows, tasks->count, 1, &tasks->capacity, sizeof *tasks->rows) ||
        !make_room((void **)&tasks->frames, tasks->frame_count, FRAMES_MAX, &tasks->frame_capacity,
                   sizeof *tasks->frames))
        return;
    struct dump_tasks_row *row = &tasks->rows[tasks->count++];
    *row = (struct dump_tasks_row){.address = address,
                                   .running = address == running,
                                   .first_awaiter = tasks->awaiter_count,
                                   .first_frame = tasks->frame_count};
    ssize_t name_bytes = asyncio_name(asyncio, &tasks->memory, &task, row->name, &chosen);
    row->name_bytes = name_bytes > 0 ? (size_t)name_bytes : 0;
    row->frame_count =
        asyncio_stack(asyncio, &tasks->memory, &task, tasks->frames + tasks->frame_count, FRAMES_MAX);
    tasks->frame_count += row->frame_count;
    add_awaiters(tasks, &task, 0);
    row->awaiter_count = tasks->awaiter_count - row->first_awaiter;
}

void dump_tasks_take(struct dump_tasks *tasks, uint64_t state)
{
    uint64_t addresses[TASKS_MAX];
    tasks->count = tasks->awaiter_count = tasks->frame_count = tasks->left_out = 0;
    if (!tasks->asyncio.layout || !state)
        return;
    ssize_t count = asyncio_tasks(&tasks->asyncio, &tasks->memory, state, addresses, TASKS_MAX);
    uint64_t running = asyncio_running(&tasks->asyncio, &tasks->memory, state);
    for (ssize_t i = 0; i < count && i < TASKS_MAX; i++)
        add_task(tasks, addresses[i], running);
    tasks->left_out = count > TASKS_MAX ? (size_t)count - TASKS_MAX : 0;
}
