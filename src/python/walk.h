/*
 * walk: the Python frames of one thread, innermost first.
 *
 * The thread must stand still: it walks itself in a signal handler, it is stopped, it sleeps, or this is a
 * copy. At most instructions its frames are then linked properly; while one is being linked (the order of the
 * stores is the compiler's) they are not, and what is found is rejected rather than believed. From 3.11 on
 * the proof is the data stack: the frames on it must lie end to end from its first slot to its top, but for
 * frames that C code has pushed and not yet linked or unlinked and not yet popped. A single-step test holds
 * every answer against the one before.
 *
 * Nothing is allocated, every loop is bounded, every address that is not proved to be mapped goes through
 * memory_read: it may run in a signal handler. The caller owns all that it passes.
 */
#ifndef SONDE_PYTHON_WALK_H
#define SONDE_PYTHON_WALK_H

#include "python/code_cache.h"
#include "python/layouts.h"

enum walk_status {
    WALK_EMPTY, /* the thread runs no Python */
    WALK_OK,
    WALK_REJECTED,
};

enum walk_reason {
    WALK_NO_REASON,
    WALK_UNREADABLE,         /* memory that should be there is not */
    WALK_STACK_BROKEN,       /* the data stack's chunks or its top make no sense */
    WALK_UNLINKED,           /* frames on the data stack but none linked */
    WALK_NO_CODE,            /* a frame without a code object */
    WALK_BAD_INSTRUCTION,    /* an instruction outside its code */
    WALK_BAD_OWNER,          /* a frame of an unknown kind */
    WALK_MISPLACED,          /* frames do not lie end to end */
    WALK_BAD_ENTRY,          /* an evaluator's own record names another caller */
    WALK_HALF_LINKED,        /* 3.12: the innermost frame has not begun, its link may be an old one */
    WALK_DETACHED_GENERATOR, /* 3.9, 3.10: an exception on its way into a generator hides the callers */
    WALK_TOO_DEEP,
    WALK_REASONS,
};

enum {
    WALK_ENTRY = 1,     /* called from C, not by the frame below it: an evaluator of its own on the C stack */
    WALK_GENERATOR = 2, /* a generator, coroutine or asynchronous generator */
    WALK_STARTING = 4,  /* its first line has not begun: Python itself does not show it yet */
};

struct walk_frame {
    uint64_t code;
    uint64_t frame;
    int32_t offset; /* of the instruction, in bytes; -2 = before the first */
    uint32_t flags;
};

struct walk {
    enum walk_status status;
    enum walk_reason reason; /* of a rejection */
    uint32_t count;          /* frames given; of a rejected walk those until then */
    uint32_t depth;          /* frames there are; larger than count when the array was too small */
};

/* What all threads of a process share. */
struct walk_process {
    const struct layout *layout;
    struct memory memory;
    uint64_t code_type;  /* address of PyCode_Type */
    uint64_t frame_type; /* address of PyFrame_Type, needed up to 3.10 */
    struct code_cache *codes;
};

struct walk_thread {
    uint64_t state;     /* address of its PyThreadState */
    uint64_t stack_low; /* its C stack, which is mapped: [low, high); 0, 0 = not known */
    uint64_t stack_high;
    bool
        stop_when_full; /* do not go on to count those for which there is no room: `depth` is one more then */
};

/* Frames that only Python's own machinery has are left out. */
struct walk walk_frames(const struct walk_process *process, const struct walk_thread *thread,
                        struct walk_frame *frames, uint32_t capacity);

/* In words, for a report. */
const char *walk_reason_text(enum walk_reason reason);

#endif
