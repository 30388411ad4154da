#include "show/rank_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/json.h"
#include "base/rank_list.h"
#include "show/dump.h"
#include "show/terminal.h"

#define INDENT 2

/* Whose number is the process's; threads that Python does not know may come before it. */
static const struct dump_thread *main_thread(const struct dump *dump)
{
    for (size_t i = 0; i < dump->thread_count; i++) {
        if (dump->threads[i].native_id == dump->pid)
            return &dump->threads[i];
    }
    return dump->thread_count ? &dump->threads[dump->thread_count - 1] : NULL;
}

static const struct dump_frame *frame_at(const struct rank_stack *stack, size_t depth)
{
    return &stack->dump->frames[stack->thread->first_frame + stack->thread->frame_count - 1 - depth];
}

static uint32_t intern_label(struct rank_stacks *stacks, const struct dump *dump,
                             const struct dump_frame *frame, bool full_filenames)
{
    struct bytes text = {0};
    bytes_put_text(&text, strings_text(&dump->strings, frame->function));
    if (frame->file) {
        const char *file = strings_text(&dump->strings, frame->file);
        bytes_putf(&text, " (%s", labels_path(file, full_filenames ? LABEL_FULL : LABEL_SHORT));
        if (frame->line > 0)
            bytes_putf(&text, ":%" PRId32, frame->line);
        bytes_put_text(&text, ")");
    }
    if (!text.size)
        bytes_put_text(&text, "?"); /* the empty label is the end of a stack */
    uint32_t id = text.failed ? UINT32_MAX : strings_intern(&stacks->labels, (char *)text.data, text.size);
    bytes_clear(&text);
    return id;
}

static int fill_labels(struct rank_stacks *stacks, struct rank_stack *stack, bool full_filenames)
{
    for (size_t depth = 0; depth < stack->frame_count; depth++) {
        stack->frames[depth] = intern_label(stacks, stack->dump, frame_at(stack, depth), full_filenames);
        if (stack->frames[depth] == UINT32_MAX)
            return -1;
    }
    return 0;
}

int rank_stacks_add(struct rank_stacks *stacks, uint32_t rank, const struct dump *dump, bool full_filenames,
                    struct err *err)
{
    struct rank_stack stack = {.rank = rank, .dump = dump, .thread = main_thread(dump)};
    stack.frame_count = stack.thread ? stack.thread->frame_count : 0;
    stack.frames = calloc(stack.frame_count + 1, sizeof *stack.frames);
    struct rank_stack *items = realloc(stacks->items, (stacks->count + 1) * sizeof *items);
    if (items)
        stacks->items = items;
    if (!items || !stack.frames || fill_labels(stacks, &stack, full_filenames) < 0) {
        free(stack.frames);
        return err_set(err, "out of memory");
    }
    stacks->items[stacks->count++] = stack;
    return 0;
}

void rank_stacks_clear(struct rank_stacks *stacks)
{
    for (size_t i = 0; i < stacks->count; i++)
        free(stacks->items[i].frames);
    free(stacks->items);
    strings_clear(&stacks->labels);
    *stacks = (struct rank_stacks){0};
}

/* ---- order ---- */

/* What a stack has at this depth; 0 behind its end, which is no label. */
static uint32_t label_at(const struct rank_stack *stack, size_t depth)
{
    return depth < stack->frame_count ? stack->frames[depth] : 0;
}

static int by_rank(const void *left, const void *right)
{
    const struct rank_stack *a = left, *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* How many of the first stacks have all frames in common, and to which depth. */
static size_t common_depth(const struct rank_stack *items, size_t count, size_t depth)
{
    for (;; depth++) {
        uint32_t label = label_at(&items[0], depth);
        for (size_t i = 0; i < count; i++) {
            if (label_at(&items[i], depth) != label || !label)
                return depth;
        }
    }
}

/* Those with the same label at this depth as the first one. */
static size_t group_size(const struct rank_stack *items, size_t count, size_t depth)
{
    size_t size = 1;
    while (size < count && label_at(&items[size], depth) == label_at(&items[0], depth))
        size++;
    return size;
}

static size_t count_label(const struct rank_stack *items, size_t count, size_t depth, uint32_t label)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += label_at(&items[i], depth) == label;
    return found;
}

/* The stack of the largest group at this depth; of equal ones, that of the lowest rank. */
static size_t find_largest(const struct rank_stack *items, size_t count, size_t depth)
{
    size_t best = 0, best_count = 0;
    for (size_t i = 0; i < count; i++) {
        size_t found = count_label(items, count, depth, label_at(&items[i], depth));
        if (found > best_count) {
            best = i;
            best_count = found;
        }
    }
    return best;
}

/* Brings the stacks with this label to the front, each part in its order; how many they are. */
static size_t gather(struct rank_stack *items, size_t count, size_t depth, uint32_t label)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (label_at(&items[i], depth) != label)
            continue;
        struct rank_stack found = items[i];
        memmove(&items[size + 1], &items[size], (i - size) * sizeof *items);
        items[size++] = found;
    }
    return size;
}

/* Each step splits the stacks, so that it goes no deeper than there are stacks. */
static void sort_range(struct rank_stack *items, size_t count, size_t depth)
{
    depth = count ? common_depth(items, count, depth) : 0;
    if (count_label(items, count, depth, label_at(&items[0], depth)) == count)
        return;
    while (count) {
        size_t largest = find_largest(items, count, depth);
        size_t size = gather(items, count, depth, label_at(&items[largest], depth));
        sort_range(items, size, depth);
        items += size;
        count -= size;
    }
}

void rank_stacks_sort(struct rank_stacks *stacks)
{
    if (!stacks->count)
        return;
    qsort(stacks->items, stacks->count, sizeof *stacks->items, by_rank);
    sort_range(stacks->items, stacks->count, 0);
}

/* ---- text ---- */

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static uint32_t *ranks_of(const struct rank_stack *items, size_t count)
{
    uint32_t *ranks = malloc((count + 1) * sizeof *ranks);
    for (size_t i = 0; i < count && ranks; i++)
        ranks[i] = items[i].rank;
    if (ranks)
        qsort(ranks, count, sizeof *ranks, by_number);
    return ranks;
}

struct writing_stacks {
    const struct rank_stacks *stacks;
    const struct terminal *terminal;
    struct bytes *out;
};

static void put_heading(const struct writing_stacks *w, const struct rank_stack *items, size_t count,
                        int indent)
{
    uint32_t *ranks = ranks_of(items, count);
    bytes_putf(w->out, "%*s", indent, "");
    terminal_style(w->terminal, TERMINAL_BOLD, w->out);
    bytes_put_text(w->out, count == 1 ? "rank " : "ranks ");
    if (ranks)
        rank_list_put(ranks, (uint32_t)count, 0, w->out);
    terminal_style(w->terminal, TERMINAL_PLAIN, w->out);
    if (count > 1)
        bytes_putf(w->out, " (%zu)", count);
    bytes_put_text(w->out, "\n");
    free(ranks);
}

static void put_frame(const struct writing_stacks *w, uint32_t label, int indent)
{
    bytes_putf(w->out, "%*s", indent, "");
    terminal_put(strings_text(&w->stacks->labels, label), w->out);
    bytes_put_text(w->out, "\n");
}

/* A stack that could not be read says why. */
static void put_problem(const struct writing_stacks *w, const struct rank_stack *stack, int indent)
{
    uint32_t problem = stack->thread ? stack->thread->problem : 0;
    if (stack->frame_count)
        return;
    bytes_putf(w->out, "%*s", indent, "");
    terminal_put(problem ? strings_text(&stack->dump->strings, problem) : "runs no Python at this moment",
                 w->out);
    bytes_put_text(w->out, "\n");
}

static void put_range(const struct writing_stacks *w, const struct rank_stack *items, size_t count,
                      size_t depth, int indent)
{
    size_t common = common_depth(items, count, depth);
    put_heading(w, items, count, indent);
    for (; depth < common; depth++)
        put_frame(w, items[0].frames[depth], indent + INDENT);
    put_problem(w, &items[0], indent + INDENT);
    if (group_size(items, count, depth) == count)
        return;
    while (count) {
        size_t size = group_size(items, count, depth);
        put_range(w, items, size, depth, indent + INDENT);
        items += size;
        count -= size;
    }
}

void rank_stacks_put_text(const struct rank_stacks *stacks, const struct terminal *terminal,
                          struct bytes *out)
{
    const struct writing_stacks w = {stacks, terminal, out};
    if (stacks->count)
        put_range(&w, stacks->items, stacks->count, 0, 0);
}

/* ---- JSON ---- */

static void put_rank(const struct rank_stack *stack, struct json *json)
{
    json_begin_row(json);
    json_put_unsigned(json, "rank", stack->rank);
    json_put_unsigned(json, "pid", stack->dump->pid);
    json_put_string(json, "python", strings_text(&stack->dump->strings, stack->dump->version));
    json_put_string(json, "state", stack->thread ? dump_state_text(stack->thread) : NULL);
    json_end_object(json);
}

static void put_json_frame(const struct rank_stack *stack, size_t depth, struct json *json)
{
    const struct dump_frame *frame = frame_at(stack, depth);
    const struct strings *strings = &stack->dump->strings;
    json_begin_row(json);
    json_put_string(json, "name", strings_text(strings, frame->function));
    json_put_string(json, "filename", frame->file ? strings_text(strings, frame->file) : NULL);
    json_key(json, "line");
    json_signed(json, frame->line > 0 ? frame->line : 0);
    json_key(json, "native");
    json_bool(json, frame->native);
    json_end_object(json);
}

static void put_group(const struct rank_stack *items, size_t count, struct json *json)
{
    uint32_t *ranks = ranks_of(items, count);
    json_begin_row(json);
    json_key(json, "ranks");
    json_begin_array(json);
    for (size_t i = 0; i < count && ranks; i++)
        json_unsigned(json, ranks[i]);
    json_end_array(json);
    json_key(json, "frames");
    json_begin_array(json);
    for (size_t depth = 0; depth < items[0].frame_count; depth++)
        put_json_frame(&items[0], depth, json);
    json_end_array(json);
    json_end_object(json);
    free(ranks);
}

static bool is_same_stack(const struct rank_stack *a, const struct rank_stack *b)
{
    return a->frame_count == b->frame_count &&
           memcmp(a->frames, b->frames, a->frame_count * sizeof *a->frames) == 0;
}

void rank_stacks_put_json(const struct rank_stacks *stacks, struct json *json)
{
    json_key(json, "ranks");
    json_begin_array(json);
    for (size_t i = 0; i < stacks->count; i++)
        put_rank(&stacks->items[i], json);
    json_end_array(json);
    json_key(json, "groups");
    json_begin_array(json);
    for (size_t i = 0; i < stacks->count;) {
        size_t size = 1;
        while (i + size < stacks->count && is_same_stack(&stacks->items[i], &stacks->items[i + size]))
            size++;
        put_group(&stacks->items[i], size, json);
        i += size;
    }
    json_end_array(json);
}
