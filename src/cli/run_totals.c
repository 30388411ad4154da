#include "cli/run_totals.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/run.h"
#include "collect/recorder/recorder.h"
#include "store/writer.h"

static void put_number(struct writer *writer, const char *key, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, number);
    writer_meta(writer, key, text);
}

static void put_native_counts(struct writer *writer, const struct sample_native_counts *counts)
{
    if (!counts->samples && !counts->sleeping)
        return;
    put_number(writer, "native_samples", counts->samples);
    put_number(writer, "native_whole", counts->whole);
    put_number(writer, "native_guessed", counts->guessed);
    put_number(writer, "native_disagreements", counts->disagreements);
    put_number(writer, "native_sleeping", counts->sleeping);
    put_number(writer, "native_sleeping_whole", counts->sleeping_whole);
}

/* The share of the instants that were less late, as a power of two of microseconds. */
static uint64_t late_us(const struct recorder_result *result, double share)
{
    uint64_t all = 0, so_far = 0;
    for (int i = 0; i < SAMPLE_DRAIN_LATENESS; i++)
        all += result->lateness[i];
    for (int i = 0; i < SAMPLE_DRAIN_LATENESS; i++)
        if ((double)(so_far += result->lateness[i]) >= share * (double)all)
            return UINT64_C(1) << i;
    return 0;
}

uint64_t run_totals_reached_hz(const struct recorder_result *result)
{
    if (!result->looks || !result->sampled_ns)
        return 0;
    return (uint64_t)((double)result->looks * 1e9 / (double)result->sampled_ns + 0.5);
}

static void put_punctuality(struct writer *writer, const struct recorder_result *result)
{
    if (!result->looks || !result->sampled_ns)
        return;
    put_number(writer, "achieved_hz", run_totals_reached_hz(result));
    put_number(writer, "late_us_50", late_us(result, 0.5));
    put_number(writer, "late_us_90", late_us(result, 0.9));
    put_number(writer, "late_us_99", late_us(result, 0.99));
}

void run_totals_put(struct writer *writer, const struct run_options *options, const struct run *run,
                    const struct recorder_result *result)
{
    put_number(writer, "elapsed_ns", run->elapsed_ns);
    put_number(writer, "overhead_ns", run->overhead_ns);
    if (run->memory_bytes)
        put_number(writer, "memory_bytes", run->memory_bytes);
    if (!options->rate_hz)
        return;
    put_number(writer, "rate_hz", options->rate_hz);
    put_punctuality(writer, result);
    writer_meta(writer, "clock", options->clock);
    put_number(writer, "samples", run->samples);
    put_number(writer, "errors", run->errors);
    put_number(writer, "sampler_cpu_ns", run->sampler_cpu_ns);
    put_native_counts(writer, &run->native);
}
