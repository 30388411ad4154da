/*
 * clock: the one time axis. Times are nanoseconds of CLOCK_MONOTONIC; hot paths count ticks (the TSC where it
 * is invariant, else the same nanoseconds) and convert later by a `struct clock_rate` measured at both ends.
 */
#ifndef SONDE_BASE_CLOCK_H
#define SONDE_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_monotonic_ns(void)
{
    return clock_read_ns(CLOCK_MONOTONIC);
}

static inline uint64_t clock_real_ns(void)
{
    return clock_read_ns(CLOCK_REALTIME);
}

/* The raw counter; only meaningful where clock_has_counter() is true. */
static inline uint64_t clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return clock_monotonic_ns();
#endif
}

/* Whether the counter runs at one rate on all cores and through sleep states. */
bool clock_has_counter(void);

/* One reading of both clocks, close together. */
struct clock_pair {
    uint64_t ticks;
    uint64_t ns;
};
struct clock_pair clock_read_pair(bool counter);

/* ns = (ticks - origin.ticks) * ns_per_tick + origin.ns */
struct clock_rate {
    struct clock_pair origin;
    double ns_per_tick;
};

/* Two pairs as far apart as can be had; 1.0 and exact when the counter is not used. */
struct clock_rate clock_rate_between(struct clock_pair early, struct clock_pair late, bool counter);
uint64_t clock_to_ns(const struct clock_rate *rate, uint64_t ticks);
uint64_t clock_span_ns(const struct clock_rate *rate, uint64_t ticks);

#endif
