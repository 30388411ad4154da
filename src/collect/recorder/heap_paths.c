#include "collect/recorder/heap_paths.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/own_memory.h"
#include "collect/recorder/native_merge.h"

#define PATH_MAX_FRAMES 4096 /* of a stack */

/* What merging one stack needs. */
struct heap_paths_merging {
    uint32_t python_count, native_count;
    struct heap_node python[PATH_MAX_FRAMES], native[PATH_MAX_FRAMES]; /* innermost first */
    uint32_t codes[PATH_MAX_FRAMES];
    uint8_t kinds[PATH_MAX_FRAMES], entries[PATH_MAX_FRAMES];
    struct native_merge_frame frames[2 * PATH_MAX_FRAMES];
};

bool heap_paths_init(struct heap_paths *paths, const struct heap_area_view *view,
                     enum writer_collector collector, struct writer *writer, uint32_t process)
{
    struct heap_area *area = view->area;
    *paths = (struct heap_paths){.view = *view, .writer = writer, .process = process, .collector = collector};
    paths->nodes = own_memory_map(view->limits.nodes * sizeof *paths->nodes);
    return code_names_init(&paths->code_names, &area->codes, writer, area->python) && paths->nodes;
}

void heap_paths_clear(struct heap_paths *paths)
{
    code_names_clear(&paths->code_names);
    if (paths->nodes)
        own_memory_unmap(paths->nodes, paths->view.limits.nodes * sizeof *paths->nodes);
    free(paths->merging);
    *paths = (struct heap_paths){0};
}

void heap_paths_set_native(struct heap_paths *paths, heap_drain_find *find, void *context)
{
    paths->merging = calloc(1, sizeof *paths->merging);
    paths->find = find;
    paths->find_context = context;
}

void heap_paths_refresh(struct heap_paths *paths, const struct clock_rate *rate)
{
    paths->rate = *rate;
    paths->code_names.python = paths->view.area->python;
}

static struct thread describe_thread(const struct heap_paths *paths, uint32_t row)
{
    const struct heap_thread_row *thread = &paths->view.area->threads[row];
    char name[sizeof thread->name + 1] = "";
    memcpy(name, thread->name, sizeof thread->name);
    return (struct thread){.process = paths->process,
                           .name = writer_string(paths->writer, name, strlen(name)),
                           .tid = thread->tid,
                           .start_ns = clock_to_ns(&paths->rate, thread->start_ticks)};
}

uint32_t heap_paths_thread(struct heap_paths *paths, uint32_t row)
{
    if (row == 0 || row >= HEAP_AREA_THREADS ||
        !__atomic_load_n(&paths->view.area->threads[row].tid, __ATOMIC_ACQUIRE))
        return 0;
    if (!paths->threads[row]) {
        const struct thread thread = describe_thread(paths, row);
        paths->threads[row] = writer_met_thread(paths->writer, paths->collector, &thread);
    }
    return paths->threads[row];
}

static struct heap_node read_node(const struct heap_paths *paths, uint32_t row)
{
    struct heap_node node = paths->view.nodes[row];
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return node;
}

static uint32_t add_python(struct heap_paths *paths, uint32_t parent, const struct heap_node *from)
{
    const struct node node = {
        .parent = parent,
        .code = code_names_id(&paths->code_names, from->code),
        .line = paths->by_function ? 0 : code_names_line(&paths->code_names, from->code, from->offset)};
    return writer_node(paths->writer, &node);
}

/* The frames of a path, innermost first, without its root. False when the rows make no sense. */
static bool list_path(const struct heap_paths *paths, uint32_t row, struct heap_node *frames, uint32_t *count)
{
    for (*count = 0; row;) {
        struct heap_node node =
            row < paths->view.limits.nodes ? read_node(paths, row) : (struct heap_node){0};
        if (!node.thread || (node.parent && node.parent >= row) || *count == PATH_MAX_FRAMES)
            return false;
        if (!node.parent)
            return true;
        frames[(*count)++] = node;
        row = node.parent;
    }
    return false;
}

static void find_codes(struct heap_paths *paths, struct heap_paths_merging *merging)
{
    for (uint32_t i = 0; i < merging->native_count; i++) {
        const struct heap_node *node = &merging->native[i];
        uint64_t address = (uint64_t)node->code << 32 | (uint32_t)node->offset;
        struct heap_drain_code found = paths->find(paths->find_context, address);
        merging->codes[i] = found.code;
        merging->kinds[i] = found.kind;
    }
    for (uint32_t i = 0; i < merging->python_count; i++)
        merging->entries[i] = merging->python[i].kind == HEAP_NODE_ENTRY;
}

/* Python and native frames as one stack of the file. */
static uint32_t add_pair(struct heap_paths *paths, const struct heap_node *pair)
{
    struct heap_paths_merging *merging = paths->merging;
    bool agrees;
    uint32_t id = 0;
    if (!merging || !list_path(paths, pair->parent, merging->python, &merging->python_count) ||
        !list_path(paths, (uint32_t)pair->offset, merging->native, &merging->native_count))
        return HEAP_PATHS_NONE;
    find_codes(paths, merging);
    const struct native_merge_stacks stacks = {.native = merging->kinds,
                                               .native_count = merging->native_count,
                                               .native_is_whole = true,
                                               .python = merging->entries,
                                               .python_count = merging->python_count,
                                               .python_is_whole = true};
    for (size_t left = native_merge(&stacks, merging->frames, &agrees); left-- > 0;) {
        const struct native_merge_frame *frame = &merging->frames[left];
        if (frame->is_python) {
            id = add_python(paths, id, &merging->python[frame->index]);
        } else {
            const struct node node = {.parent = id, .code = merging->codes[frame->index]};
            id = writer_node(paths->writer, &node);
        }
    }
    return id;
}

uint32_t heap_paths_node(struct heap_paths *paths, uint32_t row)
{
    if (row == 0 || row >= paths->view.limits.nodes)
        return HEAP_PATHS_NONE;
    if (paths->nodes[row])
        return paths->nodes[row] - 1;
    struct heap_node from = read_node(paths, row);
    uint32_t id = 0;
    if (from.kind == HEAP_NODE_PAIR) {
        id = add_pair(paths, &from);
    } else if (from.parent) {
        id = from.parent < row ? heap_paths_node(paths, from.parent) : HEAP_PATHS_NONE;
        id = id == HEAP_PATHS_NONE ? id : add_python(paths, id, &from);
    }
    paths->nodes[row] = id == HEAP_PATHS_NONE ? 0 : id + 1;
    return id;
}

void heap_paths_end_threads(struct heap_paths *paths, uint64_t end_ticks)
{
    for (uint32_t row = 1; row < HEAP_AREA_THREADS; row++) {
        if (!paths->threads[row])
            continue;
        struct thread thread = describe_thread(paths, row);
        uint64_t ticks = paths->view.area->threads[row].end_ticks;
        thread.end_ns = clock_to_ns(&paths->rate, ticks ? ticks : end_ticks);
        writer_update_thread(paths->writer, paths->threads[row], &thread);
    }
}
