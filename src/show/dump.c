#include "show/dump.h"

#include <stdlib.h>

void dump_clear(struct dump *dump)
{
    free(dump->threads);
    free(dump->frames);
    free(dump->variables);
    free(dump->tasks);
    free(dump->awaiters);
    strings_clear(&dump->strings);
    *dump = (struct dump){0};
}

/* Room for one more row; false when there is none. */
static bool grow(struct dump *dump, void **rows, size_t count, size_t *capacity, size_t row_bytes)
{
    if (count < *capacity)
        return true;
    size_t more = *capacity ? 2 * *capacity : 16;
    void *moved = realloc(*rows, more * row_bytes);
    if (!moved) {
        dump->failed = true;
        return false;
    }
    *rows = moved;
    *capacity = more;
    return true;
}

struct dump_thread *dump_add_thread(struct dump *dump)
{
    if (!grow(dump, (void **)&dump->threads, dump->thread_count, &dump->thread_capacity,
              sizeof *dump->threads))
        return NULL;
    struct dump_thread *thread = &dump->threads[dump->thread_count++];
    *thread = (struct dump_thread){.first_frame = dump->frame_count, .first_task = dump->task_count};
    return thread;
}

struct dump_frame *dump_add_frame(struct dump *dump)
{
    if (!grow(dump, (void **)&dump->frames, dump->frame_count, &dump->frame_capacity, sizeof *dump->frames))
        return NULL;
    struct dump_frame *frame = &dump->frames[dump->frame_count++];
    *frame = (struct dump_frame){.first_variable = dump->variable_count};
    struct dump_thread *thread = dump->thread_count ? &dump->threads[dump->thread_count - 1] : NULL;
    if (thread && thread->task_count)
        dump->tasks[dump->task_count - 1].frame_count++;
    else if (thread)
        thread->frame_count++;
    return frame;
}

struct dump_task *dump_add_task(struct dump *dump)
{
    if (!grow(dump, (void **)&dump->tasks, dump->task_count, &dump->task_capacity, sizeof *dump->tasks))
        return NULL;
    struct dump_task *task = &dump->tasks[dump->task_count++];
    *task = (struct dump_task){.first_frame = dump->frame_count, .first_awaiter = dump->awaiter_count};
    if (dump->thread_count)
        dump->threads[dump->thread_count - 1].task_count++;
    return task;
}

void dump_add_awaiter(struct dump *dump, uint64_t id)
{
    if (!dump->task_count || !grow(dump, (void **)&dump->awaiters, dump->awaiter_count,
                                   &dump->awaiter_capacity, sizeof *dump->awaiters))
        return;
    dump->awaiters[dump->awaiter_count++] = id;
    dump->tasks[dump->task_count - 1].awaiter_count++;
}

struct dump_variable *dump_add_variable(struct dump *dump)
{
    if (!grow(dump, (void **)&dump->variables, dump->variable_count, &dump->variable_capacity,
              sizeof *dump->variables))
        return NULL;
    struct dump_variable *variable = &dump->variables[dump->variable_count++];
    *variable = (struct dump_variable){0};
    if (dump->frame_count)
        dump->frames[dump->frame_count - 1].variable_count++;
    return variable;
}

uint32_t dump_intern(struct dump *dump, const char *text, size_t size)
{
    uint32_t id = strings_intern(&dump->strings, text, size);
    if (id == UINT32_MAX)
        dump->failed = true;
    return id == UINT32_MAX ? 0 : id;
}

const char *dump_state_text(const struct dump_thread *thread)
{
    switch (thread->state) {
    case DUMP_ACTIVE:
        return thread->holds_gil ? "active+gil" : "active";
    case DUMP_IDLE:
        return thread->holds_gil ? "idle+gil" : "idle";
    case DUMP_WAITS_FOR_GIL:
        return "waiting for the GIL";
    default:
        return thread->holds_gil ? "gil" : "";
    }
}
