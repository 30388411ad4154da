/*
 * probe_plan: where in the byte code of a function (3.9 to 3.11) the beginnings of lines are. A trace function would be
 * told of a line when the instruction before was of another line, or lay behind (a jump back): that depends on where the
 * program came from. So a probe stands before an instruction, where all ways that lead there begin its line; or it looks
 * whether the line is new, where some do; and jumps back have probes of their own.
 *
 * In 3.11 there are probes, too, where a call begins, goes on, pauses or ends, so that the code tells of its own calls.
 *
 * Bytes in, a plan out: knows nothing of objects. Code that is not as compilers make it is refused.
 */
#ifndef SONDE_COLLECT_INSIDE_PROBE_PLAN_H
#define SONDE_COLLECT_INSIDE_PROBE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_PLAN_UNIT_BYTES  2
#define PROBE_PLAN_NONE        UINT32_MAX
#define PROBE_PLAN_ENTRY_UNITS 5

/* Where in the source one unit of code comes from. */
struct probe_place {
    uint32_t line, end_line;    /* 0 = none */
    int32_t column, end_column; /* -1 = not known */
};

/* Units of code that a handler of exceptions protects (3.11). */
struct probe_handler {
    uint32_t start, end, target; /* in units */
    uint32_t depth;              /* and a bit, as in the table of the code object */
};

enum probe_when {
    PROBE_NEVER,
    PROBE_ALWAYS,
    PROBE_MARK,   /* none begins: an exception goes on as if from where it was raised first */
    PROBE_IF_NEW, /* unless the line is going on; in 3.9 unless an exception came from a quiet line */
    PROBE_ENTER,  /* a call begins, or goes on */
    PROBE_LEAVE,  /* a call pauses or ends */
};

enum probe_jump {
    PROBE_NO_JUMP,
    PROBE_ABSOLUTE,
    PROBE_FORWARD,
    PROBE_BACKWARD,
    PROBE_SETUP, /* does not jump, but says where exceptions go (up to 3.10) */
};

struct probe_instruction {
    uint32_t first, end; /* units in the code, with what extends the argument, and the caches */
    uint32_t argument;
    uint32_t target; /* the instruction that it may jump to, or PROBE_PLAN_NONE */
    uint32_t line;   /* 0 = none */
    uint8_t opcode, jump;
    bool ends;     /* the next instruction does not follow it */
    uint8_t when;  /* enum probe_when: the probe before it */
    bool is_quiet; /* 3.9: an exception that it raises begins no line where it is handled */
    bool counts;   /* its jump back begins a line, and needs a probe of its own */
    bool detour;   /* that lies at the end of the code, since it does not always jump */
    bool begins;   /* 3.11: a call begins here; the probe stands before it */
    bool goes_on;  /* 3.11: or goes on; the probe stands behind it */
    bool leaves;   /* 3.11: or pauses or ends */
    bool is_sent;  /* 3.11: pauses for another generator, by the instruction before it */
};

struct probe_plan {
    int minor; /* of the version */
    struct probe_instruction *instructions;
    uint32_t count;
    uint32_t
        *of_unit; /* the instruction that begins there, or PROBE_PLAN_NONE; one more than there are units */
    uint32_t units;
    uint32_t probes;
    uint32_t beginning; /* 3.11: the instruction with which a call begins */
    uint32_t
        entry; /* 3.11: the first instruction of a call that may be replaced: all, but for making a generator */
    bool
        comes_back; /* 3.11: calls may come back into the PROBE_PLAN_ENTRY_UNITS units from there, or pause in them */
};

/* False when the code cannot have probes. `places` has one for each unit. To be cleared in either case. */
bool probe_plan_init(struct probe_plan *plan, int minor, const uint8_t *code, size_t units,
                     const struct probe_place *places, const struct probe_handler *handlers,
                     size_t handler_count);
void probe_plan_clear(struct probe_plan *plan);

#endif
