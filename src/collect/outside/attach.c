#include "collect/outside/attach.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "collect/agent/session.h"
#include "collect/agent/task_list.h"
#include "collect/outside/attached.h"
#include "collect/outside/process_access.h"
#include "collect/outside/process_image.h"
#include "collect/outside/process_tree.h"
#include "collect/outside/thread_states.h"

#define LOOK_NS          50000000u /* between two looks for new children */
#define FIRST_PAUSE_NS   10000000u /* before a process that held no Python is looked at again; doubles */
#define LONGEST_PAUSE_NS 1000000000u
#define PATIENCE_NS      2000000000u /* with a program that has become another one */

int attach_check(uint32_t pid, struct err *err)
{
    struct process_image image;
    struct target_python python;
    struct err inner = {0};
    if (process_access_check(pid, err) < 0)
        return -1;
    if (process_image_open(&image, pid, err) < 0)
        return -1;
    int result = target_python_await(&image.image, &python, &inner);
    process_image_close(&image);
    return result < 0 ? err_set(err, "process %u cannot be sampled: %s", pid, inner.text) : 0;
}

bool attach_is_stopped(uint32_t pid)
{
    struct task task;
    if (!task_list_open(&task, pid, pid))
        return false;
    char state = task_list_state(&task);
    task_list_close(&task);
    return state == 'T' || state == 't';
}

static struct attach_process *find_process(struct attach *attach, uint32_t pid)
{
    for (size_t i = 0; i < attach->count; i++)
        if (attach->processes[i].pid == pid)
            return &attach->processes[i];
    return NULL;
}

static struct attach_process *add_process(struct attach *attach, uint32_t pid)
{
    if (attach->count == attach->capacity) {
        size_t capacity = attach->capacity * 2 + 16;
        struct attach_process *grown = realloc(attach->processes, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        attach->processes = grown;
        attach->capacity = capacity;
    }
    struct attach_process *process = &attach->processes[attach->count++];
    *process = (struct attach_process){.pid = pid};
    return process;
}

static int begin(struct attach *attach, struct attach_process *process, struct err *err)
{
    struct session_hello hello;
    process->attached = attached_open(process->pid, attach->period_ns, attach->native, err);
    if (!process->attached)
        return -1;
    if (attach->cpu_clock)
        attached_use_cpu_clock(process->attached);
    if (attach->tasks)
        attached_show_tasks(process->attached);
    int fd = attached_describe(process->attached, &hello);
    attach->begins(attach->context, process->pid, &hello, fd);
    return attached_start(process->attached, err);
}

int attach_open(struct attach *attach, uint32_t pid, struct err *err)
{
    struct attach_process *process = add_process(attach, pid);
    if (!process)
        return err_set(err, "out of memory");
    process->is_program = true;
    return begin(attach, process, err);
}

/* ---- children ---- */

/* Most that are forked become another program at once. */
static void take_child(void *context, uint32_t pid)
{
    struct attach *attach = context;
    struct attach_process *child = find_process(attach, pid) ? NULL : add_process(attach, pid);
    if (child)
        child->next_try_ns = clock_monotonic_ns() + FIRST_PAUSE_NS;
}

/* ---- one step ---- */

static void forget(struct attach *attach, size_t place)
{
    struct attach_process *process = &attach->processes[place];
    attached_free(process->attached);
    *process = attach->processes[--attach->count];
}

/* A child that has not become a Python yet, or a program that has become another one. False when it is to be
 * forgotten. */
static bool try_again(struct attach *attach, struct attach_process *process, uint64_t now)
{
    struct err err = {0};
    if (now < process->next_try_ns)
        return true;
    if (!thread_states_is_running(process->pid)) {
        if (process->is_program)
            attach->ends(attach->context, process->pid, true, NULL);
        return false;
    }
    if (begin(attach, process, &err) == 0) {
        process->tries = 0;
        return true;
    }
    uint64_t pause = (uint64_t)FIRST_PAUSE_NS << (process->tries < 7 ? process->tries : 7);
    process->next_try_ns = now + (pause < LONGEST_PAUSE_NS ? pause : LONGEST_PAUSE_NS);
    process->tries++;
    bool given_up = process->is_program && (uint64_t)FIRST_PAUSE_NS << process->tries > PATIENCE_NS;
    if (given_up)
        attach->ends(attach->context, process->pid, true, err.text);
    return !given_up;
}

static bool step_process(struct attach *attach, struct attach_process *process, uint64_t now)
{
    if (!process->attached)
        return try_again(attach, process, now);
    enum attached_state state = attached_state(process->attached);
    if (state == ATTACHED_SAMPLING)
        return true;
    attached_stop(process->attached);
    if (state == ATTACHED_ENDED) {
        attach->ends(attach->context, process->pid, process->is_program, NULL);
        return false;
    }
    attached_free(process->attached);
    process->attached = NULL;
    process->next_try_ns = now;
    return true;
}

void attach_step(struct attach *attach)
{
    uint64_t now = clock_monotonic_ns();
    if (attach->children && now >= attach->next_look_ns) {
        size_t count = attach->count; /* children of those that are added now come next time */
        for (size_t i = 0; i < count; i++)
            process_tree_children(attach->processes[i].pid, take_child, attach);
        attach->next_look_ns = now + LOOK_NS;
    }
    for (size_t i = attach->count; i-- > 0;)
        if (!step_process(attach, &attach->processes[i], now))
            forget(attach, i);
}

void attach_stop(struct attach *attach)
{
    for (size_t i = 0; i < attach->count; i++)
        if (attach->processes[i].attached)
            attached_stop(attach->processes[i].attached);
}

void attach_clear(struct attach *attach)
{
    while (attach->count)
        forget(attach, attach->count - 1);
    free(attach->processes);
    *attach = (struct attach){0};
}
