#include "unwind/depth.h"

#include <string.h>

#include "unwind/instruction.h"
#include "unwind/throwing.h"

enum { REGISTER_RBP = 6, REGISTER_RSP = 7 };

/* Depths are kept in words of the stack. */
#define WORD 8
enum { UNKNOWN = 0, ASTRAY = UINT16_MAX /* no fixed number */ };

/* Jumps backwards tell of code that was passed already: it is looked at again, so often at most. */
#define SWEEPS_MAX 3

/* Of each byte of the code; 0 = nothing is known. */
struct note {
    uint16_t carried; /* the depth with which the code is jumped to */
    uint16_t depth;   /* before the instruction that begins here */
};

struct call {
    uint32_t next; /* what follows it is the next call's */
    uint16_t depth;
};

struct sweep {
    const struct cfi_function *function;
    struct note *notes;
    struct call *calls; /* those in code that is counted from the frame register, in order */
    size_t call_count;
    size_t row;
    uint16_t depth;
    uint16_t
        body; /* the last that was known when the code went elsewhere: what is jumped to by a table has it */
    bool again;
};

static bool is_counted_from(const struct rows_rule *rule, unsigned number)
{
    return rule->cfa == ROWS_CFA_REGISTER && rule->cfa_register == number && rule->cfa_offset > 0;
}

/* libgcc's throw has rows of its own making (throwing.h), which must not be cut. The rows lie in order within the
 * code, unless the description is damaged. */
static bool is_worth_it(const struct cfi_function *function)
{
    bool framed = false;
    uint64_t last = function->start;
    for (size_t row = 0; row < function->row_count; row++) {
        const struct cfi_row *this = &function->rows[row];
        if (throwing_leaves(&this->rule) || this->address < last ||
            this->address - function->start > function->size)
            return false;
        last = this->address;
        framed |= is_counted_from(&this->rule, REGISTER_RBP);
    }
    return framed;
}

static uint16_t in_words(int64_t depth)
{
    return depth > 0 && depth % WORD == 0 && depth / WORD < ASTRAY ? (uint16_t)(depth / WORD) : ASTRAY;
}

static uint16_t after(uint16_t depth, const struct rows_rule *rule, const struct instruction *instruction)
{
    switch (instruction->move) {
    case INSTRUCTION_STAYS:
        return depth;
    case INSTRUCTION_LOWERS:
        return depth == UNKNOWN || depth == ASTRAY ? depth
                                                   : in_words((int64_t)depth * WORD + instruction->distance);
    case INSTRUCTION_TO_FRAME:
        return is_counted_from(rule, REGISTER_RBP)
                   ? in_words((int64_t)rule->cfa_offset - instruction->distance)
                   : UNKNOWN;
    case INSTRUCTION_ASTRAY:
        break;
    }
    return ASTRAY;
}

static void carry(struct sweep *sweep, size_t at, int64_t target)
{
    int64_t place = (int64_t)at + target;
    if (place < 0 || place >= (int64_t)sweep->function->size || sweep->depth == UNKNOWN ||
        sweep->notes[place].carried)
        return;
    sweep->notes[place].carried = sweep->depth;
    sweep->again |= place < (int64_t)at && sweep->notes[place].depth != sweep->depth;
}

/* What is known before an instruction: its description counts most. */
static uint16_t before(const struct sweep *sweep, size_t at, const struct rows_rule *rule)
{
    if (is_counted_from(rule, REGISTER_RSP))
        return in_words(rule->cfa_offset);
    if (sweep->notes[at].carried)
        return sweep->notes[at].carried;
    return sweep->depth ? sweep->depth : sweep->body;
}

/* A return address is looked for at the call; but a thread that waits for the kernel stands right behind. */
static void note_call(struct sweep *sweep, size_t at, const struct instruction *instruction)
{
    bool of_kernel = sweep->function->code[at] == 0x0f;
    sweep->calls[sweep->call_count++] =
        (struct call){(uint32_t)(at + instruction->length + of_kernel), sweep->depth};
}

static void pass(struct sweep *sweep, size_t at, const struct instruction *instruction,
                 const struct rows_rule *rule)
{
    bool calls = instruction->kind == INSTRUCTION_CALL;
    bool jumps = instruction->kind == INSTRUCTION_BRANCH || instruction->kind == INSTRUCTION_JUMP;
    bool ends = instruction->kind == INSTRUCTION_JUMP || instruction->kind == INSTRUCTION_END;
    if ((calls || jumps || ends) && is_counted_from(rule, REGISTER_RBP)) {
        sweep->body = sweep->depth;
        if (calls)
            note_call(sweep, at, instruction);
    }
    if (jumps)
        carry(sweep, at, instruction->target);
    sweep->depth = ends ? UNKNOWN : after(sweep->depth, rule, instruction);
}

/* Notes the depth before each instruction. True when it must be done again. */
static bool sweep_over(struct sweep *sweep)
{
    const struct cfi_function *function = sweep->function;
    struct instruction instruction;
    sweep->row = sweep->call_count = 0;
    sweep->depth = sweep->body = UNKNOWN;
    sweep->again = false;
    for (size_t at = 0; at < function->size; at += instruction.length) {
        sweep->row = cfi_row_at(function, sweep->row, function->start + at);
        const struct rows_rule *rule = &function->rows[sweep->row].rule;
        sweep->notes[at].depth = sweep->depth = before(sweep, at, rule);
        if (!instruction_decode(&instruction, function->code + at, function->size - at))
            break;
        pass(sweep, at, &instruction, rule);
    }
    return sweep->again;
}

static bool emit_depth(const struct cfi_row *row, uint64_t address, uint16_t depth, cfi_emit *emit,
                       void *context)
{
    struct rows_rule rule = row->rule;
    rule.depth = depth == ASTRAY ? 0 : (uint32_t)depth * WORD;
    return emit(context, address, &rule);
}

/* Up to each call a row of its own; `call` is the first that may lie in this one. */
static bool emit_row(const struct sweep *sweep, size_t number, size_t *call, cfi_emit *emit, void *context)
{
    const struct cfi_function *function = sweep->function;
    const struct cfi_row *row = &function->rows[number];
    bool is_last = number + 1 == function->row_count;
    uint64_t begin = row->address, end = is_last ? function->start + function->size : row[1].address;
    if (!is_counted_from(&row->rule, REGISTER_RBP))
        return emit(context, begin, &row->rule);
    for (; *call < sweep->call_count && begin < end; ++*call) {
        const struct call *this = &sweep->calls[*call];
        if (function->start + this->next > end + 1)
            break;
        if (!emit_depth(row, begin, this->depth, emit, context))
            return false;
        begin = function->start + this->next;
    }
    return begin != row->address || emit_depth(row, begin, UNKNOWN, emit, context);
}

static bool emit_noted(const struct sweep *sweep, cfi_emit *emit, void *context)
{
    size_t call = 0;
    for (size_t row = 0; row < sweep->function->row_count; row++)
        if (!emit_row(sweep, row, &call, emit, context))
            return false;
    return true;
}

bool depth_note(const struct cfi_function *function, struct bytes *scratch, cfi_emit *emit, void *context)
{
    if (!is_worth_it(function))
        return cfi_emit_rows(function, 0, emit, context);
    /* A call has two bytes at least. */
    size_t notes_size = function->size * sizeof(struct note);
    size_t calls_size = (function->size / 2 + 1) * sizeof(struct call);
    bytes_reset(scratch);
    if (!bytes_reserve(scratch, calls_size + notes_size))
        return false;
    memset(scratch->data + calls_size, 0, notes_size);
    struct sweep sweep = {.function = function,
                          .calls = (struct call *)(void *)scratch->data,
                          .notes = (struct note *)(void *)(scratch->data + calls_size)};
    for (unsigned count = 0; count < SWEEPS_MAX && sweep_over(&sweep); count++)
        ;
    return emit_noted(&sweep, emit, context);
}
