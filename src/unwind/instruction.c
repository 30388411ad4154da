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
    static const uint8_t prefixes[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};
    decoder->small_operand |= byte == 0x66;
    decoder->small_address |= byte == 0x67;
    return memchr(prefixes, byte, sizeof prefixes) != NULL;
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
    static const uint8_t bare[] = {0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e, 0x30, 0x31, 0x32,
                                   0x33, 0x34, 0x35, 0x37, 0x77, 0xa0, 0xa1, 0xa2, 0xa8, 0xa9,
                                   0xaa, 0xc8, 0xc9, 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf};
    static const uint8_t constant[] = {0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xba, 0xc2, 0xc4, 0xc5, 0xc6};
    if ((opcode & 0xf0) == 0x80)
        return NEAR;
    if (memchr(bare, opcode, sizeof bare))
        return NONE;
    return memchr(constant, opcode, sizeof constant) ? MODRM | BYTE : MODRM;
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
    if ((opcode == 0xff && middle == 6) || opcode == 0x8f)
        return INSTRUCTION_STACK;
    bool to_low = opcode == 0x81 || opcode == 0x83 || opcode == 0x89 || opcode == 0x01 || opcode == 0x29;
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
    if (instruction->kind == INSTRUCTION_BRANCH || instruction->kind == INSTRUCTION_JUMP)
        instruction->target = target_of(&decoder, form);
    return true;
}
