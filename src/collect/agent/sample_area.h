/*
 * sample_area: the memory that a sampled process writes and the recorder reads: code objects by name, and a ring of
 * samples for each thread. A memfd of one fixed, sparse size.
 *
 * Written in signal handlers of any thread at once and by the sampler: a ring has one writer at a time (its slot's
 * `busy`) and one reader. The reader treats the content as untrusted.
 */
#ifndef SONDE_COLLECT_AGENT_SAMPLE_AREA_H
#define SONDE_COLLECT_AGENT_SAMPLE_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/agent/code_rows.h"
#include "collect/agent/own_stack.h"
#include "python/walk.h"

#define SAMPLE_AREA_MAGIC 0x6d61732d65646e73u

enum {
    SAMPLE_AREA_SLOTS = 1024,         /* threads at the same time */
    SAMPLE_AREA_RING_BYTES = 1 << 16, /* of each */
    SAMPLE_AREA_NAME_BYTES = 64,
    SAMPLE_AREA_LATENESS = 24,
    SAMPLE_AREA_DEPTH = 1024, /* frames of one sample; of deeper stacks the root end is cut off */
};

/* One frame of a sample, outermost last. */
struct sample_frame {
    uint32_t code;  /* row, 0 = unknown; or'ed with SAMPLE_FRAME_ENTRY when C code called it */
    int32_t offset; /* of the instruction, in bytes */
};
#define SAMPLE_FRAME_ENTRY 0x80000000u

/* What lies in a ring: a header, its new frames, and with SAMPLE_HAS_NATIVE the native part (native_area.h). The
 * outermost `shared` frames are those of the thread's sample before. */
struct sample_record {
    uint32_t bytes; /* of all of it */
    uint32_t count; /* samples that it stands for */
    uint64_t ticks;
    uint64_t cpu_ns; /* that the thread used since the record before, where that is the clock */
    uint16_t shared;
    uint16_t frames; /* new ones */
    uint16_t state;  /* enum sample_state */
    uint16_t flags;  /* enum sample_flag, or'ed */
};
enum sample_flag {
    SAMPLE_REJECTED = 1,   /* the stack could not be believed; no frames follow */
    SAMPLE_AGAIN = 2,      /* the stack is the one before; nothing follows */
    SAMPLE_HAS_NATIVE = 4, /* the native part follows; without it the stack is of Python frames alone */
};

struct sample_slot {
    uint64_t tid;        /* 0 = free */
    uint64_t state;      /* address of the thread's PyThreadState, once it is known */
    uint32_t due;        /* samples asked for and not yet taken */
    uint32_t pending;    /* a signal is on its way */
    uint32_t busy;       /* somebody writes the ring */
    uint32_t generation; /* changes when another thread takes the slot over */
    uint64_t start_ticks, end_ticks;
    uint64_t cpu_ns,
        cpu_now_ns;          /* CPU time that samples stand for, and that it has used; only by that clock */
    uint64_t written, taken; /* bytes in and out of the ring, ever growing */
    uint32_t depth;          /* of the sample before */
    uint16_t state_before;   /* of it: enum sample_state */
    uint32_t tries;          /* that the sample which is due has failed */
    uint32_t long_before;    /* the signal before took long to answer */
    struct own_stack stack;
    char name[SAMPLE_AREA_NAME_BYTES];             /* the program's, else the kernel's; may change */
    struct sample_frame before[SAMPLE_AREA_DEPTH]; /* outermost first */
    struct sample_frame now[SAMPLE_AREA_DEPTH];
    struct walk_frame walked[SAMPLE_AREA_DEPTH];
    uint8_t ring[SAMPLE_AREA_RING_BYTES];
};

struct sample_area {
    uint64_t magic;
    uint64_t total_bytes;
    uint64_t pid;
    uint64_t start_ticks, start_ns;
    double ns_per_tick; /* 0 = ticks are the machine's counter */
    uint64_t period_ns;
    uint32_t cpu_clock; /* 1 = samples stand for CPU time: sleeping threads give none */
    uint32_t tasks;     /* 1 = samples show the tasks of asyncio and who awaits them */
    uint32_t python;
    uint32_t stop;   /* set by the recorder, or before an exec: no more samples */
    uint32_t drains; /* counted by the recorder, whenever it empties the rings */

    uint32_t slot_count;
    /* what happened to the samples that were asked for */
    uint64_t looks; /* at which: one may stand for several instants, when the sampler came late */
    uint64_t lateness
        [SAMPLE_AREA_LATENESS]; /* instants looked at less than 2^n microseconds late, and more than half */
    uint64_t ticks_done;        /* instants at which all threads were looked at */
    uint64_t taken;             /* running threads, by themselves */
    uint64_t idle;              /* sleeping threads, from outside */
    uint64_t stateless;         /* threads without a Python state */
    uint64_t unasked;           /* running threads, when the program uses every real-time signal itself */
    uint64_t forbidden;         /* running threads, when the program would be killed for our system calls */
    uint64_t unfollowed;        /* processes that it started then */
    uint64_t lost_full;         /* the ring was full */
    uint64_t lost_threads;      /* no slot was free */
    uint64_t lost_held;         /* from outside: the thread could not be held */
    uint64_t rejected[WALK_REASONS];
    uint64_t sampler_cpu_ns;
    uint64_t signals, handler_ticks; /* that threads answered, and the time they took over it */
    uint64_t fork_ns;                /* that its forked children took to start their samplers */
    uint64_t rested_ns;              /* for which nothing was to be sampled */

    struct code_rows codes;
    struct sample_slot slots[SAMPLE_AREA_SLOTS];
};

/* Makes zeroed memory an area. */
void sample_area_format(struct sample_area *area, uint64_t bytes, uint64_t pid, uint64_t period_ns,
                        uint32_t python);

/* In the ticks of this area. */
static inline uint64_t sample_area_now(const struct sample_area *area)
{
    return area->ns_per_tick > 0 ? clock_monotonic_ns() : clock_counter();
}

/* Some bytes of a record. */
struct sample_part {
    const void *bytes;
    size_t size;
};

/* Appends one record, whose `bytes` this sets, and its parts to the slot's ring; false when it is full. The caller
 * has set `busy`. */
bool sample_area_put(struct sample_slot *slot, struct sample_record *record, const struct sample_part *parts,
                     size_t count);

#endif
