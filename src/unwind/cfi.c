#include "unwind/cfi.h"

#define REMEMBERED_MAX 16

/* Registers by their DWARF numbers on x86-64. */
enum {
    REGISTER_RAX = 0,
    REGISTER_RBX = 3,
    REGISTER_RBP = 6,
    REGISTER_RSP = 7,
    REGISTER_RETURN = 16,
    REGISTER_COUNT = 17
};

/* Instructions: DW_CFA_*. */
enum {
    DO_NOP = 0x00,
    DO_SET_LOCATION = 0x01,
    DO_ADVANCE_1 = 0x02,
    DO_ADVANCE_2 = 0x03,
    DO_ADVANCE_4 = 0x04,
    DO_OFFSET = 0x05,
    DO_RESTORE = 0x06,
    DO_UNDEFINED = 0x07,
    DO_SAME_VALUE = 0x08,
    DO_REGISTER = 0x09,
    DO_REMEMBER = 0x0a,
    DO_RESTORE_STATE = 0x0b,
    DO_CFA = 0x0c,
    DO_CFA_REGISTER = 0x0d,
    DO_CFA_OFFSET = 0x0e,
    DO_CFA_EXPRESSION = 0x0f,
    DO_EXPRESSION = 0x10,
    DO_OFFSET_SIGNED = 0x11,
    DO_CFA_SIGNED = 0x12,
    DO_CFA_OFFSET_SIGNED = 0x13,
    DO_VALUE_OFFSET = 0x14,
    DO_VALUE_OFFSET_SIGNED = 0x15,
    DO_VALUE_EXPRESSION = 0x16,
    DO_ARGUMENTS_SIZE = 0x2e,
    DO_OFFSET_NEGATIVE = 0x2f,
    DO_SHORT = 0xc0, /* mask of the three short forms */
    DO_ADVANCE_SHORT = 0x40,
    DO_OFFSET_SHORT = 0x80,
    DO_RESTORE_SHORT = 0xc0,
};

/* Operators of expressions: DW_OP_*. */
enum {
    OP_DEREFERENCE = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_PLUS_CONSTANT = 0x23,
    OP_SHIFT_LEFT = 0x24,
    OP_GREATER_EQUAL = 0x2a,
    OP_LITERAL = 0x30,
    OP_BASE_REGISTER = 0x70,
    OP_BASE_REGISTER_LAST = 0x8f,
};

struct run {
    const struct eh_frame_description *description;
    cfi_emit *emit;
    void *context;
    uint64_t address;
    struct rows_rule now;
    struct rows_rule initial;
    struct rows_rule remembered[REMEMBERED_MAX];
    unsigned depth;
    bool emits; /* the CIE's own instructions give no rows */
};

static const struct rows_rule unknown = {.cfa = ROWS_CFA_UNKNOWN};

/* What is followed of this register, or NULL. */
static struct rows_saved *saved_of(struct rows_rule *rule, uint64_t number)
{
    switch (number) {
    case REGISTER_RBP:
        return &rule->saved[ROWS_FRAME];
    case REGISTER_RBX:
        return &rule->saved[ROWS_BASE];
    case REGISTER_RETURN:
        return &rule->saved[ROWS_RETURN];
    }
    return NULL;
}

static void set_saved(struct run *run, uint64_t number, enum rows_place place, int64_t offset)
{
    struct rows_saved *saved = saved_of(&run->now, number);
    if (number == REGISTER_RAX) /* what is saved only in order to be replaced: an exception travels in it */
        run->now.saved[ROWS_RETURN].may_throw = place == ROWS_AT_CFA;
    if (!saved)
        return;
    if (offset != (int16_t)offset)
        place = ROWS_LOST;
    *saved = (struct rows_saved){.place = (uint8_t)place, .offset = place == ROWS_LOST ? 0 : (int16_t)offset};
}

static void set_cfa(struct run *run, uint64_t number, int64_t offset)
{
    bool usable = number < REGISTER_RETURN && offset == (int32_t)offset;
    run->now.cfa = usable ? ROWS_CFA_REGISTER : ROWS_CFA_UNKNOWN;
    run->now.cfa_register = usable ? (uint8_t)number : 0;
    run->now.cfa_offset = usable ? (int32_t)offset : 0;
    run->now.cfa_addend = 0;
}

static int64_t factored(const struct run *run, uint64_t value)
{
    return (int64_t)(value * (uint64_t)run->description->data_factor);
}

/* "register + offset" at the front of an expression. */
static bool get_base(struct cursor *expression, unsigned *number, int64_t *offset)
{
    uint8_t code = cursor_get_u8(expression);
    *number = code - OP_BASE_REGISTER;
    *offset = eh_frame_get_sleb(expression);
    return !expression->failed && code >= OP_BASE_REGISTER && code <= OP_BASE_REGISTER_LAST;
}

/* The linkers' PLT: rsp + 8 + ((rip & 15) >= addend) * 8; gives the addend. */
static bool match_plt(struct cursor expression, uint8_t *addend)
{
    static const uint8_t front[] = {OP_BASE_REGISTER + REGISTER_RETURN, 0, OP_LITERAL + 15, OP_AND};
    static const uint8_t back[] = {OP_GREATER_EQUAL, OP_LITERAL + 3, OP_SHIFT_LEFT, OP_PLUS};
    for (unsigned index = 0; index < sizeof front; index++)
        if (cursor_get_u8(&expression) != front[index])
            return false;
    *addend = (uint8_t)(cursor_get_u8(&expression) - OP_LITERAL);
    for (unsigned index = 0; index < sizeof back; index++)
        if (cursor_get_u8(&expression) != back[index])
            return false;
    return !expression.failed && !cursor_left(&expression) && *addend < 16;
}

static void set_cfa_expression(struct run *run, struct cursor expression)
{
    unsigned number;
    int64_t offset;
    uint8_t addend;
    run->now.cfa = ROWS_CFA_UNKNOWN;
    if (!get_base(&expression, &number, &offset))
        return;
    set_cfa(run, number, offset);
    if (!cursor_left(&expression) || run->now.cfa == ROWS_CFA_UNKNOWN)
        return;
    if (match_plt(expression, &addend)) {
        run->now.cfa = ROWS_CFA_PLT;
        run->now.cfa_addend = addend;
        return;
    }
    bool loaded = cursor_get_u8(&expression) == OP_DEREFERENCE;
    uint64_t more = 0;
    if (cursor_left(&expression)) {
        loaded &= cursor_get_u8(&expression) == OP_PLUS_CONSTANT;
        more = cursor_get_varint_max(&expression, INT16_MAX);
    }
    loaded &= !expression.failed && !cursor_left(&expression);
    run->now.cfa = loaded ? ROWS_CFA_LOADED : ROWS_CFA_UNKNOWN;
    run->now.cfa_addend = (int16_t)more;
}

static void set_saved_expression(struct run *run, uint64_t of, struct cursor expression)
{
    unsigned number;
    int64_t offset;
    bool simple = get_base(&expression, &number, &offset) && !cursor_left(&expression);
    if (simple && number == REGISTER_RBP)
        set_saved(run, of, ROWS_AT_FRAME, offset);
    else if (simple && number == REGISTER_RSP)
        set_saved(run, of, ROWS_AT_STACK, offset);
    else
        set_saved(run, of, ROWS_LOST, 0);
}

/* The rule as a walker sees it: kinds that need no CFA lose what would only make rules differ. */
static struct rows_rule settled(const struct run *run)
{
    struct rows_rule rule = run->now;
    uint8_t place = rule.saved[ROWS_RETURN].place;
    if (run->description->is_signal_frame)
        return (struct rows_rule){.cfa = ROWS_CFA_SIGNAL};
    if (place == ROWS_SAME)
        return (struct rows_rule){.cfa = ROWS_CFA_END};
    if (rule.cfa == ROWS_CFA_UNKNOWN || place == ROWS_LOST)
        return unknown;
    return rule;
}

static bool advance(struct run *run, uint64_t delta)
{
    struct rows_rule rule = settled(run);
    if (!delta || !run->emits)
        return true;
    uint64_t from = run->address;
    run->address += delta;
    return run->address > from && run->address <= run->description->end &&
           run->emit(run->context, from, &rule);
}

static void restore(struct run *run, uint64_t number)
{
    struct rows_saved *saved = saved_of(&run->now, number);
    if (saved)
        *saved = *saved_of(&run->initial, number);
}

/* A return address that is "undefined" marks the outermost frame: ROWS_SAME stands for it, since a return
 * address that is "the same" says nothing else. */
static void undefine(struct run *run, uint64_t number)
{
    set_saved(run, number, number == REGISTER_RETURN ? ROWS_SAME : ROWS_LOST, 0);
}

static bool set_location(struct run *run, struct cursor *program)
{
    const struct eh_frame_description *description = run->description;
    uint64_t place = description->program_address + (uint64_t)(program->at - description->program.at);
    uint64_t target = eh_frame_get_pointer(program, description->pointer_encoding, place, 0);
    return !program->failed && target >= run->address && advance(run, target - run->address);
}

static bool remember(struct run *run)
{
    if (run->depth == REMEMBERED_MAX)
        return false;
    run->remembered[run->depth++] = run->now;
    return true;
}

static bool restore_state(struct run *run)
{
    if (!run->depth)
        return false;
    run->now = run->remembered[--run->depth];
    return true;
}

/* The instructions about the CFA. False: not one of them. */
static bool do_cfa(struct run *run, uint8_t instruction, struct cursor *program)
{
    uint64_t number = run->now.cfa_register;
    switch (instruction) {
    case DO_CFA:
        number = cursor_get_varint(program);
        set_cfa(run, number, (int64_t)cursor_get_varint(program));
        return true;
    case DO_CFA_SIGNED:
        number = cursor_get_varint(program);
        set_cfa(run, number, factored(run, (uint64_t)eh_frame_get_sleb(program)));
        return true;
    case DO_CFA_REGISTER:
        set_cfa(run, cursor_get_varint(program), run->now.cfa_offset);
        return true;
    case DO_CFA_OFFSET:
        set_cfa(run, number, (int64_t)cursor_get_varint(program));
        return true;
    case DO_CFA_OFFSET_SIGNED:
        set_cfa(run, number, factored(run, (uint64_t)eh_frame_get_sleb(program)));
        return true;
    case DO_CFA_EXPRESSION:
        set_cfa_expression(run, cursor_get_counted(program));
        return true;
    }
    return false;
}

/* The instructions about one register, its number first. False: not one of them. */
static bool do_register(struct run *run, uint8_t instruction, struct cursor *program)
{
    if (instruction == DO_ARGUMENTS_SIZE) {
        cursor_get_varint(program);
        return true;
    }
    if (!(instruction >= DO_OFFSET && instruction <= DO_REGISTER) && instruction != DO_OFFSET_NEGATIVE &&
        !(instruction >= DO_EXPRESSION && instruction <= DO_VALUE_EXPRESSION))
        return false;
    uint64_t number = cursor_get_varint(program);
    if (instruction == DO_OFFSET)
        set_saved(run, number, ROWS_AT_CFA, factored(run, cursor_get_varint(program)));
    else if (instruction == DO_OFFSET_SIGNED)
        set_saved(run, number, ROWS_AT_CFA, factored(run, (uint64_t)eh_frame_get_sleb(program)));
    else if (instruction == DO_OFFSET_NEGATIVE)
        set_saved(run, number, ROWS_AT_CFA, factored(run, -cursor_get_varint(program)));
    else if (instruction == DO_RESTORE)
        restore(run, number);
    else if (instruction == DO_UNDEFINED)
        undefine(run, number);
    else if (instruction == DO_SAME_VALUE)
        set_saved(run, number, ROWS_SAME, 0);
    else if (instruction == DO_REGISTER)
        set_saved(run, number, ROWS_IN, (int64_t)cursor_get_varint_max(program, REGISTER_COUNT - 2));
    else if (instruction == DO_EXPRESSION)
        set_saved_expression(run, number, cursor_get_counted(program));
    else { /* a value that is computed: its operand is passed over */
        if (instruction == DO_VALUE_EXPRESSION)
            cursor_get_counted(program);
        else
            cursor_get_varint(program);
        set_saved(run, number, ROWS_LOST, 0);
    }
    return true;
}

/* The instructions that move on or keep and restore. False: damaged or unknown. */
static bool do_flow(struct run *run, uint8_t instruction, struct cursor *program)
{
    uint64_t factor = run->description->code_factor;
    switch (instruction) {
    case DO_NOP:
        return true;
    case DO_SET_LOCATION:
        return set_location(run, program);
    case DO_ADVANCE_1:
        return advance(run, cursor_get_u8(program) * factor);
    case DO_ADVANCE_2:
        return advance(run, cursor_get_u16(program) * factor);
    case DO_ADVANCE_4:
        return advance(run, cursor_get_u32(program) * factor);
    case DO_REMEMBER:
        return remember(run);
    case DO_RESTORE_STATE:
        return restore_state(run);
    }
    return false;
}

static bool do_instruction(struct run *run, struct cursor *program)
{
    uint8_t instruction = cursor_get_u8(program), low = instruction & (uint8_t)~DO_SHORT;
    switch (instruction & DO_SHORT) {
    case DO_ADVANCE_SHORT:
        return advance(run, low * run->description->code_factor);
    case DO_OFFSET_SHORT:
        set_saved(run, low, ROWS_AT_CFA, factored(run, cursor_get_varint(program)));
        return true;
    case DO_RESTORE_SHORT:
        restore(run, low);
        return true;
    }
    return do_flow(run, instruction, program) || do_cfa(run, instruction, program) ||
           do_register(run, instruction, program);
}

static bool run_program(struct run *run, struct cursor program)
{
    while (cursor_left(&program))
        if (!do_instruction(run, &program) || program.failed)
            return false;
    return true;
}

bool cfi_run(const struct eh_frame_description *description, cfi_emit *emit, void *context)
{
    struct run run = {
        .description = description, .emit = emit, .context = context, .address = description->start};
    if (description->return_register != REGISTER_RETURN || !run_program(&run, description->initial))
        return false;
    run.initial = run.now;
    run.depth = 0;
    run.emits = true;
    if (!run_program(&run, description->program))
        return false;
    struct rows_rule rule = settled(&run);
    return run.address >= description->end || emit(context, run.address, &rule);
}

bool cfi_emit_rows(const struct cfi_function *function, size_t row, cfi_emit *emit, void *context)
{
    for (; row < function->row_count; row++)
        if (!emit(context, function->rows[row].address, &function->rows[row].rule))
            return false;
    return true;
}
