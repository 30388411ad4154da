#include "collect/recorder/observed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "collect/outside/process_tree.h"
#include "store/writer.h"

#define COMMAND_BYTES_MAX (1 << 20)
#define WORDS_MAX         512
#define EXEC_NS           5000000u  /* until then one that was just forked may have its parent's memory */
#define SETTLED_NS        50000000u /* a process that was just forked may still become another program */

struct observed_process {
    uint32_t pid, id; /* the system's, and the file's */
    bool settled;
    struct process process;
};

static uint32_t intern(struct writer *writer, const char *text)
{
    return text ? writer_string(writer, text, strlen(text)) : 0;
}

static uint32_t command_of(const struct observed *observed, uint32_t pid)
{
    char path[64], *words[WORDS_MAX];
    struct bytes text = {0};
    int count = 0;
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    int result = bytes_read_file(&text, path, COMMAND_BYTES_MAX, NULL);
    size_t size = text.size;
    bytes_put_u8(&text, '\0');
    for (size_t at = 0; result == 0 && !text.failed && at < size && count < WORDS_MAX;
         at += strlen((char *)text.data + at) + 1)
        words[count++] = (char *)text.data + at;
    char *described = count ? observed->describe(count, words) : NULL;
    uint32_t id = intern(observed->writer, described);
    free(described);
    bytes_clear(&text);
    return id;
}

static uint32_t executable_of(const struct observed *observed, uint32_t pid)
{
    char path[64], target[4096];
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    ssize_t size = readlink(path, target, sizeof target);
    return size > 0 ? writer_string(observed->writer, target, (size_t)size) : 0;
}

static struct observed_process *find(const struct observed *observed, uint32_t pid)
{
    for (size_t i = 0; i < observed->count; i++)
        if (observed->rows[i].pid == pid)
            return &observed->rows[i];
    return NULL;
}

static struct observed_process *new_row(struct observed *observed)
{
    if (observed->count == observed->capacity) {
        size_t capacity = observed->capacity * 2 + 8;
        struct observed_process *grown = realloc(observed->rows, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        observed->rows = grown;
        observed->capacity = capacity;
    }
    return &observed->rows[observed->count++];
}

static void describe(const struct observed *observed, struct observed_process *row)
{
    row->process.command = command_of(observed, row->pid);
    row->process.exe = executable_of(observed, row->pid);
}

static void add(struct observed *observed, uint32_t pid, uint32_t parent_id)
{
    struct observed_process *row = new_row(observed);
    char host[256] = "";
    if (!row)
        return;
    gethostname(host, sizeof host - 1);
    *row = (struct observed_process){.pid = pid,
                                     .process = {.pid = pid,
                                                 .parent = parent_id,
                                                 .rank = UINT32_MAX,
                                                 .host = intern(observed->writer, host),
                                                 .start_ns = clock_monotonic_ns(),
                                                 .exit_code = INT32_MIN}};
    describe(observed, row);
    row->id = writer_process(observed->writer, &row->process);
    counters_add(observed->counters, pid, row->id, row->process.start_ns + (parent_id ? EXEC_NS : 0));
    observed->met++;
}

void observed_begin(struct observed *observed, uint32_t pid)
{
    add(observed, pid, 0);
}

uint32_t observed_meet(struct observed *observed, uint32_t pid, uint32_t parent_pid)
{
    const struct observed_process *row = find(observed, pid), *parent = find(observed, parent_pid);
    if (!row && parent && observed->children) {
        add(observed, pid, parent->id);
        row = find(observed, pid);
    }
    return row ? row->id : 0;
}

struct looking {
    struct observed *observed;
    uint32_t parent_id;
};

static void take_child(void *context, uint32_t pid)
{
    const struct looking *looking = context;
    if (!find(looking->observed, pid))
        add(looking->observed, pid, looking->parent_id);
}

/* Rows that are added meanwhile are asked for their children, too. */
static void find_children(struct observed *observed)
{
    for (size_t i = 0; i < observed->count && observed->children; i++) {
        struct looking looking = {observed, observed->rows[i].id};
        process_tree_children(observed->rows[i].pid, take_child, &looking);
    }
}

static bool has_ended(uint32_t pid)
{
    return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
}

static void let_go(struct observed *observed, size_t index, bool ended, int32_t exit_code)
{
    struct observed_process *row = &observed->rows[index];
    counters_end(observed->counters, row->pid);
    row->process.end_ns = ended ? clock_monotonic_ns() : 0;
    row->process.exit_code = exit_code;
    writer_update_process(observed->writer, row->id, &row->process);
    *row = observed->rows[--observed->count];
}

void observed_end(struct observed *observed, uint32_t pid, int32_t exit_code)
{
    const struct observed_process *row = find(observed, pid);
    if (row)
        let_go(observed, (size_t)(row - observed->rows), true, exit_code);
}

static void settle(struct observed *observed, uint64_t now_ns)
{
    for (size_t i = 0; i < observed->count; i++) {
        struct observed_process *row = &observed->rows[i];
        if (row->settled || now_ns - row->process.start_ns < SETTLED_NS)
            continue;
        describe(observed, row);
        writer_update_process(observed->writer, row->id, &row->process);
        row->settled = true;
    }
}

bool observed_step(struct observed *observed, uint64_t now_ns)
{
    uint32_t first = observed->count ? observed->rows[0].pid : 0;
    for (size_t i = observed->count; i-- > 0;)
        if (has_ended(observed->rows[i].pid))
            let_go(observed, i, true, INT32_MIN);
    settle(observed, now_ns);
    find_children(observed);
    return first && observed->count && observed->rows[0].pid == first;
}

uint32_t observed_finish(struct observed *observed)
{
    uint32_t running = (uint32_t)observed->count;
    while (observed->count)
        let_go(observed, observed->count - 1, false, INT32_MIN);
    return running;
}

void observed_clear(struct observed *observed)
{
    free(observed->rows);
    *observed = (struct observed){0};
}
