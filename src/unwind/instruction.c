#include "unwind/instruction.h"

#include <string.h>

#define LENGTH_MAX 15

/* What follows an opcode: a ModRM byte, and constants. */
enum form {
    NONE = 0,
    BAD = 1,
    MODRM = 2,
    BYTE = 4,    /* a constant of 1 byte */
    WORD = 8,    /* of 2 */
    FULL = 16,   /* of 4, or 2 with the operand-size prefix */
    WIDE = 32,   /* as FULL, or 8 with REX.W */
    OFFSET = 64, /* an address of 8, or 4 with the address-size prefix */
    NEAR = 128,  /* a distance of 4, whatever the prefixes */
};

struct decoder {
    const uint8_t *code;
    size_t size;
    size_t at;
    unsigned map; /* 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a */
    uint8_t rex;
    uint8_t opcode;
    uint8_t modrm;
    size_t modrm_at;
    bool small_operand; /* prefix 66 */
    bool small_address; /* prefix 67 */
    bool is_vector;     /* VEX, EVEX */
};

static uint8_t next(struct decoder *decoder)
{
    return decoder->at < decoder->size ? decoder->code[decoder->at++] : (decoder->at = decoder->size + 1, 0);
}

static bool is_prefix(struct decoder *decoder, uint8_t byte)
{
    switch (byte) {
    case 0x66:
        decoder->small_operand = true;
        return true;
    case 0x67:
        decoder->small_address = true;
        return true;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x64:
    case 0x65:
    case 0xf0:
    case 0xf2:
    case 0xf3:
        return true;
    }
    return false;
}

/* VEX and EVEX: the map is in the prefix. */
static void read_vector(struct decoder *decoder, uint8_t first)
{
    decoder->is_vector = true;
    uint8_t byte = next(decoder);
    decoder->map = first == 0xc5 ? 1 : byte & (first == 0x62 ? 7 : 31);
    for (unsigned more = first == 0xc5 ? 0 : first == 0xc4 ? 1 : 2; more; more--)
        next(decoder);
    decoder->opcode = next(decoder);
    if (decoder->map == 5 || decoder->map == 6) /* half-precision: shaped like the first map */
        decoder->map = 2;
}

static void read_opcode(struct decoder *decoder)
{
    uint8_t byte = next(decoder);
    while (is_prefix(decoder, byte) && decoder->at <= LENGTH_MAX)
        byte = next(decoder);
    if ((byte & 0xf0) == 0x40) {
        decoder->rex = byte;
        byte = next(decoder);
    }
    if (byte == 0xc4 || byte == 0xc5 || byte == 0x62) {
        read_vector(decoder, byte);
        return;
    }
    if (byte == 0x0f) {
        byte = next(decoder);
        decoder->map = byte == 0x38 ? 2 : byte == 0x3a ? 3 : 1;
        if (decoder->map > 1)
            byte = next(decoder);
    }
    decoder->opcode = byte;
}

/* The one-byte opcodes from 0x40 on; the arithmetic below has a pattern of its own. */
static const uint8_t forms[0xc0] = {
    [0x63 - 0x40] = MODRM,
    [0x68 - 0x40] = FULL,
    MODRM | FULL,
    BYTE,
    MODRM | BYTE,
    [0x70 - 0x40] = BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    [0x80 - 0x40] = MODRM | BYTE,
    MODRM | FULL,
    BAD,
    MODRM | BYTE,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    [0x9a - 0x40] = BAD,
    [0xa0 - 0x40] = OFFSET,
    OFFSET,
    OFFSET,
    OFFSET,
    NONE,
    NONE,
    NONE,
    NONE,
    BYTE,
    FULL,
    [0xb0 - 0x40] = BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    WIDE,
    WIDE,
    WIDE,
    WIDE,
    WIDE,
    WIDE,
    WIDE,
    WIDE,
    [0xc0 - 0x40] = MODRM | BYTE,
    MODRM | BYTE,
    WORD,
    NONE,
    BAD,
    BAD,
    MODRM | BYTE,
    MODRM | FULL,
    WORD | BYTE,
    NONE,
    WORD,
    NONE,
    NONE,
    BYTE,
    BAD,
    NONE,
    [0xd0 - 0x40] = MODRM,
    MODRM,
    MODRM,
    MODRM,
    BAD,
    BAD,
    BAD,
    NONE,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    MODRM,
    [0xe0 - 0x40] = BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    BYTE,
    NEAR,
    NEAR,
    BAD,
    BYTE,
    NONE,
    NONE,
    NONE,
    NONE,
    [0xf6 - 0x40] = MODRM,
    MODRM,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    NONE,
    MODRM,
    MODRM,
};

static unsigned one_byte_form(uint8_t opcode)
{
    if (opcode >= 0x40)
        return forms[opcode - 0x40];
    static const uint8_t arithmetic[8] = {MODRM, MODRM, MODRM, MODRM, BYTE, FULL, BAD, BAD};
    return arithmetic[opcode & 7];
}

static unsigned two_byte_form(uint8_t opcode)
{
    switch (opcode) {
    case 0x80 ... 0x8f:
        return NEAR;
    case 0x05 ... 0x09:
    case 0x0b:
    case 0x0e:
    case 0x30 ... 0x35:
    case 0x37:
    case 0x77:
    case 0xa0 ... 0xa2:
    case 0xa8 ... 0xaa:
    case 0xc8 ... 0xcf:
        return NONE;
    case 0x70 ... 0x73:
    case 0xa4:
    case 0xac:
    case 0xba:
    case 0xc2:
    case 0xc4 ... 0xc6:
        return MODRM | BYTE;
    }
    return MODRM;
}

static unsigned form_of(const struct decoder *decoder)
{
    switch (decoder->map) {
    case 0:
        return one_byte_form(decoder->opcode);
    case 1:
        return two_byte_form(decoder->opcode);
    case 2:
        return MODRM;
    case 3:
        return MODRM | BYTE;
    }
    return BAD;
}

/* The ModRM byte, and the index byte and displacement that it asks for. */
static void read_modrm(struct decoder *decoder)
{
    decoder->modrm_at = decoder->at;
    decoder->modrm = next(decoder);
    unsigned mode = decoder->modrm >> 6, base = decoder->modrm & 7;
    if (mode == 3)
        return;
    if (base == 4)
        base = next(decoder) & 7;
    decoder->at += mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0;
}

static void skip_constants(struct decoder *decoder, unsigned form)
{
    size_t full = decoder->small_operand && !(decoder->rex & 8) ? 2 : 4;
    decoder->at += (form & BYTE ? 1 : 0) + (form & WORD ? 2 : 0) + (form & NEAR ? 4 : 0);
    decoder->at += form & FULL ? full : 0;
    decoder->at += form & WIDE ? (decoder->rex & 8 ? 8 : full) : 0;
    decoder->at += form & OFFSET ? (decoder->small_address ? 4 : 8) : 0;
    bool tests = !decoder->map && !decoder->is_vector && (decoder->opcode & 0xfe) == 0xf6;
    if (tests && (decoder->modrm & 0x38) < 0x10)
        decoder->at += decoder->opcode == 0xf6 ? 1 : full;
}

/* The distance that ends the instruction, from its first byte. */
static int64_t target_of(const struct decoder *decoder, unsigned form)
{
    int32_t distance = 0;
    if (form & NEAR)
        memcpy(&distance, decoder->code + decoder->at - 4, sizeof distance);
    else
        distance = (int8_t)decoder->code[decoder->at - 1];
    return (int64_t)decoder->at + distance;
}

/* Whether the register in the low bits of an opcode or ModRM byte is this one (0-15). */
static bool names(const struct decoder *decoder, uint8_t byte, unsigned number)
{
    return ((byte & 7u) | (decoder->rex & 1u) << 3) == number;
}

enum { RSP = 4, RBP = 5 };

/* Instructions with a ModRM byte that write the stack pointer, or the frame register from it. */
static enum instruction_kind kind_of_move(const struct decoder *decoder)
{
    unsigned opcode = decoder->opcode, middle = decoder->modrm >> 3 & 7;
    bool registers = decoder->modrm >> 6 == 3;
    if ((opcode == 0x89 && decoder->modrm == 0xe5) || (opcode == 0x8b && decoder->modrm == 0xec))
        return decoder->rex == 0x48 ? INSTRUCTION_SET_FRAME : INSTRUCTION_OTHER;
    if (opcode == 0xff && (middle == 4 || middle == 5))
        return INSTRUCTION_END;
    if (opcode == 0xff && (middle == 2 || middle == 3))
        return INSTRUCTION_CALL;
    if ((opcode == 0xff && middle == 6) || opcode == 0x8f)
        return INSTRUCTION_STACK;
    bool to_low = opcode == 0x81 || opcode == 0x83 || opcode == 0x89 || opcode == 0x01 || opcode == 0x21 ||
                  opcode == 0x29;
    bool to_middle = opcode == 0x8b || opcode == 0x8d || opcode == 0x03 || opcode == 0x2b;
    if (to_low && registers && names(decoder, decoder->modrm, RSP) && !(opcode != 0x89 && middle == 7))
        return INSTRUCTION_STACK;
    return to_middle && middle == RSP && !(decoder->rex & 4) ? INSTRUCTION_STACK : INSTRUCTION_OTHER;
}

static enum instruction_kind kind_of(const struct decoder *decoder)
{
    uint8_t opcode = decoder->opcode;
    if (decoder->is_vector || decoder->map > 1)
        return INSTRUCTION_OTHER;
    if (decoder->map == 1)
        return (opcode & 0xf0) == 0x80 ? INSTRUCTION_BRANCH
               : opcode == 0x05        ? INSTRUCTION_CALL
               : opcode == 0x0b        ? INSTRUCTION_END
                                       : INSTRUCTION_OTHER;
    if (opcode >= 0x50 && opcode < 0x58)
        return names(decoder, opcode, RBP) ? INSTRUCTION_PUSH_FRAME : INSTRUCTION_STACK;
    if (opcode >= 0x58 && opcode < 0x60)
        return names(decoder, opcode, RBP) ? INSTRUCTION_POP_FRAME : INSTRUCTION_STACK;
    if ((opcode & 0xf0) == 0x70 || (opcode >= 0xe0 && opcode < 0xe4))
        return INSTRUCTION_BRANCH;
    switch (opcode) {
    case 0xc9:
        return INSTRUCTION_POP_FRAME;
    case 0xe8:
        return INSTRUCTION_CALL;
    case 0xe9:
    case 0xeb:
        return INSTRUCTION_JUMP;
    case 0xc2:
    case 0xc3:
    case 0xcc:
    case 0xf4:
        return INSTRUCTION_END;
    case 0x68:
    case 0x6a:
    case 0x9c:
    case 0x9d:
    case 0xc8:
        return INSTRUCTION_STACK;
    }
    return kind_of_move(decoder);
}

/* The constant at the end, of one byte or four. */
static int32_t constant_of(const struct decoder *decoder, unsigned form)
{
    int32_t constant;
    if (form & BYTE)
        return (int8_t)decoder->code[decoder->at - 1];
    memcpy(&constant, decoder->code + decoder->at - sizeof constant, sizeof constant);
    return constant;
}

/* lea distance(%rsp), %rsp and lea distance(%rbp), %rsp. */
static enum instruction_move move_of_address(const struct decoder *decoder, int32_t *distance)
{
    unsigned mode = decoder->modrm >> 6, base = decoder->modrm & 7;
    bool from_stack = base == RSP && decoder->code[decoder->modrm_at + 1] == 0x24;
    if (decoder->rex != 0x48 || (mode != 1 && mode != 2) || !(from_stack || base == RBP))
        return INSTRUCTION_ASTRAY;
    int32_t constant = constant_of(decoder, mode == 1 ? BYTE : FULL);
    *distance = from_stack ? -constant : constant;
    return from_stack ? INSTRUCTION_LOWERS : INSTRUCTION_TO_FRAME;
}

/* add, sub, mov and lea to the stack pointer; push and pop of memory. */
static enum instruction_move move_by_modrm(const struct decoder *decoder, unsigned form, int32_t *distance)
{
    unsigned middle = decoder->modrm >> 3 & 7;
    switch (decoder->opcode) {
    case 0xff:
    case 0x8f:
        *distance = decoder->opcode == 0xff ? 8 : -8;
        return INSTRUCTION_LOWERS;
    case 0x81:
    case 0x83:
        *distance = middle == 5 ? constant_of(decoder, form) : -constant_of(decoder, form);
        return decoder->rex == 0x48 && (middle == 5 || middle == 0) ? INSTRUCTION_LOWERS : INSTRUCTION_ASTRAY;
    case 0x89:
        return decoder->rex == 0x48 && middle == RBP ? INSTRUCTION_TO_FRAME : INSTRUCTION_ASTRAY;
    case 0x8b:
        return decoder->rex == 0x48 && decoder->modrm == 0xe5 ? INSTRUCTION_TO_FRAME : INSTRUCTION_ASTRAY;
    case 0x8d:
        return move_of_address(decoder, distance);
    }
    return INSTRUCTION_ASTRAY;
}

static enum instruction_move move_of(const struct decoder *decoder, unsigned form, enum instruction_kind kind,
                                     int32_t *distance)
{
    uint8_t opcode = decoder->opcode;
    if (kind != INSTRUCTION_PUSH_FRAME && kind != INSTRUCTION_POP_FRAME && kind != INSTRUCTION_STACK)
        return INSTRUCTION_STAYS;
    if (opcode == 0xc9 || opcode == 0xc8) {
        *distance = 8;
        return opcode == 0xc9 ? INSTRUCTION_TO_FRAME : INSTRUCTION_ASTRAY;
    }
    if (decoder->small_operand)
        return INSTRUCTION_ASTRAY;
    if (form & MODRM)
        return move_by_modrm(decoder, form, distance);
    bool pops = opcode == 0x9d || (opcode >= 0x58 && opcode < 0x60);
    *distance = pops ? -8 : 8;
    return opcode == 0x5c && !(decoder->rex & 1) ? INSTRUCTION_ASTRAY : INSTRUCTION_LOWERS; /* pop rsp */
}

bool instruction_decode(struct instruction *instruction, const uint8_t *code, size_t size)
{
    struct decoder decoder = {.code = code, .size = size < LENGTH_MAX ? size : LENGTH_MAX};
    *instruction = (struct instruction){0};
    read_opcode(&decoder);
    unsigned form = form_of(&decoder);
    if (form & MODRM)
        read_modrm(&decoder);
    skip_constants(&decoder, form);
    if (decoder.at > decoder.size || form & BAD)
        return false;
    instruction->length = decoder.at;
    instruction->kind = kind_of(&decoder);
    instruction->move = move_of(&decoder, form, instruction->kind, &instruction->distance);
    if (instruction->kind == INSTRUCTION_BRANCH || instruction->kind == INSTRUCTION_JUMP)
        instruction->target = target_of(&decoder, form);
    return true;
}
