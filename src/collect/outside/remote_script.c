#include "collect/outside/remote_script.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/err.h"
#include "collect/outside/process_access.h"
#include "collect/outside/process_image.h"
#include "python/script_slots.h"
#include "python/threads.h"

enum { THREADS_MAX = 4096 };

/* The threads of the main interpreter, and where each looks. */
struct threads {
    uint32_t pid;
    struct memory memory;
    struct script_slots slots;
    struct threads_row rows[THREADS_MAX];
    size_t count;
};

static bool put(const struct threads *threads, uint64_t address, const void *bytes, size_t size)
{
    struct iovec from = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct iovec to = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
    return process_vm_writev((pid_t)threads->pid, &from, 1, &to, 1, 0) == (ssize_t)size;
}

static int list_threads(struct threads *threads, const struct target_python *python, struct err *err)
{
    const struct layout *layout = &python->layout;
    ssize_t found = threads_list(layout, &threads->memory, python->runtime, threads->rows, THREADS_MAX);
    for (ssize_t i = 0; i < found && i < THREADS_MAX; i++)
        if (threads->rows[i].interpreter_id == 0)
            threads->rows[threads->count++] = threads->rows[i];
    if (!threads->count)
        return err_set(err, "its threads cannot be read; is it just starting or ending?");
    return script_slots_read(&threads->slots, layout, &threads->memory, python->runtime,
                             threads->rows[0].interpreter, err);
}

static struct threads *open_threads(uint32_t pid, struct err *err)
{
    struct process_image image;
    struct target_python python;
    struct threads *threads = calloc(1, sizeof *threads);
    if (!threads) {
        err_set(err, "out of memory");
        return NULL;
    }
    threads->pid = pid;
    threads->memory = memory_of_process((int)pid);
    int result = process_image_open(&image, pid, err);
    if (result == 0) {
        result = target_python_await(&image.image, &python, err);
        process_image_close(&image);
    }
    if (result == 0 && list_threads(threads, &python, err) == 0)
        return threads;
    free(threads);
    return NULL;
}

/* The path first, then the mark, then the word that the thread looks at. Whoever else sets a bit of that one between
 * our reading and writing does so again: a request for the lock after 5 ms, a signal when the lock is taken next. */
static bool ask_thread(const struct threads *threads, uint64_t state, const char *path)
{
    const struct script_slots *slots = &threads->slots;
    const int pending = 1;
    uint8_t breaker;
    if (!put(threads, state + slots->path, path, strlen(path) + 1) ||
        !put(threads, state + slots->pending, &pending, sizeof pending) ||
        !memory_read(&threads->memory, state + slots->breaker, &breaker, sizeof breaker))
        return false;
    breaker |= SCRIPT_SLOTS_LOOK;
    return put(threads, state + slots->breaker, &breaker, sizeof breaker);
}

static struct threads *find_threads(uint32_t pid, struct err *err)
{
    struct err inner = {0};
    if (process_access_check(pid, err) < 0)
        return NULL;
    struct threads *threads = open_threads(pid, &inner);
    if (!threads)
        err_set(err, "process %u cannot be asked to run code: %s", pid, inner.text);
    return threads;
}

int remote_script_check(uint32_t pid, struct err *err)
{
    struct threads *threads = find_threads(pid, err);
    int result = threads ? 0 : -1;
    free(threads);
    return result;
}

static bool is_any_running(const struct threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->rows[i].holds_gil)
            return true;
    return false;
}

int remote_script_ask(uint32_t pid, const char *path, bool *everybody, struct err *err)
{
    struct threads *threads = find_threads(pid, err);
    if (!threads)
        return -1;
    size_t asked = 0;
    *everybody |= !is_any_running(threads);
    if (strlen(path) < threads->slots.path_bytes)
        for (size_t i = 0; i < threads->count; i++)
            if (*everybody || threads->rows[i].holds_gil)
                asked += ask_thread(threads, threads->rows[i].state, path);
    free(threads);
    return asked ? 0
                 : err_set(err, "process %u cannot be asked to run code: its memory cannot be written", pid);
}

void remote_script_withdraw(uint32_t pid)
{
    const int pending = 0;
    struct threads *threads = open_threads(pid, NULL);
    for (size_t i = 0; threads && i < threads->count; i++)
        put(threads, threads->rows[i].state + threads->slots.pending, &pending, sizeof pending);
    free(threads);
}
