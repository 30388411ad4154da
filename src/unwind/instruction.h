/*
 * instruction: as much of an x86-64 instruction as the stack depends on: its length, what it does to the frame
 * register and the stack pointer, and where it goes. Reads untrusted bytes; never past the end.
 */
#ifndef SONDE_UNWIND_INSTRUCTION_H
#define SONDE_UNWIND_INSTRUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_kind {
    INSTRUCTION_OTHER,
    INSTRUCTION_PUSH_FRAME, /* push rbp */
    INSTRUCTION_SET_FRAME,  /* mov rsp, rbp */
    INSTRUCTION_POP_FRAME,  /* pop rbp, or leave */
    INSTRUCTION_STACK,      /* moves the stack pointer otherwise */
    INSTRUCTION_CALL,       /* of a function or of the kernel: a thread may wait here */
    INSTRUCTION_BRANCH,     /* to `target`, or on */
    INSTRUCTION_JUMP,       /* to `target` */
    INSTRUCTION_END,        /* does not go on, nor to a place that is known */
};

/* What becomes of the stack pointer, once a call has returned. */
enum instruction_move {
    INSTRUCTION_STAYS,
    INSTRUCTION_LOWERS,   /* it is `distance` lower */
    INSTRUCTION_TO_FRAME, /* it is the frame register plus `distance` */
    INSTRUCTION_ASTRAY,   /* what cannot be told from the instruction */
};

struct instruction {
    size_t length;
    enum instruction_kind kind;
    enum instruction_move move;
    int32_t distance;
    int64_t target; /* bytes from the instruction's first byte */
};

/* False when the bytes are no instruction that is known. */
bool instruction_decode(struct instruction *instruction, const uint8_t *code, size_t size);

#endif
