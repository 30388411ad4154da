#include "collect/outside/process_tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/task_list.h"

enum { LIST_BYTES_MAX = 1 << 24, STAT_BYTES_MAX = 4096 };

static void take_numbers(const char *text, void (*child)(void *context, uint32_t pid), void *context)
{
    char *end;
    for (const char *at = text; *at; at = end) {
        uint32_t pid = (uint32_t)strtoul(at, &end, 10);
        if (end == at)
            return;
        while (*end == ' ' || *end == '\n')
            end++;
        if (pid)
            child(context, pid);
    }
}

/* Each thread has a list of those that it started. */
void process_tree_children(uint32_t pid, void (*child)(void *context, uint32_t pid), void *context)
{
    struct bytes text = {0};
    struct task_folder folder;
    uint32_t tid;
    if (!task_list_open_folder(&folder, pid))
        return;
    while ((tid = task_list_next(&folder)) != 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%u/task/%u/children", pid, tid);
        bytes_reset(&text);
        if (bytes_read_file(&text, path, LIST_BYTES_MAX, NULL) < 0)
            continue;
        bytes_put_u8(&text, '\0');
        if (!text.failed)
            take_numbers((const char *)text.data, child, context);
    }
    task_list_close_folder(&folder);
    bytes_clear(&text);
}

static bool has(const struct process_tree *tree, uint32_t pid)
{
    for (size_t i = 0; i < tree->count; i++)
        if (tree->pids[i] == pid)
            return true;
    return false;
}

/* A number may be given to another process while we look: none is taken twice. */
static void add(void *context, uint32_t pid)
{
    struct process_tree *tree = context;
    if (has(tree, pid))
        return;
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity * 2 + 16;
        uint32_t *grown = realloc(tree->pids, capacity * sizeof *grown);
        if (!grown)
            return;
        tree->pids = grown;
        tree->capacity = capacity;
    }
    tree->pids[tree->count++] = pid;
}

int process_tree_list(struct process_tree *tree, uint32_t pid, struct err *err)
{
    *tree = (struct process_tree){0};
    add(tree, pid);
    if (!tree->count)
        return err_set(err, "out of memory");
    for (size_t i = 0; i < tree->count; i++)
        process_tree_children(tree->pids[i], add, tree);
    return 0;
}

void process_tree_clear(struct process_tree *tree)
{
    free(tree->pids);
    *tree = (struct process_tree){0};
}

uint32_t process_tree_parent(uint32_t pid)
{
    char path[64];
    struct bytes text = {0};
    unsigned parent = 0;
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int result = bytes_read_file(&text, path, STAT_BYTES_MAX, NULL);
    bytes_put_u8(&text, '\0');
    const char *end = result == 0 && !text.failed ? strrchr((const char *)text.data, ')') : NULL;
    if (!end || sscanf(end + 1, " %*c %u", &parent) != 1)
        parent = 0;
    bytes_clear(&text);
    return parent;
}
