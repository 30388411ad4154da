#include "collect/inside/probe_code.h"

#include <stdlib.h>

enum {
    POP_TOP = 1,
    UNARY_POSITIVE = 10,
    LOAD_CONSTANT = 100,
    JUMP_ABSOLUTE = 113,
    JUMP_FORWARD = 110,
    RERAISE = 119,
    SEND = 123,
    JUMP_BACKWARD_QUIETLY = 134,
    JUMP_BACKWARD = 140,
    EXTENDED_ARGUMENT = 144,
};

#define SENT_UNITS     2 /* JUMP_FORWARD and SEND */
#define LOCATION_UNITS 8 /* that one row of 3.11's table can have */

/* Where an instruction of the plan has come to lie, in units. */
struct position {
    uint32_t entry; /* with its probe */
    uint32_t body;  /* behind that */
    uint32_t at;    /* itself, behind the probe of a jump */
    uint32_t width; /* of a jump, with what extends its argument */
    uint32_t end;   /* behind all of it */
    uint32_t detour, detour_end;
    uint32_t detour_width; /* of the jump at its end */
};

struct assembly {
    const struct probe_source *source;
    struct probe_plan plan;
    struct position
        *positions; /* one more than there are instructions: the end of the code, before detours */
    struct probe_handler *handlers;
    size_t handler_count;
    struct probe_code *made;
    uint32_t next_probe;
    uint32_t arrival, arrival_end, arrival_width; /* where calls come in, and the width of the jump there */
    uint32_t exit, exit_end;                      /* where calls that an exception ends go out */
    /* of the table of lines that is being written */
    uint32_t line;    /* so far */
    uint32_t pending; /* units that have it, in 3.9 and 3.10 */
    struct probe_place place;
};

/* ---- reading the table of exceptions ---- */

static bool read_number(const struct probe_source *source, size_t *at, uint32_t *number)
{
    uint64_t value = 0;
    uint8_t byte;
    do {
        if (*at >= source->handlers_size || value >> 32)
            return false;
        byte = source->handlers[(*at)++];
        value = value << 6 | (byte & 0x3f);
    } while (byte & 0x40);
    *number = (uint32_t)value;
    return value <= UINT32_MAX;
}

static bool read_handlers(struct assembly *assembly)
{
    const struct probe_source *source = assembly->source;
    assembly->handlers = calloc(source->handlers_size / 4 + 1, sizeof *assembly->handlers);
    for (size_t at = 0; assembly->handlers && at < source->handlers_size;) {
        struct probe_handler *handler = &assembly->handlers[assembly->handler_count++];
        uint32_t length;
        if (!read_number(source, &at, &handler->start) || !read_number(source, &at, &length) ||
            !read_number(source, &at, &handler->target) || !read_number(source, &at, &handler->depth))
            return false;
        handler->end = handler->start + length;
    }
    return assembly->handlers != NULL;
}

/* ---- where everything comes to lie ---- */

static uint32_t units_with_argument(uint32_t argument)
{
    return 1 + (argument > 0xff) + (argument > 0xffff) + (argument > 0xffffff);
}

static uint32_t units_of_probe(const struct assembly *assembly, uint32_t probe)
{
    return units_with_argument(assembly->source->constants + probe) + 2;
}

/* 3.11: POP_TOP and a jump to the beginning; a probe and RERAISE. */
static void place_ends(struct assembly *assembly, uint32_t at, uint32_t probe)
{
    if (assembly->plan.minor < 11)
        return;
    assembly->arrival = at;
    assembly->arrival_end = assembly->exit = at + 1 + assembly->arrival_width;
    assembly->exit_end = assembly->exit + units_of_probe(assembly, probe) + 1;
}

static void place_detours(struct assembly *assembly, uint32_t at, uint32_t probe)
{
    for (uint32_t i = 0; i < assembly->plan.count; i++) {
        if (!assembly->plan.instructions[i].detour)
            continue;
        assembly->positions[i].detour = at;
        at += units_of_probe(assembly, probe++) + assembly->positions[i].detour_width;
        assembly->positions[i].detour_end = at;
    }
    place_ends(assembly, at, probe);
}

/* Probes are numbered in the order in which they lie in the code. */
static void place_all(struct assembly *assembly)
{
    uint32_t at = 0, probe = 0;
    for (uint32_t i = 0; i < assembly->plan.count; i++) {
        const struct probe_instruction *instruction = &assembly->plan.instructions[i];
        struct position *position = &assembly->positions[i];
        position->entry = at;
        if (instruction->when != PROBE_NEVER || instruction->begins)
            at += units_of_probe(assembly, probe++);
        position->body = at;
        if ((instruction->counts && !instruction->detour) || instruction->leaves)
            at += units_of_probe(assembly, probe++);
        if (instruction->is_sent)
            at += SENT_UNITS;
        position->at = at;
        at += position->width;
        if (instruction->goes_on)
            at += units_of_probe(assembly, probe++);
        position->end = at;
    }
    assembly->positions[assembly->plan.count] = (struct position){.entry = at, .body = at, .at = at};
    place_detours(assembly, at, probe);
}

static bool jumps(const struct probe_instruction *instruction)
{
    return instruction->jump != PROBE_NO_JUMP;
}

/* Where a jump goes: a jump back that has its own probe goes past that of its target. */
static uint32_t destination(const struct assembly *assembly, uint32_t i)
{
    const struct probe_instruction *instruction = &assembly->plan.instructions[i];
    const struct position *target = &assembly->positions[instruction->target];
    if (instruction->detour)
        return assembly->positions[i].detour;
    return instruction->counts ? target->body : target->entry;
}

static uint32_t argument_of_jump(const struct assembly *assembly, uint32_t i)
{
    const struct probe_instruction *instruction = &assembly->plan.instructions[i];
    uint32_t to = destination(assembly, i), scale = assembly->plan.minor == 9 ? 2 : 1;
    uint32_t end = assembly->positions[i].at + assembly->positions[i].width;
    if (instruction->jump == PROBE_ABSOLUTE)
        return to * scale;
    return (to >= end ? to - end : end - to) * scale;
}

/* From the end of a detour to where the jump was to go. */
static uint32_t argument_of_detour(const struct assembly *assembly, uint32_t i)
{
    uint32_t to = assembly->positions[assembly->plan.instructions[i].target].body;
    if (assembly->plan.minor >= 11)
        return assembly->positions[i].detour_end - to;
    return assembly->plan.minor == 9 ? to * 2 : to;
}

static uint32_t argument_of_arrival(const struct assembly *assembly)
{
    return assembly->arrival_end - assembly->positions[assembly->plan.entry].entry;
}

/* From an instruction that pauses to where the SEND before it goes in the end. */
static uint32_t argument_of_sent(const struct assembly *assembly, uint32_t i)
{
    return destination(assembly, i - 1) - assembly->positions[i].at;
}

static bool grow(uint32_t *width, uint32_t argument)
{
    uint32_t needed = units_with_argument(argument);
    if (needed <= *width)
        return false;
    *width = needed;
    return true;
}

/* Places all until the arguments of jumps have the room that they need. */
static void settle(struct assembly *assembly)
{
    uint32_t count = assembly->plan.count;
    for (uint32_t i = 0; i < count; i++) {
        const struct probe_instruction *instruction = &assembly->plan.instructions[i];
        assembly->positions[i].width = jumps(instruction) ? 1 : instruction->end - instruction->first;
        assembly->positions[i].detour_width = 1;
    }
    assembly->arrival_width = 1;
    for (bool grown = true; grown;) {
        place_all(assembly);
        grown = assembly->plan.minor >= 11 && grow(&assembly->arrival_width, argument_of_arrival(assembly));
        for (uint32_t i = 0; i < count; i++) {
            if (jumps(&assembly->plan.instructions[i]))
                grown |= grow(&assembly->positions[i].width, argument_of_jump(assembly, i));
            if (assembly->plan.instructions[i].detour)
                grown |= grow(&assembly->positions[i].detour_width, argument_of_detour(assembly, i));
        }
    }
}

/* ---- code ---- */

static void put_unit(struct assembly *assembly, uint8_t opcode, uint32_t argument)
{
    bytes_put_u8(&assembly->made->code, opcode);
    bytes_put_u8(&assembly->made->code, (uint8_t)argument);
}

/* In `width` units, also where the argument needs fewer. */
static void put(struct assembly *assembly, uint8_t opcode, uint32_t argument, uint32_t width)
{
    for (uint32_t shift = (width - 1) * 8; shift; shift -= 8)
        put_unit(assembly, EXTENDED_ARGUMENT, argument >> shift & 0xff);
    put_unit(assembly, opcode, argument & 0xff);
}

static void put_probe(struct assembly *assembly, struct probe_line line)
{
    uint32_t probe = assembly->next_probe++, constant = assembly->source->constants + probe;
    assembly->made->probes[probe] = line;
    put(assembly, LOAD_CONSTANT, constant, units_with_argument(constant));
    put_unit(assembly, UNARY_POSITIVE, 0);
    put_unit(assembly, POP_TOP, 0);
}

/* 3.11 has other instructions for jumping forward and back; a detour lies ahead. */
static uint8_t opcode_of_jump(const struct assembly *assembly, const struct probe_instruction *instruction)
{
    static const uint8_t forward[] = {128, 129, 114, 115};
    if (!instruction->detour || assembly->plan.minor < 11)
        return instruction->opcode;
    return forward[instruction->opcode - 173];
}

/* The interpreter looks for the SEND of a generator that it throws an exception into in the unit before the one where it
 * pauses, and for its argument there. It is never run. */
static void put_sent(struct assembly *assembly, uint32_t i)
{
    put_unit(assembly, JUMP_FORWARD, 1);
    put_unit(assembly, SEND, argument_of_sent(assembly, i));
}

static void put_instruction(struct assembly *assembly, uint32_t i)
{
    const struct probe_instruction *instruction = &assembly->plan.instructions[i];
    const struct probe_plan *plan = &assembly->plan;
    if (instruction->begins)
        put_probe(assembly, (struct probe_line){.when = PROBE_ENTER});
    else if (instruction->when != PROBE_NEVER)
        put_probe(assembly, (struct probe_line){.line = instruction->line,
                                                .when = instruction->when,
                                                .is_quiet = instruction->is_quiet});
    if (instruction->leaves)
        put_probe(assembly, (struct probe_line){.line = instruction->line, .when = PROBE_LEAVE});
    if (instruction->is_sent)
        put_sent(assembly, i);
    if (instruction->counts && !instruction->detour)
        put_probe(assembly, (struct probe_line){.line = plan->instructions[instruction->target].line,
                                                .when = PROBE_ALWAYS});
    if (jumps(instruction))
        put(assembly, opcode_of_jump(assembly, instruction), argument_of_jump(assembly, i),
            assembly->positions[i].width);
    else
        bytes_put(&assembly->made->code, assembly->source->code + instruction->first * PROBE_PLAN_UNIT_BYTES,
                  (instruction->end - instruction->first) * PROBE_PLAN_UNIT_BYTES);
    if (instruction->goes_on)
        put_probe(assembly, (struct probe_line){.line = instruction->line, .when = PROBE_ENTER});
}

static void put_detour(struct assembly *assembly, uint32_t i)
{
    uint32_t width = assembly->positions[i].detour_width;
    uint32_t target = assembly->plan.instructions[i].target;
    put_probe(assembly,
              (struct probe_line){.line = assembly->plan.instructions[target].line, .when = PROBE_ALWAYS});
    put(assembly, assembly->plan.minor >= 11 ? JUMP_BACKWARD : JUMP_ABSOLUTE, argument_of_detour(assembly, i),
        width);
}

/* An exception that nothing handles ends the call, and goes on as if from where it was raised. */
static void put_ends(struct assembly *assembly)
{
    if (assembly->plan.minor < 11)
        return;
    put_unit(assembly, POP_TOP, 0);
    put(assembly, JUMP_BACKWARD_QUIETLY, argument_of_arrival(assembly), assembly->arrival_width);
    put_probe(assembly, (struct probe_line){.when = PROBE_LEAVE});
    put_unit(assembly, RERAISE, 1);
    assembly->made->arrival = assembly->arrival;
    assembly->made->entry = assembly->plan.instructions[assembly->plan.entry].first;
    assembly->made->comes_back = assembly->plan.comes_back;
}

/* ---- the table of lines ---- */

/* 3.11: numbers of six bits at a time, the least first. */
static void put_small(struct bytes *table, uint32_t number)
{
    for (; number >= 64; number >>= 6)
        bytes_put_u8(table, 64 | (number & 63));
    bytes_put_u8(table, (uint8_t)number);
}

static void put_location(struct assembly *assembly, uint32_t units, const struct probe_place *place)
{
    enum { LONG = 14, LINE_ONLY = 13, NONE = 15 };
    struct bytes *table = &assembly->made->lines;
    int64_t delta = (int64_t)place->line - assembly->line;
    uint32_t form =
        place->column >= 0 && place->end_column >= 0 && place->end_line >= place->line ? LONG : LINE_ONLY;
    if (!place->line)
        form = NONE;
    bytes_put_u8(table, (uint8_t)(0x80 | form << 3 | (units - 1)));
    if (form == NONE)
        return;
    put_small(table, (uint32_t)(delta < 0 ? -delta * 2 + 1 : delta * 2));
    assembly->line = place->line;
    if (form == LINE_ONLY)
        return;
    put_small(table, place->end_line - place->line);
    put_small(table, (uint32_t)place->column + 1);
    put_small(table, (uint32_t)place->end_column + 1);
}

static void put_pair(struct bytes *table, uint32_t bytes, int64_t delta)
{
    bytes_put_u8(table, (uint8_t)bytes);
    bytes_put_u8(table, (uint8_t)(int8_t)delta);
}

/* 3.10: bytes that have a line, and how far it is from the last one. */
static void put_range(struct assembly *assembly, uint32_t units, uint32_t line)
{
    enum { NO_LINE = -128 };
    struct bytes *table = &assembly->made->lines;
    uint32_t size = units * PROBE_PLAN_UNIT_BYTES;
    int64_t delta = line ? (int64_t)line - assembly->line : NO_LINE;
    for (; line && delta > 127; delta -= 127)
        put_pair(table, 0, 127);
    for (; line && delta < -127; delta += 127)
        put_pair(table, 0, -127);
    for (; size > 254; size -= 254) {
        put_pair(table, 254, delta);
        delta = line ? 0 : NO_LINE;
    }
    put_pair(table, size, delta);
    if (line)
        assembly->line = line;
}

/* 3.9: bytes since the last change of lines, and the change. */
static void put_change(struct assembly *assembly, uint32_t units, uint32_t line)
{
    struct bytes *table = &assembly->made->lines;
    uint32_t size = units * PROBE_PLAN_UNIT_BYTES;
    int64_t delta = (int64_t)line - assembly->line;
    for (; size > 255; size -= 255)
        put_pair(table, 255, 0);
    for (; delta > 127; delta -= 127, size = 0)
        put_pair(table, size, 127);
    for (; delta < -128; delta += 128, size = 0)
        put_pair(table, size, -128);
    put_pair(table, size, delta);
    assembly->line = line;
}

static void flush_lines(struct assembly *assembly)
{
    if (assembly->plan.minor == 10 && assembly->pending)
        put_range(assembly, assembly->pending, assembly->place.line);
    assembly->pending = 0;
}

/* The next units come from this place of the source. */
static void add_lines(struct assembly *assembly, uint32_t units, struct probe_place place)
{
    if (!units)
        return;
    if (assembly->plan.minor >= 11) {
        for (; units > LOCATION_UNITS; units -= LOCATION_UNITS)
            put_location(assembly, LOCATION_UNITS, &place);
        put_location(assembly, units, &place);
        return;
    }
    if (assembly->plan.minor == 9 && place.line != assembly->line) {
        put_change(assembly, assembly->pending, place.line);
        assembly->pending = 0;
    } else if (assembly->plan.minor == 10 && place.line != assembly->place.line) {
        flush_lines(assembly);
    }
    assembly->place = place;
    assembly->pending += units;
}

static struct probe_place line_alone(uint32_t line)
{
    return (struct probe_place){.line = line, .end_line = line, .column = -1, .end_column = -1};
}

static void make_lines(struct assembly *assembly)
{
    const struct position *positions = assembly->positions;
    const struct probe_plan *plan = &assembly->plan;
    assembly->line = assembly->source->first_line;
    for (uint32_t i = 0; i < plan->count; i++) {
        const struct probe_instruction *instruction = &plan->instructions[i];
        add_lines(assembly, positions[i].at - positions[i].entry,
                  instruction->begins ? assembly->source->places[instruction->first]
                                      : line_alone(instruction->line));
        add_lines(assembly, positions[i].width, assembly->source->places[instruction->first]);
        add_lines(assembly, positions[i].end - positions[i].at - positions[i].width,
                  line_alone(instruction->line));
    }
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->instructions[i].detour)
            add_lines(assembly, positions[i].detour_end - positions[i].detour,
                      line_alone(plan->instructions[i].line));
    add_lines(assembly, assembly->exit_end - assembly->arrival, line_alone(0));
    flush_lines(assembly);
}

/* ---- the table of exceptions ---- */

/* Numbers of six bits at a time, the greatest first; `mark` begins a row. */
static void put_number(struct bytes *table, uint32_t number, uint8_t mark)
{
    int shift = 30;
    while (shift > 0 && !(number >> shift))
        shift -= 6;
    for (; shift >= 0; shift -= 6, mark = 0)
        bytes_put_u8(table, (uint8_t)(mark | (shift ? 0x40 : 0) | (number >> shift & 0x3f)));
}

static void put_range_of_handler(struct assembly *assembly, uint32_t start, uint32_t end, uint32_t target,
                                 uint32_t depth)
{
    struct bytes *table = &assembly->made->handlers;
    put_number(table, start, 0x80);
    put_number(table, end - start, 0);
    put_number(table, target, 0);
    put_number(table, depth, 0);
}

static void put_handler(struct assembly *assembly, uint32_t start, uint32_t end,
                        const struct probe_handler *handler)
{
    put_range_of_handler(assembly, start, end,
                         assembly->positions[assembly->plan.of_unit[handler->target]].entry, handler->depth);
}

/* What nothing protects goes out: with an empty stack, and with where the exception was raised. */
static void put_exit(struct assembly *assembly, uint32_t start, uint32_t end)
{
    if (start < end)
        put_range_of_handler(assembly, start, end, assembly->exit, 1);
}

/* A detour is protected as the jump that it belongs to: a signal may be taken there. */
static void protect_detour(struct assembly *assembly, uint32_t i)
{
    uint32_t unit = assembly->plan.instructions[i].first;
    for (size_t k = 0; k < assembly->handler_count; k++) {
        const struct probe_handler *handler = &assembly->handlers[k];
        if (unit < handler->start || unit >= handler->end)
            continue;
        put_handler(assembly, assembly->positions[i].detour, assembly->positions[i].detour_end, handler);
        return;
    }
    put_exit(assembly, assembly->positions[i].detour, assembly->positions[i].detour_end);
}

static void make_handlers(struct assembly *assembly)
{
    const struct probe_plan *plan = &assembly->plan;
    if (plan->minor < 11)
        return;
    uint32_t at = assembly->positions[plan->beginning].at;
    for (size_t k = 0; k < assembly->handler_count; k++) {
        const struct probe_handler *handler = &assembly->handlers[k];
        uint32_t start = assembly->positions[plan->of_unit[handler->start]].entry;
        uint32_t end = assembly->positions[plan->of_unit[handler->end]].entry;
        put_exit(assembly, at, start);
        put_handler(assembly, start, end, handler);
        at = end;
    }
    put_exit(assembly, at, assembly->positions[plan->count].entry);
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->instructions[i].detour)
            protect_detour(assembly, i);
}

/* ---- all of it ---- */

static bool is_in_reach(const struct assembly *assembly)
{
    bool is = true;
    for (uint32_t i = 0; i < assembly->plan.count; i++)
        is = is && !(assembly->plan.instructions[i].is_sent && argument_of_sent(assembly, i) > UINT8_MAX);
    return is;
}

static bool assemble(struct assembly *assembly)
{
    const struct probe_plan *plan = &assembly->plan;
    struct probe_code *made = assembly->made;
    assembly->positions = calloc(plan->count + 1, sizeof *assembly->positions);
    made->probes = calloc(plan->probes, sizeof *made->probes);
    made->probe_count = plan->probes;
    if (!assembly->positions || !made->probes)
        return false;
    settle(assembly);
    if (!is_in_reach(assembly))
        return false;
    for (uint32_t i = 0; i < plan->count; i++)
        put_instruction(assembly, i);
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->instructions[i].detour)
            put_detour(assembly, i);
    put_ends(assembly);
    make_lines(assembly);
    make_handlers(assembly);
    return !made->code.failed && !made->lines.failed && !made->handlers.failed;
}

bool probe_code_make(struct probe_code *made, const struct probe_source *source)
{
    struct assembly assembly = {.source = source, .made = made};
    *made = (struct probe_code){0};
    bool done = read_handlers(&assembly) &&
                probe_plan_init(&assembly.plan, source->minor, source->code, source->units, source->places,
                                assembly.handlers, assembly.handler_count) &&
                assemble(&assembly);
    probe_plan_clear(&assembly.plan);
    free(assembly.positions);
    free(assembly.handlers);
    return done;
}

void probe_code_clear(struct probe_code *made)
{
    bytes_clear(&made->code);
    bytes_clear(&made->lines);
    bytes_clear(&made->handlers);
    free(made->probes);
    *made = (struct probe_code){0};
}
