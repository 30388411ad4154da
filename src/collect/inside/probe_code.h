/*
 * probe_code: the byte code of a function with the probes of a plan in it, and the tables that go with it: which line,
 * and which handler of exceptions, an instruction has. A probe is a constant of the code, on which an operator is used:
 *
 *     LOAD_CONST probe; UNARY_POSITIVE; POP_TOP
 *
 * It needs one place more on the stack; in 3.11, where calls tell of themselves, three in all. Its line is that of the instruction behind it, so that the lines which a
 * traceback, a debugger or a sampler sees are those of the function as it was.
 */
#ifndef SONDE_COLLECT_INSIDE_PROBE_CODE_H
#define SONDE_COLLECT_INSIDE_PROBE_CODE_H

#include "base/bytes.h"
#include "collect/inside/probe_plan.h"

/* The function as it is. */
struct probe_source {
    int minor;
    const uint8_t *code;
    size_t units;
    const struct probe_place *places; /* one for each unit */
    const uint8_t *handlers;          /* the table of exceptions (3.11) */
    size_t handlers_size;
    uint32_t first_line;
    uint32_t constants;
};

/* One probe: the constant `constants` + its place in the list. */
struct probe_line {
    uint32_t line;
    uint8_t when; /* enum probe_when */
    bool is_quiet;
};

/* Owns its buffers; a zeroed struct is valid and empty. `arrival` (3.11) is where a call comes in that began elsewhere,
 * with a value on the stack: a unit of the code. */
struct probe_code {
    struct bytes code, lines, handlers;
    struct probe_line *probes;
    uint32_t probe_count;
    uint32_t arrival,
        entry;       /* the latter in the function as it is: what may be replaced by a way to the former */
    bool comes_back; /* as in the plan */
};

/* False when the code cannot have probes, or memory ran out. To be cleared in either case. */
bool probe_code_make(struct probe_code *made, const struct probe_source *source);
void probe_code_clear(struct probe_code *made);

#endif
