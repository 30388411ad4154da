/*
 * sample_drain: a sample area's rings → sample rows of the file, again and again. The area is written to meanwhile,
 * and is not trusted: records that make no sense end that ring and are counted.
 */
#ifndef SONDE_COLLECT_RECORDER_SAMPLE_DRAIN_H
#define SONDE_COLLECT_RECORDER_SAMPLE_DRAIN_H

#include <stdint.h>

#include "base/clock.h"

struct hot_functions;
struct native_space;
struct sample_area;
struct sample_drain;
struct writer;

/* NULL when memory ran out. The area and the space (NULL = no native stacks) stay the caller's and must outlive the
 * drain. */
struct sample_drain *sample_drain_new(struct sample_area *area, struct writer *writer, uint32_t process,
                                      struct native_space *space);
void sample_drain_free(struct sample_drain *drain);
/* All samples are to be counted here, too. */
void sample_drain_count_for(struct sample_drain *drain, struct hot_functions *hot);

void sample_drain_step(struct sample_drain *drain, const struct clock_rate *rate);
/* The last step: threads end, losses are noted. */
void sample_drain_finish(struct sample_drain *drain, const struct clock_rate *rate, uint64_t end_ticks);

/* Of native stacks, each counted once, for how many samples it may stand: of threads that ran, and of those that
 * slept. */
struct sample_native_counts {
    uint64_t samples;
    uint64_t whole;         /* followed to the root */
    uint64_t guessed;       /* some frame rests on a guess */
    uint64_t disagreements; /* evaluators and Python's own calls from C do not go together */
    uint64_t sleeping, sleeping_whole;
};

enum { SAMPLE_DRAIN_LATENESS = 24 };

struct sample_counts {
    uint64_t samples; /* of running and sleeping threads */
    uint64_t errors;  /* asked for and lost: rejected, no room */
    uint64_t sampler_cpu_ns;
    uint64_t looks;                           /* at all threads: what was achieved of the rate */
    uint64_t rested_ns;                       /* for which none was wanted */
    uint64_t lateness[SAMPLE_DRAIN_LATENESS]; /* instants that were less than 2^n microseconds late */
    uint64_t slowdown_ns;                     /* that the program's threads lost to it, estimated */
    struct sample_native_counts native;
};
struct sample_counts sample_drain_counts(const struct sample_drain *drain);

#endif
