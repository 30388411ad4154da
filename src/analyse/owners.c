#include "analyse/owners.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "store/recording.h"

#define FAILED UINT32_MAX

struct insertion {
    struct recording *recording;
    const struct node *old_nodes;
    struct map moved;       /* (owner's node, old node) → new node */
    uint32_t *process_node; /* by process: the frame that stands for it; 0 = not made yet */
    uint32_t *thread_node;
    uint32_t *path; /* old nodes on the way up */
    bool processes, threads;
};

static uint32_t add_frame(struct recording *recording, uint32_t parent, struct bytes *text)
{
    uint32_t name =
        text->failed ? FAILED : strings_intern(&recording->strings, (char *)text->data, text->size);
    bytes_clear(text);
    if (name == FAILED)
        return FAILED;
    uint32_t code = recording_add_code(recording, &(struct code){.name = name, .kind = CODE_OTHER});
    uint32_t node = code ? recording_add_node(recording, &(struct node){parent, code, 0}) : 0;
    return node ? node : FAILED;
}

static uint32_t process_frame(struct insertion *insertion, uint32_t process)
{
    struct recording *recording = insertion->recording;
    uint32_t *node = &insertion->process_node[process];
    if (!insertion->processes || *node)
        return insertion->processes ? *node : 0;
    struct bytes text = {0};
    bytes_putf(&text, "process %" PRIu64, recording->processes[process].pid);
    const char *command = recording_text(recording, recording->processes[process].command);
    if (command[0])
        bytes_putf(&text, ":\"%s\"", command);
    return *node = add_frame(recording, 0, &text);
}

static uint32_t thread_frame(struct insertion *insertion, uint32_t id)
{
    struct recording *recording = insertion->recording;
    uint32_t *node = &insertion->thread_node[id];
    if (*node)
        return *node;
    const struct thread *thread = &recording->threads[id];
    uint32_t parent = process_frame(insertion, thread->process);
    if (!insertion->threads || parent == FAILED)
        return parent;
    struct bytes text = {0};
    const char *name = recording_text(recording, thread->name);
    bytes_putf(&text, name[0] ? "thread (%" PRIu64 "): %s" : "thread (%" PRIu64 ")", thread->tid, name);
    return *node = add_frame(recording, parent, &text);
}

/* The node that stands for `old` below the owner's frame; parents are made first. */
static uint32_t move(struct insertion *insertion, uint32_t owner, uint32_t old)
{
    uint32_t depth = 0, at = owner;
    for (; old; old = insertion->old_nodes[old].parent) {
        at = map_get(&insertion->moved, map_pair(owner, old));
        if (at != MAP_NONE)
            break;
        insertion->path[depth++] = old;
        at = owner;
    }
    while (depth--) {
        const struct node *node = &insertion->old_nodes[insertion->path[depth]];
        at = recording_add_node(insertion->recording, &(struct node){at, node->code, node->line});
        if (!at || !map_set(&insertion->moved, map_pair(owner, insertion->path[depth]), at))
            return FAILED;
    }
    return at;
}

static int move_row(struct insertion *insertion, uint32_t thread, uint32_t *node)
{
    uint32_t owner = thread_frame(insertion, thread);
    uint32_t moved = owner == FAILED ? FAILED : move(insertion, owner, *node);
    if (moved == FAILED)
        return -1;
    *node = moved;
    return 0;
}

static int move_rows(struct insertion *insertion)
{
    struct recording *recording = insertion->recording;
    for (uint32_t i = 0; i < recording->calls_count; i++)
        if (move_row(insertion, recording->calls[i].thread, &recording->calls[i].node) < 0)
            return -1;
    for (uint32_t i = 0; i < recording->samples_count; i++)
        if (move_row(insertion, recording->samples[i].thread, &recording->samples[i].node) < 0)
            return -1;
    for (uint32_t i = 0; i < recording->heap_count; i++)
        if (move_row(insertion, recording->heap[i].thread, &recording->heap[i].node) < 0)
            return -1;
    for (uint32_t i = 0; i < recording->allocations_count; i++)
        if (move_row(insertion, recording->allocations[i].thread, &recording->allocations[i].node) < 0)
            return -1;
    return 0;
}

int owners_insert(struct recording *recording, bool processes, bool threads, struct err *err)
{
    if ((!processes && !threads) || !recording->nodes_count)
        return 0;
    struct node *old_nodes = recording->nodes;
    struct insertion insertion = {
        .recording = recording,
        .old_nodes = old_nodes,
        .process_node = calloc(recording->processes_count, sizeof(uint32_t)),
        .thread_node = calloc(recording->threads_count, sizeof(uint32_t)),
        .path = malloc(recording->nodes_count * sizeof(uint32_t)),
        .processes = processes,
        .threads = threads,
    };
    recording->nodes = NULL;
    recording->nodes_count = recording->nodes_capacity = 0;
    int result = insertion.process_node && insertion.thread_node && insertion.path ? 0 : -1;
    if (result == 0)
        result = recording_init(recording, err);
    if (result == 0)
        result = move_rows(&insertion);
    free(old_nodes);
    free(insertion.process_node);
    free(insertion.thread_node);
    free(insertion.path);
    map_clear(&insertion.moved);
    return result < 0 ? err_set(err, "not enough memory to keep the threads apart") : 0;
}
