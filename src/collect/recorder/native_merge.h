/*
 * native_merge: one stack out of a thread's native frames and its Python frames. Arrays in, array out.
 *
 * Every evaluator frame on the native stack runs a run of Python frames: the innermost evaluator the innermost ones
 * up to the first that C code called, and so on outwards. It is replaced by them. The innermost evaluator may have
 * none: it has not linked its frame yet, or has unlinked it already; it then stays, as a native frame. Where the two
 * do not agree otherwise (a native stack that could not be followed to its root, frames that were guessed) the
 * frames are placed as well as can be, none is left out, and the result says so. A frame that is made up (the garbage
 * collector's) goes with the Python frames that it stands above; without any it is left out.
 *
 * All arrays are innermost first.
 */
#ifndef SONDE_COLLECT_RECORDER_NATIVE_MERGE_H
#define SONDE_COLLECT_RECORDER_NATIVE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum native_merge_kind {
    NATIVE_MERGE_PLAIN,
    NATIVE_MERGE_EVALUATOR, /* its main function: one frame of it is one evaluator */
    NATIVE_MERGE_PIECE, /* a part of it with a frame of its own: belongs to the evaluator that called it */
    NATIVE_MERGE_ENTRANCE, /* has the evaluator's beginning inlined: may be one before it calls the first piece */
};

struct native_merge_stacks {
    const uint8_t *native; /* enum native_merge_kind of each native frame */
    size_t native_count;
    bool native_is_whole;  /* the root was reached */
    const uint8_t *python; /* of each Python frame: whether C code called it */
    size_t python_count;
    bool python_is_whole; /* so is the Python stack */
};

struct native_merge_frame {
    uint32_t index;
    bool is_python;
};

/* Gives the number of frames; `frames` has room for all of both stacks. */
size_t native_merge(const struct native_merge_stacks *stacks, struct native_merge_frame *frames,
                    bool *agrees);

#endif
