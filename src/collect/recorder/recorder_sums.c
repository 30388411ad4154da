#include "collect/recorder/recorder_sums.h"

#include "base/clock.h"
#include "collect/agent/arena.h"
#include "collect/agent/session.h"
#include "collect/recorder/drain.h"
#include "collect/recorder/event_drain.h"
#include "collect/recorder/followed.h"
#include "collect/recorder/heap_drain.h"
#include "collect/recorder/recorder.h"
#include "collect/recorder/sample_drain.h"

/* What one recorded call costs, by minor version: from `make bench` on one machine, so only a rough guide. */
static uint64_t call_cost_ns(const struct arena *arena)
{
    static const uint8_t costs_ns[] = {
        [9] = 25, [10] = 40, [11] = 110, [12] = 40, [13] = 40, [14] = 40, [15] = 40};
    const uint64_t log_ns = arena->limits.log_words ? 10 : 0; /* of both words of a call */
    uint32_t minor = arena->python >> 16 & 0xff;
    return (minor < sizeof costs_ns ? costs_ns[minor] : 40) + log_ns;
}

static void add_native(struct sample_native_counts *sum, const struct sample_native_counts *counts)
{
    sum->samples += counts->samples;
    sum->whole += counts->whole;
    sum->guessed += counts->guessed;
    sum->disagreements += counts->disagreements;
    sum->sleeping += counts->sleeping;
    sum->sleeping_whole += counts->sleeping_whole;
}

/* The same of one timed line: by a probe in the byte code before 3.12, then by an event. */
static uint64_t line_cost_ns(const struct arena *arena)
{
    return (arena->python >> 16 & 0xff) < 12 ? 12 : 25;
}

static void add_memory(struct recorder_result *result, uint64_t memory_bytes)
{
    if (memory_bytes > result->memory_bytes)
        result->memory_bytes = memory_bytes;
}

static void add_samples(struct recorder_result *result, const struct followed *followed)
{
    struct sample_counts counts = sample_drain_counts(followed_samples(followed));
    result->samples += counts.samples;
    result->errors += counts.errors;
    result->sampler_cpu_ns += counts.sampler_cpu_ns;
    result->slowdown_ns += counts.slowdown_ns;
    result->looks += counts.looks;
    uint64_t followed_ns = clock_monotonic_ns() - followed->process.start_ns;
    result->sampled_ns += followed_ns > counts.rested_ns ? followed_ns - counts.rested_ns : 0;
    for (int i = 0; i < SAMPLE_DRAIN_LATENESS; i++)
        result->lateness[i] += counts.lateness[i];
    add_native(&result->native, &counts.native);
}

static void add_calls(struct recorder_result *result, const struct followed *followed)
{
    const struct drain *drain = followed->drain;
    result->targets_found |= drain_targets_found(drain);
    result->counted += drain_calls(drain) + drain_hits(drain);
    result->overhead_ns += drain_calls(drain) * call_cost_ns(followed->memory) +
                           drain_hits(drain) * line_cost_ns(followed->memory);
    add_memory(result, drain_memory_bytes(drain));
}

void recorder_sums_add(struct recorder_result *result, const struct followed *followed)
{
    switch (followed->purpose) {
    case SESSION_SAMPLES:
        add_samples(result, followed);
        break;
    case SESSION_HEAP:
        add_memory(result, heap_drain_memory_bytes(followed->drain));
        break;
    case SESSION_EVENTS:
        event_drain_add_rows(followed->drain, &result->marks);
        break;
    case SESSION_HELLO:
    case SESSION_LINES:
        add_calls(result, followed);
        break;
    }
}
