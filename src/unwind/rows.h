/*
 * rows: how to step from a frame to its caller, for every code address of one module, as one block of memory
 * without pointers: it is made by row_compiler in one process and read in another, in signal handlers too.
 *
 * A row holds from its address to the next row's. Code is cut into buckets of 256 bytes, so that a row is one
 * byte of address and two of rule number: three bytes and one bucket entry are one look-up. Rules are shared
 * by many rows and kept once. Rule 0 is always "nothing known". Addresses are the file's own, before loading.
 *
 * Invariant: an image that rows_check accepts can be read without further checks.
 */
#ifndef SONDE_UNWIND_ROWS_H
#define SONDE_UNWIND_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROWS_MAGIC        0x31574f52u /* "ROW1" */
#define ROWS_BUCKET_SHIFT 8
#define ROWS_RULES_MAX    0xffffu
#define ROWS_SPAN_MAX     ((uint64_t)1 << 31) /* code bytes of one module */

/* How the canonical frame address (CFA: the stack pointer before the call) is found. */
enum rows_cfa {
    ROWS_CFA_UNKNOWN,  /* no description: guess */
    ROWS_CFA_REGISTER, /* register + offset */
    ROWS_CFA_LOADED,   /* *(register + offset) + addend */
    ROWS_CFA_PLT,      /* register + offset, and 8 more from byte `addend` of each 16-byte slot on */
    ROWS_CFA_SIGNAL,   /* the kernel's signal frame: all registers lie on the stack */
    ROWS_CFA_END,      /* the outermost frame */
};

/* Where a register of the caller is. */
enum rows_place {
    ROWS_SAME,     /* still in the register */
    ROWS_AT_CFA,   /* at CFA + offset */
    ROWS_AT_FRAME, /* at frame register + offset */
    ROWS_AT_STACK, /* at stack pointer + offset */
    ROWS_IN,       /* in the register with number `offset` */
    ROWS_LOST,
};

struct rows_saved {
    uint8_t place;     /* enum rows_place */
    uint8_t may_throw; /* of the return address: an exception is in flight, the frame that catches is next */
    int16_t offset;
};

/* The registers that are followed: the frame pointer (rbp), rbx (the loader's resolver counts from it), and
 * the return address. */
enum rows_followed { ROWS_FRAME, ROWS_BASE, ROWS_RETURN, ROWS_FOLLOWED };

struct rows_rule {
    uint8_t cfa; /* enum rows_cfa */
    uint8_t cfa_register;
    int16_t cfa_addend;
    int32_t cfa_offset;
    uint32_t depth; /* from the stack pointer to the CFA where this code waits for a call; 0 = not known */
    struct rows_saved saved[ROWS_FOLLOWED];
};

/* The image's head; the arrays follow, at these distances from it. */
struct rows {
    uint32_t magic;
    uint32_t machine; /* e_machine of ELF */
    uint64_t size_bytes;
    uint64_t start; /* first address with a row */
    uint64_t end;
    uint32_t bucket_count;
    uint32_t row_count;
    uint32_t rule_count;
    uint32_t is_reworked;  /* by a post-link optimizer: descriptions are not to be trusted blindly */
    uint64_t buckets_at;   /* uint32_t[bucket_count + 1]: the first row of each bucket */
    uint64_t rules_at;     /* struct rows_rule[rule_count] */
    uint64_t row_rules_at; /* uint16_t[row_count] */
    uint64_t row_bytes_at; /* uint8_t[row_count]: address within the bucket */
};

/* Whether `size` bytes hold a whole image that can be read safely. */
bool rows_check(const void *data, size_t size);

static inline const struct rows_rule *rows_rule(const struct rows *rows, unsigned number)
{
    return (const struct rows_rule *)((const char *)rows + rows->rules_at) + number;
}

/* The number of the rule for this address; 0 when nothing is known. Async-signal-safe. */
static inline unsigned rows_find(const struct rows *rows, uint64_t address)
{
    if (address < rows->start || address >= rows->end)
        return 0;
    uint64_t inside = address - rows->start;
    const uint32_t *bucket =
        (const uint32_t *)((const char *)rows + rows->buckets_at) + (inside >> ROWS_BUCKET_SHIFT);
    const uint8_t *bytes = (const uint8_t *)rows + rows->row_bytes_at;
    uint8_t byte = (uint8_t)inside;
    uint32_t low = bucket[0], high = bucket[1];
    while (high > low && bytes[high - 1] > byte)
        high--;
    return high ? ((const uint16_t *)((const char *)rows + rows->row_rules_at))[high - 1] : 0;
}

#endif
