#include "base/clock.h"

#include <math.h>
#include <stddef.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

bool clock_has_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & 1u << 8); /* invariant TSC */
#elif defined(__aarch64__)
    return true; /* the generic timer is architecturally constant */
#else
    return false;
#endif
}

struct clock_pair clock_read_pair(bool counter)
{
    if (!counter) {
        uint64_t ns = clock_monotonic_ns();
        return (struct clock_pair){.ticks = ns, .ns = ns};
    }
    /* The narrowest of several brackets: an interrupt between the two readings widens its bracket. */
    struct clock_pair best = {0, 0};
    uint64_t narrowest = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = clock_counter();
        uint64_t ns = clock_monotonic_ns();
        uint64_t after = clock_counter();
        if (after - before < narrowest) {
            narrowest = after - before;
            best = (struct clock_pair){.ticks = before + (after - before) / 2, .ns = ns};
        }
    }
    return best;
}

struct clock_rate clock_rate_between(struct clock_pair early, struct clock_pair late, bool counter)
{
    struct clock_rate rate = {.origin = early, .ns_per_tick = 1.0};
    if (counter && late.ticks > early.ticks && late.ns > early.ns)
        rate.ns_per_tick = (double)(late.ns - early.ns) / (double)(late.ticks - early.ticks);
    return rate;
}

uint64_t clock_span_ns(const struct clock_rate *rate, uint64_t ticks)
{
    return rate->ns_per_tick == 1.0 ? ticks : (uint64_t)llround((double)ticks * rate->ns_per_tick);
}

uint64_t clock_to_ns(const struct clock_rate *rate, uint64_t ticks)
{
    if (ticks >= rate->origin.ticks)
        return rate->origin.ns + clock_span_ns(rate, ticks - rate->origin.ticks);
    return rate->origin.ns - clock_span_ns(rate, rate->origin.ticks - ticks);
}
