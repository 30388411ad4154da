/*
 * extra_frames: what a sample shows beside the thread's own frames: that it collects garbage. Async-signal-safe.
 */
#ifndef SONDE_COLLECT_AGENT_EXTRA_FRAMES_H
#define SONDE_COLLECT_AGENT_EXTRA_FRAMES_H

#include "collect/agent/sample_area.h"

enum { EXTRA_FRAMES_MAX = 64 };

struct extra_frames {
    uint32_t above; /* which walked frame (0 = the innermost) they follow on the way in */
    uint32_t count;
    struct sample_frame frames[EXTRA_FRAMES_MAX]; /* outermost first */
};

/* Of the thread whose stack of `count` frames was walked into the slot. Returns what else is known of it: the bits
 * SAMPLE_GIL and SAMPLE_GC. */
uint16_t extra_frames_find(struct extra_frames *extra, struct sample_area *area,
                           const struct sample_slot *slot, const struct walk_process *process,
                           uint64_t runtime, uint32_t count);

#endif
