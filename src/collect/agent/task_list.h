/* task_list: the threads of a process as the kernel shows them under /proc, read without allocating. */
#ifndef SONDE_COLLECT_AGENT_TASK_LIST_H
#define SONDE_COLLECT_AGENT_TASK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open thread: descriptors stay open, a read begins anew each time. */
struct task {
    uint32_t tid;                    /* 0 = closed */
    int times_fd, state_fd, call_fd; /* the last one is -1 when it cannot be had */
};

/* How long it has run and waited, and how often it was put on a CPU: unchanged while it sleeps. */
struct task_times {
    uint64_t run_ns, wait_ns, slices;
};

bool task_list_open(struct task *task, uint32_t pid, uint32_t tid);
void task_list_close(struct task *task);
bool task_list_times(const struct task *task, struct task_times *times);
char task_list_state(const struct task *task); /* 'R', 'S', …; 0 when it is gone */
bool task_list_runs(struct task *task);        /* on a CPU or ready to; the same as 'R', but faster */
/* How often it has left a CPU, to sleep and to let others run. A thread that has been put on one once more than that
 * is there now. */
bool task_list_switches(const struct task *task, uint32_t pid, uint64_t *slept, uint64_t *displaced);
/* How many filters of system calls are on it; UINT32_MAX = the kernel does not say. */
uint32_t task_list_filters(const struct task *task, uint32_t pid);
bool task_list_is_alive(const struct task *task);
void task_list_name(const struct task *task, char *name, size_t bytes);

/* The folder of all threads. */
struct task_folder {
    int fd;
    size_t at, size;
    char buffer[4096];
};
uint32_t task_list_count(const struct task_folder *folder); /* of threads, plus a constant; 0 = unknown */
bool task_list_open_folder(struct task_folder *folder, uint32_t pid);
void task_list_close_folder(struct task_folder *folder);
void task_list_rewind(struct task_folder *folder);
uint32_t task_list_next(struct task_folder *folder); /* 0 = no more */

#endif
