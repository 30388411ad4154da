#include "collect/recorder/native_evaluator.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/eh_frame.h"

#define RANGES_MAX  4096
#define STACK_START 8 /* distance of the frame address from rsp at the first instruction of a function */
enum { REGISTER_RSP = 7 };

static void add(struct native_evaluator *evaluator, uint64_t start, uint64_t end, enum native_merge_kind kind)
{
    for (size_t i = 0; i < evaluator->count; i++)
        if (evaluator->ranges[i].start == start)
            return;
    if (start >= end || evaluator->count == RANGES_MAX)
        return;
    if (evaluator->count == evaluator->capacity) {
        size_t capacity = evaluator->capacity * 2 + 16;
        void *grown = realloc(evaluator->ranges, capacity * sizeof *evaluator->ranges);
        if (!grown)
            return;
        evaluator->ranges = grown;
        evaluator->capacity = capacity;
    }
    evaluator->ranges[evaluator->count++] = (struct native_evaluator_range){start, end, (uint8_t)kind};
}

/* The function itself; what a compiler or a post-link optimizer moved elsewhere (.cold, .warm), which is jumped to;
 * what it made into functions (.part), and the tail-call interpreter's instructions, which are called. */
static void visit(void *context, const char *name, uint64_t address, uint64_t size)
{
    static const char whole[] = "_PyEval_EvalFrameDefault", instruction[] = "_TAIL_CALL_";
    if (strncmp(name, instruction, sizeof instruction - 1) == 0) {
        add(context, address, address + size, NATIVE_MERGE_PIECE);
    } else if (strncmp(name, whole, sizeof whole - 1) == 0) {
        const char *suffix = name + sizeof whole - 1;
        if (suffix[0] == '\0' || suffix[0] == '.')
            add(context, address, address + size,
                strncmp(suffix, ".part", 5) == 0 ? NATIVE_MERGE_PIECE : NATIVE_MERGE_EVALUATOR);
    }
}

/* A stretch that begins in the middle of a frame is no function: somebody jumps there. */
static bool begins_within_frame(const struct rows *rows, uint64_t start)
{
    const struct rows_rule *rule = rows_rule(rows, rows_find(rows, start));
    return rule->cfa == ROWS_CFA_REGISTER &&
           !(rule->cfa_register == REGISTER_RSP && rule->cfa_offset == STACK_START);
}

static void add_target(struct native_evaluator *evaluator, const struct elf_image *image,
                       const struct rows *rows, const struct eh_frame_list *list, uint64_t target)
{
    struct eh_frame_description description;
    const struct eh_frame_entry *entry = eh_frame_find(list, target);
    if (entry && elf_image_code(image, target) && eh_frame_describe(&description, image, entry) &&
        target < description.end && begins_within_frame(rows, entry->start))
        add(evaluator, entry->start, description.end, NATIVE_MERGE_EVALUATOR);
}

/* Near jumps (E9, 0F 80 to 0F 8F and a distance) out of the range. Bytes that only look like one hardly ever lead
 * into such a stretch. */
static void follow_jumps(struct native_evaluator *evaluator, const struct elf_image *image,
                         const struct rows *rows, const struct eh_frame_list *list,
                         const struct native_evaluator_range *from)
{
    struct cursor code = elf_image_at(image, from->start);
    size_t size = from->end - from->start < cursor_left(&code) ? from->end - from->start : cursor_left(&code);
    for (size_t at = 0; at + 6 <= size; at++) {
        bool conditional = code.at[at] == 0x0f && (code.at[at + 1] & 0xf0) == 0x80;
        if (!conditional && code.at[at] != 0xe9)
            continue;
        size_t next = at + (conditional ? 6 : 5);
        int32_t distance;
        memcpy(&distance, code.at + next - sizeof distance, sizeof distance);
        uint64_t target = from->start + next + (uint64_t)(int64_t)distance;
        if (target < from->start || target >= from->end)
            add_target(evaluator, image, rows, list, target);
    }
}

static int by_start(const void *one, const void *other)
{
    const struct native_evaluator_range *a = one, *b = other;
    return a->start < b->start ? -1 : a->start > b->start;
}

void native_evaluator_find(struct native_evaluator *evaluator, const struct elf_image *image,
                           const struct rows *rows)
{
    struct eh_frame_list list = {0};
    *evaluator = (struct native_evaluator){0};
    elf_image_each_symbol(image, visit, evaluator);
    if (evaluator->count == 1 && rows && eh_frame_list(&list, image, NULL) == 0) {
        struct native_evaluator_range whole = evaluator->ranges[0];
        follow_jumps(evaluator, image, rows, &list, &whole);
    }
    eh_frame_clear(&list);
    if (evaluator->count)
        qsort(evaluator->ranges, evaluator->count, sizeof *evaluator->ranges, by_start);
}

void native_evaluator_clear(struct native_evaluator *evaluator)
{
    free(evaluator->ranges);
    *evaluator = (struct native_evaluator){0};
}

enum native_merge_kind native_evaluator_kind(const struct native_evaluator *evaluator, uint64_t address)
{
    size_t low = 0, high = evaluator->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (evaluator->ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < evaluator->ranges[low - 1].end ? evaluator->ranges[low - 1].kind
                                                           : NATIVE_MERGE_PLAIN;
}
