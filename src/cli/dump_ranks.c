#include "cli/dump_ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/dump_reader.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/rank_processes.h"
#include "collect/outside/process_tree.h"
#include "collect/outside/thread_states.h"
#include "show/dump.h"
#include "show/rank_stacks.h"
#include "show/terminal.h"

/* A process of a rank that is a Python. */
struct dumped {
    struct rank_process process;
    struct dump dump;
    bool is_child; /* of another Python of the same rank */
};

struct dumped_list {
    struct dumped *items;
    size_t count;
};

static void name_of(uint32_t pid, char *name, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
    FILE *stream = fopen(path, "re");
    name[0] = '\0';
    if (stream && fgets(name, (int)size, stream))
        name[strcspn(name, "\n")] = '\0';
    if (stream)
        fclose(stream);
}

/* It shares the memory of the program that is recorded, and looks like it. */
static bool is_sampler(uint32_t pid)
{
    char name[64];
    name_of(pid, name, sizeof name);
    return strcmp(name, "sonde-sampler") == 0;
}

/* What is no Python is passed over; what has ended meanwhile is not missed. */
static int read_all(const struct rank_processes *processes, const struct dump_reader_options *reading,
                    struct dumped_list *list, struct err *err)
{
    list->items = calloc(processes->count + 1, sizeof *list->items);
    if (!list->items)
        return err_set(err, "out of memory");
    for (size_t i = 0; i < processes->count; i++) {
        struct dumped *dumped = &list->items[list->count];
        struct err inner = {0};
        uint32_t pid = processes->items[i].pid;
        if (is_sampler(pid))
            continue;
        dumped->process = processes->items[i];
        int result = dump_reader_process(pid, reading, &dumped->dump, &inner);
        if (result == 0) {
            list->count++;
            continue;
        }
        dump_clear(&dumped->dump);
        dumped->dump = (struct dump){0};
        if (result < 0 && thread_states_is_running(pid))
            message_warn("rank %" PRIu32 ": %s", processes->items[i].rank, inner.text);
    }
    return list->count ? 0 : err_set(err, "none of the %zu processes of ranks is a Python", processes->count);
}

static bool is_listed(const struct dumped_list *list, uint32_t pid, uint32_t rank)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].process.pid == pid && list->items[i].process.rank == rank)
            return true;
    }
    return false;
}

static void mark_children(struct dumped_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct dumped *dumped = &list->items[i];
        uint32_t pid = process_tree_parent(dumped->process.pid);
        while (pid > 1 && pid != dumped->process.launcher && !dumped->is_child) {
            dumped->is_child = is_listed(list, pid, dumped->process.rank);
            pid = process_tree_parent(pid);
        }
    }
}

static int by_run(const void *left, const void *right)
{
    const struct rank_process *a = &((const struct dumped *)left)->process;
    const struct rank_process *b = &((const struct dumped *)right)->process;
    if (a->launcher != b->launcher)
        return a->launcher < b->launcher ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Those from `first` on that one launcher started. */
static size_t run_size(const struct dumped_list *list, size_t first)
{
    size_t end = first;
    while (end < list->count && list->items[end].process.launcher == list->items[first].process.launcher)
        end++;
    return end - first;
}

static int add_stacks(const struct dumped *items, size_t count, bool full_filenames,
                      struct rank_stacks *stacks, struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        if (!items[i].is_child)
            result = rank_stacks_add(stacks, items[i].process.rank, &items[i].dump, full_filenames, err);
    }
    rank_stacks_sort(stacks);
    return result;
}

static void put_text(const struct rank_process *process, const struct rank_stacks *stacks, struct bytes *out)
{
    const struct terminal terminal = {.color = message_has_color(stdout)};
    char host[64] = "", name[64];
    gethostname(host, sizeof host - 1);
    name_of(process->launcher, name, sizeof name);
    bytes_putf(out, "%s%zu", out->size ? "\n" : "", stacks->count);
    if (process->size)
        bytes_putf(out, " of %" PRIu32, process->size);
    bytes_putf(out, " ranks on %s, started by process %" PRIu32, host, process->launcher);
    if (name[0]) {
        bytes_put_text(out, " (");
        terminal_put(name, out);
        bytes_put_text(out, ")");
    }
    bytes_put_text(out, "; what their main threads do:\n");
    rank_stacks_put_text(stacks, &terminal, out);
}

static void put_json(const struct rank_process *process, const struct rank_stacks *stacks, struct json *json)
{
    json_begin_row(json);
    json_put_unsigned(json, "launcher", process->launcher);
    json_put_unsigned(json, "size", process->size);
    rank_stacks_put_json(stacks, json);
    json_end_object(json);
}

static int put_runs(const struct dump_ranks_options *options, const struct dumped_list *list,
                    struct bytes *out, struct err *err)
{
    struct json json = {.out = out};
    int result = 0;
    if (options->json)
        json_begin_array(&json);
    for (size_t first = 0; first < list->count && result == 0; first += run_size(list, first)) {
        const struct dumped *items = &list->items[first];
        struct rank_stacks stacks = {0};
        result = add_stacks(items, run_size(list, first), options->full_filenames, &stacks, err);
        if (result == 0 && options->json)
            put_json(&items->process, &stacks, &json);
        else if (result == 0)
            put_text(&items->process, &stacks, out);
        rank_stacks_clear(&stacks);
    }
    if (options->json) {
        json_end_array(&json);
        bytes_put_u8(out, '\n');
    }
    return result;
}

static int find_all(struct rank_processes *processes, int argc, char **argv, struct err *err)
{
    int result = argc ? 0 : rank_processes_find(processes, NULL, err);
    for (int i = 0; i < argc && result == 0; i++)
        result = rank_processes_find(processes, argv[i], err);
    return result;
}

int dump_ranks_run(const struct dump_ranks_options *options, int argc, char **argv)
{
    struct rank_processes processes = {0};
    struct dumped_list list = {0};
    struct bytes out = {0};
    struct err err = {0};
    int result = find_all(&processes, argc, argv, &err);
    if (result == 0)
        result = read_all(&processes, options->reading, &list, &err);
    if (result == 0) {
        mark_children(&list);
        qsort(list.items, list.count, sizeof *list.items, by_run);
        result = put_runs(options, &list, &out, &err);
    }
    int code = result == 0 ? output_print(&out) : message_fail(&err);
    for (size_t i = 0; i < list.count; i++)
        dump_clear(&list.items[i].dump);
    free(list.items);
    bytes_clear(&out);
    rank_processes_clear(&processes);
    return code;
}
