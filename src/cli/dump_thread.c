#include "cli/dump_thread.h"

#include <string.h>
#include <time.h>

#include "cli/dump_reading.h"
#include "cli/dump_stack.h"
#include "collect/agent/task_list.h"
#include "collect/outside/core_file.h"
#include "collect/outside/hold.h"

enum { TRIES = 50, NAME_BYTES = 4096 };
enum { PAUSE_NS = 1000000, PAUSES = 3000 }; /* 3 s in all */

static uint32_t intern(struct dump_reading *r, const char *text)
{
    return dump_intern(r->dump, text, strlen(text));
}

/* ---- its name ---- */

/* As the program calls it. */
static void name_as_python(struct dump_reading *r, struct dump_thread *thread, uint64_t state)
{
    const struct layout *layout = &r->python.layout;
    char name[NAME_BYTES];
    ssize_t size = -1;
    if (thread_names_find(&r->names, layout, &r->image->memory, state))
        size = thread_names_read(&r->names, layout, &r->image->memory, state, name, sizeof name);
    if (size > 0)
        thread->name = dump_intern(r->dump, name, (size_t)size);
}

static void name_as_kernel(struct dump_reading *r, struct dump_thread *thread)
{
    struct task task = {0};
    char name[64] = "";
    if (!task_list_open(&task, r->roll.pid, (uint32_t)thread->native_id))
        return;
    task_list_name(&task, name, sizeof name);
    task_list_close(&task);
    thread->name = intern(r, name);
}

/* The first thread is called so when threading is imported, which it need not have been yet; the kernel knows it by the
 * name of the program. */
static void name_thread(struct dump_reading *r, struct dump_thread *thread, uint64_t state)
{
    if (state)
        name_as_python(r, thread, state);
    if (thread->name)
        return;
    if (state && thread->native_id == r->dump->pid)
        thread->name = intern(r, "MainThread");
    else if (!r->roll.core)
        name_as_kernel(r, thread);
}

/* ---- one thread of a process ---- */

static bool sleeps(char state)
{
    return state == 'S' || state == 'D' || state == 'T' || state == 't' || state == 'I';
}

/* Believed only if it was not on a CPU in between. */
static bool read_sleeper(struct dump_reading *r, const struct task *task,
                         const struct dump_roll_thread *kernel, const struct threads_row *row,
                         struct walk *walk)
{
    struct task_times before, after;
    if (!task_list_times(task, &before) || !sleeps(task_list_state(task)))
        return false;
    *walk = dump_stack_take(r, row->state);
    r->state_now = dump_roll_state(&r->roll, row, kernel);
    return task_list_times(task, &after) && sleeps(task_list_state(task)) && before.slices == after.slices &&
           before.run_ns == after.run_ns;
}

/* On a busy machine a thread may have to wait for a CPU before it can stand still. */
static bool hold_patiently(struct hold *hold, uint32_t tid)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    enum hold_outcome outcome = hold_take(hold, tid);
    for (int i = 0; outcome == HOLD_PENDING && i < PAUSES; i++) {
        nanosleep(&pause, NULL);
        outcome = hold_again(hold);
    }
    return outcome == HOLD_TAKEN;
}

static bool read_held(struct dump_reading *r, const struct dump_roll_thread *kernel,
                      const struct threads_row *row, struct walk *walk)
{
    struct hold hold;
    if (!hold_patiently(&hold, kernel->tid))
        return false;
    *walk = dump_stack_take(r, row->state);
    r->native_taken = r->options->native && dump_native_take_held(&r->native, kernel->tid);
    r->state_now = dump_roll_state(&r->roll, row, kernel);
    hold_release(&hold);
    return true;
}

/* At some instructions a stack is just being changed: try again. */
static void read_thread(struct dump_reading *r, struct dump_thread *thread, const struct threads_row *row,
                        const struct dump_roll_thread *kernel)
{
    struct task task = {0};
    struct walk walk = {0};
    bool stood = false;
    if (!task_list_open(&task, r->roll.pid, kernel->tid)) {
        thread->problem = intern(r, "it has just ended");
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        dump_stack_forget(r, thread);
        /* The registers of a thread are seen only when it is held. */
        bool deaf = task_list_state(&task) == 'D'; /* deep in the kernel it cannot be held */
        stood = (r->options->native && !deaf && read_held(r, kernel, row, &walk)) ||
                read_sleeper(r, &task, kernel, row, &walk) || read_held(r, kernel, row, &walk);
        if (stood && walk.status != WALK_REJECTED)
            break;
    }
    task_list_close(&task);
    /* One that waits for the GIL wakes up now and then to ask for it. */
    if (stood && thread->state == DUMP_ACTIVE && r->state_now == DUMP_WAITS_FOR_GIL)
        thread->state = r->state_now;
    dump_stack_finish(r, thread, stood, &walk);
}

static void add_live(struct dump_reading *r, struct dump_thread *thread, const struct threads_row *row)
{
    const struct dump_roll_thread *kernel = dump_roll_find(&r->roll, (uint32_t)thread->native_id);
    if (kernel)
        thread->native_id = kernel->tid;
    name_thread(r, thread, row->state);
    if (kernel)
        read_thread(r, thread, row, kernel);
    else
        thread->problem = intern(r, "it has just ended");
}

static void add_dead(struct dump_reading *r, struct dump_thread *thread, const struct threads_row *row)
{
    const struct core_file *core = r->roll.core;
    const struct core_file_thread *dead = dump_roll_find_dead(&r->roll, (uint32_t)thread->native_id);
    thread->died = core->signal && core->thread_count && core->threads[0].tid == thread->native_id;
    name_thread(r, thread, row->state);
    r->native_taken =
        r->options->native && dead && dump_native_take(&r->native, dead->registers, dead->register_count);
    struct walk walk = dump_stack_take(r, row->state);
    dump_stack_finish(r, thread, true, &walk);
}

void dump_thread_add(struct dump_reading *r, const struct dump_roll_row *called)
{
    const struct threads_row *row = &called->row;
    struct dump_thread *thread = dump_add_thread(r->dump);
    if (!thread)
        return;
    dump_tasks_take(&r->tasks, 0); /* none yet */
    r->native_taken = false;
    thread->native_id = dump_roll_own_tid(&r->roll, row);
    thread->thread_id = row->thread_id;
    thread->interpreter = row->interpreter_id;
    thread->holds_gil = row->holds_gil;
    thread->state = called->state;
    if (r->roll.core)
        add_dead(r, thread, row);
    else
        add_live(r, thread, row);
    dump_stack_add_tasks(r, thread);
}
