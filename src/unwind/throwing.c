#include "unwind/throwing.h"

#include <string.h>

#include "unwind/instruction.h"

enum { REGISTER_RBP = 6, REGISTER_RSP = 7 };
#define FRAME_BYTES                                                                                          \
    16 /* from where rbp points to the frame address: the caller's rbp and the return address */

static bool is_counted_from(const struct rows_rule *rule, unsigned number)
{
    return rule->cfa == ROWS_CFA_REGISTER && rule->cfa_register == number;
}

bool throwing_leaves(const struct rows_rule *rule)
{
    return rule->saved[ROWS_RETURN].may_throw && rule->cfa == ROWS_CFA_REGISTER &&
           !is_counted_from(rule, REGISTER_RBP) && !is_counted_from(rule, REGISTER_RSP);
}

/* What was found in one sweep over the code. */
struct calls {
    size_t last, last_but_one;
    int32_t
        argument; /* before the last call: where, from rbp on, its first argument is loaded from; 0 = unknown */
};

/* mov distance(%rbp), %rdi; 0 when it is something else. */
static int32_t loaded_argument(const uint8_t *code, size_t length)
{
    static const uint8_t far_load[] = {0x48, 0x8b, 0xbd}, near_load[] = {0x48, 0x8b, 0x7d};
    int32_t distance = 0;
    if (length == sizeof far_load + 4 && memcmp(code, far_load, sizeof far_load) == 0)
        memcpy(&distance, code + sizeof far_load, sizeof distance);
    else if (length == sizeof near_load + 1 && memcmp(code, near_load, sizeof near_load) == 0)
        distance = (int8_t)code[sizeof near_load];
    return distance;
}

static struct calls find_calls(const uint8_t *code, size_t leave)
{
    struct calls calls = {leave, leave, 0};
    int32_t argument = 0;
    struct instruction instruction;
    for (size_t at = 0; at < leave; at += instruction.length) {
        if (!instruction_decode(&instruction, code + at, leave - at))
            return (struct calls){leave, leave, 0};
        int32_t loaded = loaded_argument(code + at, instruction.length);
        argument = loaded ? loaded : argument;
        if (instruction.kind == INSTRUCTION_CALL) {
            calls = (struct calls){at, calls.last, argument};
            argument = 0;
        }
    }
    return calls;
}

/* What is counted from the frame address is counted from rbp, since the frame address becomes another's. */
static void count_from_frame(struct rows_saved *saved)
{
    if (saved->place == ROWS_AT_CFA)
        *saved =
            (struct rows_saved){.place = ROWS_AT_FRAME, .offset = (int16_t)(saved->offset + FRAME_BYTES)};
}

size_t throwing_end(const uint8_t *code, size_t leave, struct rows_rule *rule)
{
    struct calls calls = find_calls(code, leave);
    if (!is_counted_from(rule, REGISTER_RBP) || rule->cfa_offset != FRAME_BYTES)
        return leave;
    rule->saved[ROWS_RETURN].may_throw = 1;
    if (calls.argument) {
        rule->cfa = ROWS_CFA_LOADED;
        rule->cfa_offset = calls.argument;
        count_from_frame(&rule->saved[ROWS_FRAME]);
        count_from_frame(&rule->saved[ROWS_BASE]);
    }
    return calls.last_but_one;
}
