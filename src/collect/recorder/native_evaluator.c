#include "collect/recorder/native_evaluator.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/eh_frame.h"

#define RANGES_MAX  4096
#define OPCODES     256
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

/* What is searched through where symbols are missing. */
struct search {
    struct native_evaluator *evaluator;
    const struct elf_image *image;
    const struct rows *rows;
    struct eh_frame_list list;
    uint64_t table; /* of instructions, when it was found and is named by its address; else 0 */
};

/* A stretch that begins in the middle of a frame is no function: somebody jumps there. */
static bool begins_within_frame(const struct rows *rows, uint64_t start)
{
    const struct rows_rule *rule = rows_rule(rows, rows_find(rows, start));
    return rule->cfa == ROWS_CFA_REGISTER &&
           !(rule->cfa_register == REGISTER_RSP && rule->cfa_offset == STACK_START);
}

/* Adds what holds the address if it is a moved part of a function, or `whole` and the address is where it begins. */
static void add_holding(struct search *search, uint64_t address, enum native_merge_kind kind, bool whole)
{
    struct eh_frame_description description;
    const struct eh_frame_entry *entry = eh_frame_find(&search->list, address);
    if (!entry || !elf_image_code(search->image, address) ||
        !eh_frame_describe(&description, search->image, entry) || address >= description.end)
        return;
    if ((whole && entry->start == address) || begins_within_frame(search->rows, entry->start))
        add(search->evaluator, entry->start, description.end, kind);
}

static struct cursor code_of(const struct search *search, const struct native_evaluator_range *range)
{
    struct cursor code = elf_image_at(search->image, range->start);
    if (cursor_left(&code) > range->end - range->start)
        code.end = code.at + (range->end - range->start);
    return code;
}

static int32_t number_at(const uint8_t *bytes)
{
    int32_t number;
    memcpy(&number, bytes, sizeof number);
    return number;
}

/* Near jumps (E9, 0F 80 to 0F 8F and a distance) out of the range. Bytes that only look like one hardly ever lead to
 * such a place. */
static void follow_jumps(struct search *search, struct native_evaluator_range from)
{
    struct cursor code = code_of(search, &from);
    for (size_t at = 0; at + 6 <= cursor_left(&code); at++) {
        bool conditional = code.at[at] == 0x0f && (code.at[at + 1] & 0xf0) == 0x80;
        if (!conditional && code.at[at] != 0xe9)
            continue;
        size_t next = at + (conditional ? 6 : 5);
        uint64_t target = from.start + next + (uint64_t)(int64_t)number_at(code.at + next - 4);
        if (target < from.start || target >= from.end)
            add_holding(search, target, from.kind, from.kind == NATIVE_MERGE_PIECE);
    }
}

/* Whether one function for each opcode is named here: that of unused opcodes often, the others once. */
static bool is_instruction_table(const struct search *search, struct cursor table)
{
    unsigned distinct = 1;
    uint64_t last = 0;
    for (unsigned opcode = 0; opcode < OPCODES; opcode++) {
        uint64_t address = cursor_get_u64(&table);
        const struct eh_frame_entry *entry = table.failed ? NULL : eh_frame_find(&search->list, address);
        if (!entry || entry->start != address)
            return false;
        distinct += address != last;
        last = address;
    }
    return distinct > OPCODES / 2;
}

static void add_instructions(struct search *search, uint64_t address)
{
    struct cursor table = elf_image_at(search->image, address);
    if (!is_instruction_table(search, table))
        return;
    for (unsigned opcode = 0; opcode < OPCODES; opcode++)
        add_holding(search, cursor_get_u64(&table), NATIVE_MERGE_PIECE, true);
    search->table = address;
}

/* The tail-call interpreter enters its first instruction by a call through their table: its address is in the call
 * itself (FF 14 C5), or loaded relative to the program counter (REX.W 8D). */
static void find_instructions(struct search *search, struct native_evaluator_range whole)
{
    struct cursor code = code_of(search, &whole);
    for (size_t at = 0; at + 7 <= cursor_left(&code); at++) {
        const uint8_t *bytes = code.at + at;
        int32_t number = number_at(bytes + 3);
        if (bytes[0] == 0xff && bytes[1] == 0x14 && bytes[2] == 0xc5)
            add_instructions(search, (uint64_t)(int64_t)number);
        else if ((bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x8d && (bytes[2] & 0xc7) == 0x05)
            add_instructions(search, whole.start + at + 7 + (uint64_t)(int64_t)number);
    }
}

/* Whoever else names the table in its code has the evaluator's beginning inlined. */
static void find_entrances(struct search *search)
{
    uint32_t name = (uint32_t)search->table;
    struct eh_frame_description description;
    for (unsigned i = 0; i < search->image->segment_count && name == search->table; i++) {
        const struct elf_image_segment *segment = &search->image->segments[i];
        const uint8_t *bytes = search->image->data + segment->offset, *end = bytes + segment->size_bytes;
        if (!segment->executable)
            continue;
        for (const uint8_t *at = bytes; (at = memmem(at, (size_t)(end - at), &name, sizeof name)); at++) {
            uint64_t address = segment->address + (uint64_t)(at - bytes);
            const struct eh_frame_entry *entry = eh_frame_find(&search->list, address);
            if (entry && eh_frame_describe(&description, search->image, entry) && address < description.end)
                add(search->evaluator, entry->start, description.end, NATIVE_MERGE_ENTRANCE);
        }
    }
}

/* The list grows while what was found is gone through. */
static void search_code(struct search *search)
{
    find_instructions(search, search->evaluator->ranges[0]);
    for (size_t i = 0; i < search->evaluator->count; i++)
        follow_jumps(search, search->evaluator->ranges[i]);
    if (search->table)
        find_entrances(search);
}

static int by_start(const void *one, const void *other)
{
    const struct native_evaluator_range *a = one, *b = other;
    return a->start < b->start ? -1 : a->start > b->start;
}

void native_evaluator_find(struct native_evaluator *evaluator, const struct elf_image *image,
                           const struct rows *rows)
{
    struct search search = {.evaluator = evaluator, .image = image, .rows = rows};
    *evaluator = (struct native_evaluator){0};
    elf_image_each_symbol(image, visit, evaluator);
    bool stripped = evaluator->count == 1;
    if (stripped && rows && eh_frame_list(&search.list, image, NULL) == 0)
        search_code(&search);
    eh_frame_clear(&search.list);
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
