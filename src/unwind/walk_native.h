/*
 * walk_native: the native stack of one stopped thread, from its registers and its stack memory, by the rows
 * of the modules. Runs in the target's signal handler (on itself) and in the parent (on a copied or a stopped
 * thread): libc's memcpy alone, no allocation, no lock, bounded time, and it never loads outside the memory given.
 *
 * A frame that was found by its rules alone is exact. Where rules are missing or wrong (code made at run time,
 * hand-written kernels, post-link optimizers) the caller is guessed, and every frame that rests on a guess is
 * marked. So is the last frame of a walk that did not reach the root.
 *
 * Of a sleeping thread nothing but stack pointer and program counter is known. That is enough as long as callers are
 * counted from the stack pointer; the first function that is described by its frame register needs a guess
 * (unwind/depth.h), and saves that register for those that follow.
 */
#ifndef SONDE_UNWIND_WALK_NATIVE_H
#define SONDE_UNWIND_WALK_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>
#include <ucontext.h>

#include "unwind/modules.h"

/* Registers by their DWARF numbers; the last is the program counter. */
#define WALK_NATIVE_REGISTERS 17

struct walk_native_registers {
    uint64_t value[WALK_NATIVE_REGISTERS];
    uint32_t known; /* bit n: value[n] is that of the frame */
};

/* Stack bytes of the addresses from low to high. For a thread of this process `bytes` is low itself. */
struct walk_native_range {
    uint64_t low;
    uint64_t high;
    const uint8_t *bytes;
};

/* The stack in work first; then others that a walk may cross to (the stack below a signal stack). */
struct walk_native_memory {
    const struct walk_native_range *ranges;
    size_t range_count;
    bool (*load)(void *context, uint64_t address, uint64_t *value); /* for other addresses; may be NULL */
    void *context;
};

/* Address → rule, shared by all threads without a lock. Zeroed = empty. */
#define WALK_NATIVE_CACHE_SLOTS 1024
struct walk_native_cache {
    struct {
        uint64_t key;
        uint64_t value;
    } slots[WALK_NATIVE_CACHE_SLOTS];
};

enum walk_native_flag {
    WALK_NATIVE_RETURN = 1,  /* the address is a return address: the call is before it */
    WALK_NATIVE_GUESSED = 2, /* this frame rests on a guess */
    WALK_NATIVE_SIGNAL = 4,  /* the kernel's signal frame: the next one was interrupted */
};

struct walk_native_frame {
    uint64_t address;
    uint64_t stack_pointer; /* while this frame's code runs or waits for the call it made */
    uint32_t flags;
};

enum walk_native_end {
    WALK_NATIVE_ROOT,  /* the outermost frame was reached */
    WALK_NATIVE_FULL,  /* more frames than places */
    WALK_NATIVE_STUCK, /* no way on from the last frame */
};

/* In: places and capacity. Out: the rest. Innermost frame first. */
struct walk_native_stack {
    struct walk_native_frame *frames;
    size_t capacity;
    size_t count;
    enum walk_native_end end;
    bool met_unmapped; /* some frame's code is, or may be, outside all modules of the table */
};

/* `cache` may be NULL. */
void walk_native(struct walk_native_stack *stack, const struct walk_native_registers *registers,
                 const struct modules *modules, const struct walk_native_memory *memory,
                 struct walk_native_cache *cache);

/* Registers as a signal handler gets them and as PTRACE_GETREGS(ET) gives them. On a machine that is not
 * supported the program counter alone is not known either: such a walk is empty and stuck. */
void walk_native_from_context(struct walk_native_registers *registers, const ucontext_t *context);
void walk_native_from_ptrace(struct walk_native_registers *registers, const struct user_regs_struct *user);

#endif
