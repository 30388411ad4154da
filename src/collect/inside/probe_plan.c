#include "collect/inside/probe_plan.h"

#include <stdlib.h>

#define UNITS_MAX (1u << 20)

enum {
    CACHE = 0, /* 3.11 */
    RERAISE_9 = 48,
    RETURN = 83,
    RETURN_GENERATOR = 75,
    YIELD = 86,
    RERAISE = 119, /* since 3.10 */
    SEND = 123,
    RAISE = 130,
    EXTENDED_ARGUMENT = 144,
    RESUME = 151, /* 3.11 */
};
enum { IN_9 = 1, IN_10 = 2, IN_11 = 4, BEFORE_11 = IN_9 | IN_10, ALL = IN_9 | IN_10 | IN_11 };

/* Instructions after which the next one is not always that which follows. */
static const struct {
    uint8_t opcode, versions, jump;
    bool ends;
} flow[] = {
    {RERAISE_9, IN_9, PROBE_NO_JUMP, true},        /* RERAISE */
    {RETURN, ALL, PROBE_NO_JUMP, true},            /* RETURN_VALUE */
    {93, ALL, PROBE_FORWARD, false},               /* FOR_ITER */
    {110, ALL, PROBE_FORWARD, true},               /* JUMP_FORWARD */
    {111, BEFORE_11, PROBE_ABSOLUTE, false},       /* JUMP_IF_FALSE_OR_POP */
    {111, IN_11, PROBE_FORWARD, false},            /* the same */
    {112, BEFORE_11, PROBE_ABSOLUTE, false},       /* JUMP_IF_TRUE_OR_POP */
    {112, IN_11, PROBE_FORWARD, false},            /* the same */
    {113, BEFORE_11, PROBE_ABSOLUTE, true},        /* JUMP_ABSOLUTE */
    {114, BEFORE_11, PROBE_ABSOLUTE, false},       /* POP_JUMP_IF_FALSE */
    {114, IN_11, PROBE_FORWARD, false},            /* POP_JUMP_FORWARD_IF_FALSE */
    {115, BEFORE_11, PROBE_ABSOLUTE, false},       /* POP_JUMP_IF_TRUE */
    {115, IN_11, PROBE_FORWARD, false},            /* POP_JUMP_FORWARD_IF_TRUE */
    {RERAISE, IN_10 | IN_11, PROBE_NO_JUMP, true}, /* RERAISE */
    {121, BEFORE_11, PROBE_ABSOLUTE, false},       /* JUMP_IF_NOT_EXC_MATCH */
    {122, BEFORE_11, PROBE_SETUP, false},          /* SETUP_FINALLY */
    {SEND, IN_11, PROBE_FORWARD, false},           /* SEND */
    {128, IN_11, PROBE_FORWARD, false},            /* POP_JUMP_FORWARD_IF_NOT_NONE */
    {129, IN_11, PROBE_FORWARD, false},            /* POP_JUMP_FORWARD_IF_NONE */
    {RAISE, ALL, PROBE_NO_JUMP, true},             /* RAISE_VARARGS */
    {134, IN_11, PROBE_BACKWARD, true},            /* JUMP_BACKWARD_NO_INTERRUPT */
    {140, IN_11, PROBE_BACKWARD, true},            /* JUMP_BACKWARD */
    {143, BEFORE_11, PROBE_SETUP, false},          /* SETUP_WITH */
    {154, BEFORE_11, PROBE_SETUP, false},          /* SETUP_ASYNC_WITH */
    {173, IN_11, PROBE_BACKWARD, false},           /* POP_JUMP_BACKWARD_IF_NOT_NONE */
    {174, IN_11, PROBE_BACKWARD, false},           /* POP_JUMP_BACKWARD_IF_NONE */
    {175, IN_11, PROBE_BACKWARD, false},           /* POP_JUMP_BACKWARD_IF_FALSE */
    {176, IN_11, PROBE_BACKWARD, false},           /* POP_JUMP_BACKWARD_IF_TRUE */
};

static void find_flow(struct probe_instruction *instruction, int minor)
{
    uint8_t version = (uint8_t)(1 << (minor - 9));
    for (size_t i = 0; i < sizeof flow / sizeof *flow; i++) {
        if (flow[i].opcode != instruction->opcode || !(flow[i].versions & version))
            continue;
        instruction->jump = flow[i].jump;
        instruction->ends = flow[i].ends;
    }
}

/* ---- instructions ---- */

/* Takes the instruction that begins at unit `at`. False when the code ends in the middle of it. */
static bool take(struct probe_plan *plan, const uint8_t *code, uint32_t at, const struct probe_place *places)
{
    struct probe_instruction *instruction = &plan->instructions[plan->count];
    uint32_t end = at;
    plan->of_unit[at] = plan->count;
    while (end < plan->units && code[2 * end] == EXTENDED_ARGUMENT)
        instruction->argument = instruction->argument << 8 | code[2 * end++ + 1];
    if (end == plan->units)
        return false;
    instruction->opcode = code[2 * end];
    instruction->argument = instruction->argument << 8 | code[2 * end++ + 1];
    while (plan->minor >= 11 && end < plan->units && code[2 * end] == CACHE)
        end++;
    instruction->first = at;
    instruction->end = end;
    instruction->line = places[at].line;
    instruction->target = PROBE_PLAN_NONE;
    find_flow(instruction, plan->minor);
    plan->count++;
    return true;
}

/* The unit that the instruction may jump to. Only 3.9 counts in bytes. */
static uint64_t unit_of_target(const struct probe_plan *plan, const struct probe_instruction *instruction)
{
    uint64_t argument = plan->minor == 9 ? instruction->argument / 2 : instruction->argument;
    switch (instruction->jump) {
    case PROBE_ABSOLUTE:
        return argument;
    case PROBE_BACKWARD:
        return argument <= instruction->end ? instruction->end - argument : UINT64_MAX;
    default:
        return instruction->end + argument;
    }
}

static bool find_targets(struct probe_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        struct probe_instruction *instruction = &plan->instructions[i];
        if (instruction->jump == PROBE_NO_JUMP)
            continue;
        uint64_t unit = unit_of_target(plan, instruction);
        if (unit >= plan->units || plan->of_unit[unit] == PROBE_PLAN_NONE)
            return false;
        instruction->target = plan->of_unit[unit];
    }
    return true;
}

/* ---- beginnings of lines ---- */

/* By what ways an instruction is reached. */
struct arrivals {
    bool begins;  /* some begin its line */
    bool goes_on; /* some do not */
    bool handles; /* exceptions, from wherever they were raised */
    bool back;    /* jumps back, which begin its line again */
};

/* Where lines may begin: in 3.11 only behind the first RESUME. */
static uint32_t first_traced(const struct probe_plan *plan)
{
    return plan->minor >= 11 ? plan->beginning + 1 : 0;
}

/* 3.11: where calls begin, go on, pause and end. What an exception ends has a probe of its own (probe_code.c). False when
 * there is no beginning. */
static bool find_calls(struct probe_plan *plan)
{
    bool makes_generator = false;
    plan->beginning = PROBE_PLAN_NONE;
    for (uint32_t i = 0; plan->minor >= 11 && i < plan->count; i++) {
        struct probe_instruction *instruction = &plan->instructions[i];
        instruction->leaves = instruction->opcode == RETURN || instruction->opcode == YIELD;
        instruction->is_sent =
            instruction->opcode == YIELD && i > 0 && plan->instructions[i - 1].opcode == SEND;
        instruction->goes_on = instruction->opcode == RESUME && plan->beginning != PROBE_PLAN_NONE;
        instruction->begins = instruction->opcode == RESUME && plan->beginning == PROBE_PLAN_NONE;
        makes_generator |= instruction->opcode == RETURN_GENERATOR;
        if (instruction->begins) {
            plan->beginning = i;
            plan->entry = makes_generator ? i : 0;
        }
        plan->probes += instruction->leaves + instruction->goes_on + instruction->begins;
    }
    plan->probes += plan->minor >= 11;
    return plan->minor < 11 || plan->beginning != PROBE_PLAN_NONE;
}

static void arrive(struct arrivals *arrivals, const struct probe_plan *plan, uint32_t from, uint32_t to)
{
    const struct probe_instruction *source = &plan->instructions[from], *target = &plan->instructions[to];
    bool sends = plan->minor >= 11 && target->opcode == SEND; /* waits for the same thing again */
    if (to <= from && !(sends && source->line == target->line))
        arrivals[to].back = true;
    else if (source->line != target->line)
        arrivals[to].begins = true;
    else
        arrivals[to].goes_on = true;
}

static void find_arrivals(struct arrivals *arrivals, const struct probe_plan *plan, uint32_t first)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct probe_instruction *instruction = &plan->instructions[i];
        if (i + 1 < plan->count && !instruction->ends)
            arrive(arrivals, plan, i, i + 1);
        if (instruction->jump == PROBE_SETUP)
            arrivals[instruction->target].handles = true;
        else if (instruction->jump != PROBE_NO_JUMP)
            arrive(arrivals, plan, i, instruction->target);
    }
    if (first < plan->count)
        arrivals[first] = (struct arrivals){.begins = true, .back = arrivals[first].back};
}

static enum probe_when when_of(const struct probe_instruction *instruction, const struct arrivals *arrivals)
{
    if (instruction->opcode == RERAISE && instruction->argument > 0)
        return PROBE_MARK;
    if (arrivals->handles || (arrivals->begins && arrivals->goes_on))
        return PROBE_IF_NEW;
    return arrivals->begins ? PROBE_ALWAYS : PROBE_NEVER;
}

/* 3.9 looks only at where the code of a line begins, not at where the program came from. Exceptions are another matter:
 * there a line begins unless the first instruction of a line has raised it, or the first line. */
static enum probe_when when_in_range(struct probe_plan *plan, const struct arrivals *arrivals, uint32_t i)
{
    struct probe_instruction *instruction = &plan->instructions[i];
    if (i > 0 && instruction->line == plan->instructions[i - 1].line)
        return arrivals[i].handles ? PROBE_IF_NEW : PROBE_NEVER;
    instruction->is_quiet = i == 0 || instruction->opcode == RERAISE_9 || instruction->opcode == RAISE;
    return PROBE_ALWAYS;
}

/* Jumps back whose target does not count all that arrive there. */
static void count_jumps(struct probe_plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        struct probe_instruction *instruction = &plan->instructions[i];
        if (instruction->jump == PROBE_NO_JUMP || instruction->jump == PROBE_SETUP || instruction->target > i)
            continue;
        const struct probe_instruction *target = &plan->instructions[instruction->target];
        bool sends = plan->minor >= 11 && target->opcode == SEND && target->line == instruction->line;
        instruction->counts = target->when != PROBE_ALWAYS && target->line && !sends;
        instruction->detour = instruction->counts && !instruction->ends;
    }
}

static void place_probes(struct probe_plan *plan, const struct arrivals *arrivals, uint32_t first)
{
    for (uint32_t i = first; i < plan->count; i++) {
        struct probe_instruction *instruction = &plan->instructions[i];
        if (!instruction->line || (plan->minor >= 11 && instruction->opcode == RESUME))
            continue;
        if (plan->minor == 9)
            instruction->when = (uint8_t)when_in_range(plan, arrivals, i);
        else
            instruction->when = (uint8_t)when_of(instruction, &arrivals[i]);
    }
    count_jumps(plan);
    for (uint32_t i = 0; i < plan->count; i++)
        plan->probes += (plan->instructions[i].when != PROBE_NEVER) + plan->instructions[i].counts;
}

static bool find_lines(struct probe_plan *plan, const struct probe_handler *handlers, size_t handler_count)
{
    uint32_t first = first_traced(plan);
    struct arrivals *arrivals = calloc(plan->count, sizeof *arrivals);
    bool sound = arrivals != NULL;
    if (sound)
        find_arrivals(arrivals, plan, first);
    for (size_t i = 0; sound && i < handler_count; i++) {
        const struct probe_handler *handler = &handlers[i];
        sound = handler->start < handler->end && handler->end <= plan->units &&
                handler->target < plan->units && plan->of_unit[handler->start] != PROBE_PLAN_NONE &&
                plan->of_unit[handler->end] != PROBE_PLAN_NONE &&
                plan->of_unit[handler->target] != PROBE_PLAN_NONE;
        if (sound)
            arrivals[plan->of_unit[handler->target]].handles = true;
    }
    if (sound)
        place_probes(plan, arrivals, first);
    free(arrivals);
    return sound;
}

static bool lies_in_entry(const struct probe_plan *plan, uint32_t instruction)
{
    uint32_t unit = plan->instructions[instruction].first, first = plan->instructions[plan->entry].first;
    return unit > first && unit < first + PROBE_PLAN_ENTRY_UNITS;
}

static void find_ways_back(struct probe_plan *plan, const struct probe_handler *handlers,
                           size_t handler_count)
{
    for (uint32_t i = 0; plan->minor >= 11 && i < plan->count; i++) {
        const struct probe_instruction *instruction = &plan->instructions[i];
        if (instruction->target != PROBE_PLAN_NONE)
            plan->comes_back |= lies_in_entry(plan, instruction->target);
        plan->comes_back |= instruction->opcode == YIELD && lies_in_entry(plan, i);
    }
    for (size_t i = 0; plan->minor >= 11 && i < handler_count; i++)
        plan->comes_back |= lies_in_entry(plan, plan->of_unit[handlers[i].target]);
}

bool probe_plan_init(struct probe_plan *plan, int minor, const uint8_t *code, size_t units,
                     const struct probe_place *places, const struct probe_handler *handlers,
                     size_t handler_count)
{
    *plan = (struct probe_plan){.minor = minor, .units = (uint32_t)units};
    if (minor < 9 || minor > 11 || units == 0 || units > UNITS_MAX)
        return false;
    plan->instructions = calloc(units, sizeof *plan->instructions);
    plan->of_unit = malloc((units + 1) * sizeof *plan->of_unit);
    if (!plan->instructions || !plan->of_unit)
        return false;
    for (uint32_t i = 0; i <= plan->units; i++)
        plan->of_unit[i] = PROBE_PLAN_NONE;
    for (uint32_t at = 0; at < plan->units; at = plan->instructions[plan->count - 1].end)
        if (!take(plan, code, at, places))
            return false;
    plan->of_unit[plan->units] = plan->count;
    if (!find_calls(plan) || !find_targets(plan) || !find_lines(plan, handlers, handler_count))
        return false;
    find_ways_back(plan, handlers, handler_count);
    return plan->probes;
}

void probe_plan_clear(struct probe_plan *plan)
{
    free(plan->instructions);
    free(plan->of_unit);
    *plan = (struct probe_plan){0};
}
