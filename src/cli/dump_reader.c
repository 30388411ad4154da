#include "cli/dump_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/dump_reading.h"
#include "cli/dump_thread.h"
#include "collect/outside/attach.h"
#include "collect/outside/core_file.h"
#include "collect/outside/hold.h"
#include "collect/outside/process_access.h"
#include "collect/outside/process_image.h"
#include "collect/outside/process_tree.h"

enum { FOLDERS_MAX = 64, PATH_BYTES = 4096, COMMAND_BYTES_MAX = 1 << 20 };

static uint32_t intern(struct dump_reading *r, const char *text)
{
    return dump_intern(r->dump, text, strlen(text));
}

/* ---- threads ---- */

/* Threads that have no PyThreadState: of libraries, and of programs that embed Python. */
static void add_foreign_threads(struct dump_reading *r)
{
    size_t known = r->dump->thread_count;
    for (size_t i = 0; i < r->roll.thread_count; i++) {
        const struct dump_roll_thread *kernel = &r->roll.threads[i];
        bool python = false;
        for (size_t j = 0; j < known && !python; j++)
            python = r->dump->threads[j].native_id == kernel->tid;
        struct dump_roll_row row = {.row = {.native_id = kernel->own_tid}};
        row.state = dump_roll_state(&r->roll, &row.row, kernel);
        if (!python && (known > 1 || r->roll.thread_count > 1))
            dump_thread_add(r, &row);
    }
}

static int add_threads(struct dump_reading *r, struct err *err)
{
    if (dump_roll_call(&r->roll, err) < 0)
        return -1;
    for (size_t i = r->roll.row_count; i > 0; i--) /* the oldest first */
        dump_thread_add(r, &r->roll.rows[i - 1]);
    if (r->options->native)
        add_foreign_threads(r);
    return r->dump->failed ? err_set(err, "out of memory") : 0;
}

/* ---- processes and core files ---- */

static void add_version(struct dump_reading *r)
{
    uint32_t version = r->python.layout.version;
    char text[32];
    int size =
        snprintf(text, sizeof text, "%u.%u.%u", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
    if ((version >> 4 & 0xf) == 0xc)
        snprintf(text + size, sizeof text - (size_t)size, "rc%u", version & 0xf);
    r->dump->version = intern(r, text);
}

static int find_python(struct dump_reading *r, struct err *err)
{
    if (dump_roll_list(&r->roll, err) < 0)
        return -1;
    if ((r->roll.core ? target_python_find : target_python_await)(r->image, &r->python, err) < 0)
        return r->python.path[0] ? -1 : DUMP_READER_NO_PYTHON;
    r->walk = target_python_walk(&r->python, &r->image->memory, &r->codes);
    dump_tasks_init(&r->tasks, r->image, &r->python.layout);
    r->dump->executable = intern(r, r->python.path);
    add_version(r);
    return 0;
}

/* The files of a process in another root are looked for there first. */
static int prepare_native(struct dump_reading *r, struct err *err)
{
    char root[64];
    const char *folders[FOLDERS_MAX];
    size_t count = 0;
    if (!r->options->native)
        return 0;
    snprintf(root, sizeof root, "/proc/%u/root", r->roll.pid);
    if (r->roll.pid)
        folders[count++] = root;
    for (size_t i = 0; r->options->search_dirs[i] && count < FOLDERS_MAX; i++)
        folders[count++] = r->options->search_dirs[i];
    return dump_native_init(&r->native, r->image, folders, count, r->options->internals, err);
}

static void add_command(struct dump_reading *r)
{
    char path[64];
    struct bytes text = {0};
    snprintf(path, sizeof path, "/proc/%u/cmdline", r->roll.pid);
    if (bytes_read_file(&text, path, COMMAND_BYTES_MAX, NULL) == 0 && text.size) {
        for (size_t i = 0; i + 1 < text.size; i++)
            if (!text.data[i])
                text.data[i] = ' ';
        r->dump->command = dump_intern(r->dump, (char *)text.data, text.size - !text.data[text.size - 1]);
    }
    bytes_clear(&text);
}

static void add_executable(struct dump_reading *r)
{
    char path[64], target[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%u/exe", r->roll.pid);
    ssize_t size = readlink(path, target, sizeof target);
    if (size > 0)
        r->dump->executable = dump_intern(r->dump, target, (size_t)size);
}

static struct dump_reading *reading_new(struct dump *dump, const struct dump_reader_options *options,
                                        const struct target_image *image, struct err *err)
{
    struct dump_reading *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(err, "out of memory");
        return NULL;
    }
    r->dump = dump;
    r->options = options;
    r->image = image;
    r->roll.memory = &image->memory;
    r->roll.python = &r->python;
    return r;
}

static void reading_free(struct dump_reading *r)
{
    if (!r)
        return;
    dump_native_clear(&r->native);
    dump_tasks_clear(&r->tasks);
    dump_roll_clear(&r->roll);
    free(r);
}

static int read_process(struct dump_reading *r, struct err *err)
{
    int result = find_python(r, err);
    if (result != 0 || prepare_native(r, err) < 0)
        return result ? result : -1;
    add_command(r);
    add_executable(r);
    r->dump->parent = process_tree_parent(r->roll.pid);
    r->dump->stopped = attach_is_stopped(r->roll.pid);
    hold_init();
    result = add_threads(r, err);
    hold_clear();
    return result;
}

int dump_reader_process(uint32_t pid, const struct dump_reader_options *options, struct dump *dump,
                        struct err *err)
{
    struct err inner = {{0}};
    struct process_image process;
    if (process_access_check(pid, err) < 0 || process_image_open(&process, pid, err) < 0)
        return -1;
    struct dump_reading *r = reading_new(dump, options, &process.image, &inner);
    int result = -1;
    if (r) {
        r->roll.pid = pid;
        dump->pid = pid;
        result = read_process(r, &inner);
    }
    reading_free(r);
    process_image_close(&process);
    if (result != 0)
        err_set(err, "process %u: %s", pid, inner.text);
    return result;
}

static int read_core(struct dump_reading *r, const struct core_file *core, struct err *err)
{
    r->roll.core = core;
    if (find_python(r, err) != 0) {
        const char *missing = core_file_missing(core);
        if (!missing)
            return -1;
        return err_set(err,
                       "no Python was found in it; %s is not there as it was: name a folder that has it with "
                       "--search-dir",
                       missing);
    }
    r->dump->pid = core->pid;
    r->dump->signal = core->signal;
    r->dump->command = intern(r, core->command);
    return prepare_native(r, err) < 0 ? -1 : add_threads(r, err);
}

int dump_reader_core(const char *path, const struct dump_reader_options *options, struct dump *dump,
                     struct err *err)
{
    struct core_file core;
    struct err inner = {{0}};
    if (core_file_open(&core, path, options->search_dirs, err) < 0)
        return -1;
    struct dump_reading *r = reading_new(dump, options, &core.image, &inner);
    int result = -1;
    if (r) {
        dump->core = intern(r, path);
        result = read_core(r, &core, &inner);
    }
    reading_free(r);
    core_file_close(&core);
    return result < 0 ? err_set(err, "%s: %s", path, inner.text) : 0;
}
