#include "collect/agent/task_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/own_calls.h"

#define CALL_FD_BELOW                                                                                        \
    512 /* descriptors are few; with many threads the one that can be done without is left out */

struct linux_entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static int open_file(uint32_t pid, uint32_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task/%u/%s", pid, tid, name);
    return own_calls_open(path, O_RDONLY | O_CLOEXEC);
}

bool task_list_open(struct task *task, uint32_t pid, uint32_t tid)
{
    *task = (struct task){.tid = tid,
                          .times_fd = open_file(pid, tid, "schedstat"),
                          .state_fd = open_file(pid, tid, "stat"),
                          .call_fd = -1};
    if (task->times_fd >= 0 && task->state_fd >= 0) {
        if (task->state_fd < CALL_FD_BELOW)
            task->call_fd = open_file(pid, tid, "syscall");
        return true;
    }
    task_list_close(task);
    return false;
}

void task_list_close(struct task *task)
{
    if (task->times_fd >= 0)
        own_calls_close(task->times_fd);
    if (task->state_fd >= 0)
        own_calls_close(task->state_fd);
    if (task->call_fd >= 0)
        own_calls_close(task->call_fd);
    *task = (struct task){.times_fd = -1, .state_fd = -1, .call_fd = -1};
}

bool task_list_times(const struct task *task, struct task_times *times)
{
    char text[128];
    ssize_t size = own_calls_pread(task->times_fd, text, sizeof text - 1);
    if (size <= 0)
        return false;
    text[size] = '\0';
    char *at = text;
    times->run_ns = strtoull(at, &at, 10);
    times->wait_ns = strtoull(at, &at, 10);
    times->slices = strtoull(at, &at, 10);
    return true;
}

/* "TID (NAME) STATE …"; the name may hold anything. */
static ssize_t read_stat(const struct task *task, char *text, size_t bytes)
{
    ssize_t size = own_calls_pread(task->state_fd, text, bytes - 1);
    text[size > 0 ? size : 0] = '\0';
    return size;
}

char task_list_state(const struct task *task)
{
    char text[512];
    if (read_stat(task, text, sizeof text) <= 0)
        return 0;
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : 0;
}

/* The kernel writes "running" in place of a system call's number; to find it out takes less than half of `stat`'s time. */
bool task_list_runs(struct task *task)
{
    char first;
    if (task->call_fd >= 0 && own_calls_pread(task->call_fd, &first, 1) == 1)
        return first == 'r';
    if (task->call_fd >= 0 && errno != ESRCH) { /* not to be read without the right to trace */
        own_calls_close(task->call_fd);
        task->call_fd = -1;
    }
    return task_list_state(task) == 'R';
}

/* What /proc says of it in words. Not kept open, because it is asked for rarely and descriptors are few. */
static bool read_status(const struct task *task, uint32_t pid, char *text, size_t bytes)
{
    int fd = open_file(pid, task->tid, "status");
    ssize_t size = fd >= 0 ? own_calls_read(fd, text, bytes - 1) : -1;
    if (fd >= 0)
        own_calls_close(fd);
    text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

static bool find_number(const char *text, const char *name, uint64_t *number)
{
    const char *at = strstr(text, name);
    if (at)
        *number = strtoull(at + strlen(name), NULL, 10);
    return at;
}

bool task_list_switches(const struct task *task, uint32_t pid, uint64_t *slept, uint64_t *displaced)
{
    char text[4096];
    return read_status(task, pid, text, sizeof text) &&
           find_number(text, "\nvoluntary_ctxt_switches:", slept) &&
           find_number(text, "\nnonvoluntary_ctxt_switches:", displaced);
}

uint32_t task_list_filters(const struct task *task, uint32_t pid)
{
    char text[4096];
    uint64_t count;
    bool known = read_status(task, pid, text, sizeof text) && find_number(text, "\nSeccomp_filters:", &count);
    return known ? (uint32_t)count : UINT32_MAX;
}

bool task_list_is_alive(const struct task *task)
{
    char state = task_list_state(task);
    return state && state != 'Z' && state != 'X';
}

void task_list_name(const struct task *task, char *name, size_t bytes)
{
    char text[512];
    name[0] = '\0';
    if (read_stat(task, text, sizeof text) <= 0)
        return;
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (begin && end)
        snprintf(name, bytes, "%.*s", (int)(end - begin - 1), begin + 1);
}

bool task_list_open_folder(struct task_folder *folder, uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    folder->fd = own_calls_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    folder->at = folder->size = 0;
    return folder->fd >= 0;
}

/* The kernel counts each thread as a link to their folder. */
uint32_t task_list_count(const struct task_folder *folder)
{
    struct statx about;
    return statx(folder->fd, "", AT_EMPTY_PATH, STATX_NLINK, &about) == 0 ? about.stx_nlink : 0;
}

void task_list_close_folder(struct task_folder *folder)
{
    if (folder->fd >= 0)
        own_calls_close(folder->fd);
    folder->fd = -1;
}

void task_list_rewind(struct task_folder *folder)
{
    own_calls_rewind(folder->fd);
    folder->at = folder->size = 0;
}

uint32_t task_list_next(struct task_folder *folder)
{
    for (;;) {
        if (folder->at >= folder->size) {
            long size = syscall(SYS_getdents64, folder->fd, folder->buffer, sizeof folder->buffer);
            if (size <= 0)
                return 0;
            folder->at = 0;
            folder->size = (size_t)size;
        }
        const struct linux_entry *entry = (const void *)(folder->buffer + folder->at);
        folder->at += entry->bytes;
        if (entry->name[0] >= '1' && entry->name[0] <= '9')
            return (uint32_t)strtoul(entry->name, NULL, 10);
    }
}
