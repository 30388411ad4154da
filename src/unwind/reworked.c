#include "unwind/reworked.h"

#include <string.h>

#include "unwind/instruction.h"

enum { REGISTER_RBP = 6, REGISTER_RSP = 7 };

/* What is known of the frame register before an instruction. */
enum state {
    DESCRIBED, /* what the description says */
    POPPED,    /* as on the function's first instruction */
    PUSHED,    /* the caller's was pushed, not yet replaced */
    STATE = 3, /* mask; for each byte of the code one state is kept */
    STARTS = 4 /* an instruction starts at the byte */
};

/* Jumps backwards carry a state to what was passed already: the code is looked at again, so often at most. */
#define SWEEPS_MAX 4

static bool is_framed(const struct rows_rule *rule)
{
    return rule->cfa == ROWS_CFA_REGISTER && rule->cfa_register == REGISTER_RBP && rule->cfa_offset == 16;
}

/* The state behind an instruction. A stack pointer that moves otherwise ends what is known. */
static enum state after(enum state state, bool framed, enum instruction_kind kind)
{
    switch (kind) {
    case INSTRUCTION_POP_FRAME:
        return state == PUSHED || (state == DESCRIBED && framed) ? POPPED : DESCRIBED;
    case INSTRUCTION_PUSH_FRAME:
        return state == POPPED ? PUSHED : DESCRIBED;
    case INSTRUCTION_SET_FRAME:
    case INSTRUCTION_STACK:
    case INSTRUCTION_JUMP:
    case INSTRUCTION_END:
        return DESCRIBED;
    case INSTRUCTION_OTHER:
    case INSTRUCTION_CALL:
    case INSTRUCTION_BRANCH:
        break;
    }
    return state;
}

static struct rows_rule rule_for(enum state state, const struct rows_rule *described)
{
    struct rows_rule rule = *described;
    if (state == DESCRIBED || !is_framed(described))
        return rule;
    rule.cfa_register = REGISTER_RSP;
    rule.cfa_offset = state == POPPED ? 8 : 16;
    if (state == POPPED)
        rule.saved[ROWS_FRAME] = (struct rows_saved){.place = ROWS_SAME};
    return rule;
}

/* A state goes along with a jump; one that is known already stays. True when the code must be swept again. */
static bool carry(uint8_t *states, size_t size, size_t at, int64_t target, enum state state)
{
    int64_t place = (int64_t)at + target;
    if (place < 0 || place >= (int64_t)size || state == DESCRIBED || states[place] & STATE)
        return false;
    states[place] |= (uint8_t)state;
    return place < (int64_t)at;
}

/* Whether a byte that could be `pop rbp` or `leave` stands where the next byte is still described by rbp:
 * few functions, and only they are decoded. */
static bool may_need_mending(const struct cfi_function *function)
{
    size_t row = 0;
    for (size_t at = 0; at + 1 < function->size; at++) {
        if (function->code[at] != 0x5d && function->code[at] != 0xc9)
            continue;
        row = cfi_row_at(function, row, function->start + at + 1);
        if (is_framed(&function->rows[row].rule))
            return true;
    }
    return false;
}

/* Notes the state before each instruction. True when it must be done again. */
static bool sweep(const struct cfi_function *function, uint8_t *states)
{
    enum state state = DESCRIBED;
    size_t row = 0;
    bool again = false;
    struct instruction instruction;
    for (size_t at = 0; at < function->size; at += instruction.length) {
        if (states[at] & STATE)
            state = states[at] & STATE;
        states[at] = (uint8_t)(state | STARTS);
        if (!instruction_decode(&instruction, function->code + at, function->size - at))
            break;
        if (instruction.kind == INSTRUCTION_BRANCH || instruction.kind == INSTRUCTION_JUMP)
            again |= carry(states, function->size, at, instruction.target, state);
        row = cfi_row_at(function, row, function->start + at);
        state = after(state, is_framed(&function->rows[row].rule), instruction.kind);
    }
    return again;
}

/* A row where the description or the state changes. */
static bool emit_mended(const struct cfi_function *function, const uint8_t *states, cfi_emit *emit,
                        void *context)
{
    size_t row = 0, given_row = SIZE_MAX;
    unsigned given = DESCRIBED;
    for (size_t at = 0; at < function->size; at++) {
        if (!(states[at] & STARTS))
            continue;
        row = cfi_row_at(function, row, function->start + at);
        unsigned state = states[at] & STATE;
        if (row == given_row && state == given)
            continue;
        struct rows_rule rule = rule_for(state, &function->rows[row].rule);
        if (!emit(context, function->start + at, &rule))
            return false;
        given_row = row;
        given = state;
    }
    return cfi_emit_rows(function, row + 1, emit, context);
}

bool reworked_mend(const struct cfi_function *function, struct bytes *states, cfi_emit *emit, void *context)
{
    if (!may_need_mending(function))
        return cfi_emit_rows(function, 0, emit, context);
    bytes_reset(states);
    if (!bytes_reserve(states, function->size))
        return false;
    memset(states->data, DESCRIBED, function->size);
    for (unsigned count = 0; count < SWEEPS_MAX && sweep(function, states->data); count++)
        ;
    return emit_mended(function, states->data, emit, context);
}
