/*
 * extra_frames: what a sample shows beside the thread's own frames: that it collects garbage, which task it runs, and
 * who awaits that task. Async-signal-safe.
 *
 * An event loop calls a task from its innermost function, whoever awaits the task. So that its samples hang under what
 * they belong to, the coroutines that await it are put between the loop and the task: where they wait, outermost
 * first, each task's below a frame with its name when the program gave it one.
 */
#ifndef SONDE_COLLECT_AGENT_EXTRA_FRAMES_H
#define SONDE_COLLECT_AGENT_EXTRA_FRAMES_H

#include "collect/agent/sample_area.h"
#include "python/asyncio.h"

enum { EXTRA_FRAMES_MAX = 64 };

/* Rows that follow one walked frame on the way in, outermost first. */
struct extra_rows {
    uint32_t above; /* which one: 0 = the innermost, their count = they come before all */
    uint32_t count;
    struct sample_frame frames[EXTRA_FRAMES_MAX];
};

struct extra_frames {
    struct extra_rows collection;
    struct extra_rows tasks;
};

/* Of the thread whose stack of `count` frames was walked into the slot; `asyncio` may be NULL. Returns what else is
 * known of it: the bits SAMPLE_GIL and SAMPLE_GC. */
uint16_t extra_frames_find(struct extra_frames *extra, struct sample_area *area,
                           const struct sample_slot *slot, const struct walk_process *process,
                           const struct asyncio *asyncio, uint64_t runtime, uint32_t count);

#endif
