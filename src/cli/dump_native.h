/*
 * dump_native: the native frames of a thread that stood still, for a dump: walked on a copy of its registers and its
 * stack, named, and woven into its Python frames.
 *
 * Copying is all that happens while a thread is held; walking and naming take their time afterwards.
 */
#ifndef SONDE_CLI_DUMP_NATIVE_H
#define SONDE_CLI_DUMP_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/recorder/native_files.h"
#include "python/walk.h"
#include "unwind/walk_native.h"

struct dump;
struct dump_thread;
struct symbols;

enum { DUMP_NATIVE_STACK_BYTES = 1 << 20, DUMP_NATIVE_FRAMES = 1 << 12 };

/* Code of a process: a mapping, and the file that it shows. */
struct dump_native_place {
    uint64_t start, end, bias;
    const struct native_file *file;
    uint32_t module; /* in the symbols, plus 1; 0 = not asked for yet */
};

struct dump_native {
    const struct target_image *image;
    bool internals; /* show the interpreter's own frames as well */
    struct native_files files;
    struct modules *table;
    struct dump_native_place *places; /* by address */
    size_t place_count;
    struct symbols *symbols;
    /* of the thread at hand */
    struct walk_native_registers registers;
    uint64_t stack_low;
    size_t stack_bytes;
    uint8_t *stack;
};

/* `folders` as for symbols_new. */
int dump_native_init(struct dump_native *native, const struct target_image *image, const char *const *folders,
                     size_t folder_count, bool internals, struct err *err);
void dump_native_clear(struct dump_native *native);

/* Copies what the walk needs: of a thread that is held, or from what a core file says. False where there is nothing. */
bool dump_native_take_held(struct dump_native *native, uint32_t tid);
bool dump_native_take(struct dump_native *native, const uint64_t *registers, size_t count);

/* Puts native frames between those of the thread's Python frames, which are the dump's last. `walked` are all frames
 * of its walk; those that are WALK_STARTING are not in the dump. */
void dump_native_weave(struct dump_native *native, struct dump *dump, struct dump_thread *thread,
                       const struct walk_frame *walked, size_t walked_count);

#endif
