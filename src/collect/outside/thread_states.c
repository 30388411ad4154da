#include "collect/outside/thread_states.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/task_list.h"

enum { TASKS_MAX = 1024 };

uint32_t thread_states_own_tid(uint32_t pid, uint32_t tid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%u/task/%u/status", pid, tid);
    FILE *status = fopen(path, "re");
    uint32_t own = tid;
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "NSpid:", 6) != 0)
            continue;
        const char *last = strrchr(line, '\t'); /* from the outermost namespace to the innermost */
        own = last ? (uint32_t)strtoul(last, NULL, 10) : tid;
        break;
    }
    if (status)
        fclose(status);
    return own;
}

bool thread_states_is_running(uint32_t pid)
{
    struct task task;
    if (!task_list_open(&task, pid, pid))
        return false;
    bool alive = task_list_is_alive(&task);
    task_list_close(&task);
    return alive;
}

static uint32_t find_tid_offset(const struct thread_states *states)
{
    struct task_folder folder;
    uint32_t tids[TASKS_MAX], tid;
    size_t count = 0;
    if (!task_list_open_folder(&folder, states->pid))
        return 0;
    while (count < TASKS_MAX && (tid = task_list_next(&folder)) != 0)
        tids[count++] = thread_states_own_tid(states->pid, tid);
    task_list_close_folder(&folder);
    return target_python_tid_offset(states->python, &states->memory, tids, count);
}

void thread_states_init(struct thread_states *states, const struct target_python *python, uint32_t pid)
{
    states->python = python;
    states->pid = pid;
    states->memory = memory_of_process((int)pid);
    states->count = 0;
    states->listed_at = 0;
    states->tid_offset = 0;
}

static bool keeps_native_id(const struct thread_states *states)
{
    return states->python->layout.thread_native_id != LAYOUT_ABSENT;
}

static uint32_t tid_behind(const struct thread_states *states, uint64_t thread_id)
{
    uint32_t tid = 0;
    if (!states->tid_offset ||
        !memory_read(&states->memory, thread_id + states->tid_offset, &tid, sizeof tid))
        return 0;
    return tid;
}

static void list_states(struct thread_states *states)
{
    if (!keeps_native_id(states) && !states->tid_offset)
        states->tid_offset = find_tid_offset(states);
    ssize_t count = threads_list(&states->python->layout, &states->memory, states->python->runtime,
                                 states->found, THREAD_STATES_MAX);
    states->count = count < 0 ? 0 : count > THREAD_STATES_MAX ? THREAD_STATES_MAX : (size_t)count;
    for (size_t i = 0; i < states->count; i++) {
        const struct threads_row *row = &states->found[i];
        states->rows[i].state = row->state;
        states->rows[i].tid =
            keeps_native_id(states) ? (uint32_t)row->native_id : tid_behind(states, row->thread_id);
    }
}

/* The oldest, which is the last: a new thread's state bears its maker's number until the thread runs. */
static uint64_t find_row(const struct thread_states *states, uint32_t tid)
{
    for (size_t i = states->count; i-- > 0;)
        if (states->rows[i].tid == tid)
            return states->rows[i].state;
    return 0;
}

/* After a fork some versions keep the parent's number of the only thread that is left. */
static uint64_t forked_state(const struct thread_states *states)
{
    return states->count == 1 ? states->rows[0].state : 0;
}

uint64_t thread_states_find(struct thread_states *states, uint32_t tid, bool is_main, uint64_t tick)
{
    if (states->listed_at != tick + 1) {
        list_states(states);
        states->listed_at = tick + 1;
    }
    uint64_t state = find_row(states, tid);
    return state || !is_main ? state : forked_state(states);
}

bool thread_states_is_of(const struct thread_states *states, uint64_t state, uint32_t tid)
{
    const struct layout *layout = &states->python->layout;
    uint64_t number;
    if (!state)
        return false;
    if (keeps_native_id(states))
        return memory_read_word(&states->memory, state + layout->thread_native_id, &number) &&
               (uint32_t)number == tid;
    return memory_read_word(&states->memory, state + layout->thread_id, &number) &&
           tid_behind(states, number) == tid;
}
