#include "analyse/measure.h"

#include <string.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

static const struct {
    const char *name;
    enum measure_unit unit;
    const char *words;
} measures[MEASURE_END] = {
    [MEASURE_NATURAL] = {"", MEASURE_NS, ""},
    [MEASURE_TIME] = {"time", MEASURE_NS, "in all"},
    [MEASURE_SAMPLED] = {"sampled", MEASURE_NS, "in all, by samples"},
    [MEASURE_PEAK] = {"peak", MEASURE_BYTES, "alive at the peak"},
    [MEASURE_TOTAL] = {"total", MEASURE_BYTES, "allocated in all"},
    [MEASURE_LEAKED] = {"leaked", MEASURE_BYTES, "never freed"},
    [MEASURE_TEMPORARY] = {"temporary", MEASURE_BYTES, "freed at once"},
    [MEASURE_PEAK_COUNT] = {"peak-count", MEASURE_BLOCKS, "blocks alive at the peak"},
    [MEASURE_TOTAL_COUNT] = {"count", MEASURE_BLOCKS, "allocations"},
    [MEASURE_LEAKED_COUNT] = {"leaked-count", MEASURE_BLOCKS, "blocks never freed"},
    [MEASURE_TEMPORARY_COUNT] = {"temporary-count", MEASURE_BLOCKS, "allocations freed at once"},
};

const char *const measure_names[] = {"time",         "sampled",         "peak",       "total",
                                     "leaked",       "temporary",       "peak-count", "count",
                                     "leaked-count", "temporary-count", NULL};

int measure_find(const char *name, enum measure *measure, struct err *err)
{
    for (int i = 0; i < MEASURE_END; i++)
        if (strcmp(measures[i].name, name) == 0) {
            *measure = (enum measure)i;
            return 0;
        }
    return err_set(
        err, "there is no measure \"%s\": use time, sampled, peak, total, leaked, temporary or count", name);
}

static bool is_made_by(const struct recording *recording, const char *command)
{
    const char *mode = recording_meta(recording, "mode");
    return mode && strcmp(mode, command) == 0;
}

bool measure_has_memory(const struct recording *recording)
{
    bool meant = is_made_by(recording, "mem") && recording_meta(recording, "heap");
    return recording->heap_count || recording->allocations_count || meant;
}

static bool has_both(const struct recording *recording)
{
    return recording->samples_count && recording->calls_count;
}

bool measure_is_of_samples(const struct recording *recording, enum measure measure)
{
    bool sampled = recording->samples_count || recording_meta(recording, "rate_hz");
    return sampled && (measure == MEASURE_SAMPLED || (measure == MEASURE_TIME && !recording->calls_count));
}

static bool has_time(const struct recording *recording)
{
    return recording->calls_count || recording->samples_count || recording->functions_count ||
           recording->lines_count;
}

bool measure_is_offered(const struct recording *recording, enum measure measure)
{
    if (measure_is_memory(measure))
        return measure_has_memory(recording);
    return measure == MEASURE_SAMPLED ? has_both(recording) : has_time(recording);
}

static enum measure natural(const struct recording *recording)
{
    if (measure_has_memory(recording) && (!has_time(recording) || is_made_by(recording, "mem")))
        return MEASURE_PEAK;
    return has_both(recording) && is_made_by(recording, "record") ? MEASURE_SAMPLED : MEASURE_TIME;
}

enum measure measure_of(const struct recording *recording, const struct selection *selection)
{
    bool chosen = selection && selection->measure != MEASURE_NATURAL;
    bool is_part = selection && (selection->begin_ns || selection->end_ns);
    enum measure measure = chosen ? selection->measure : natural(recording);
    bool only_sums = has_both(recording) && !recording->call_events_count;
    return measure == MEASURE_TIME && is_part && only_sums ? MEASURE_SAMPLED : measure;
}

const char *measure_name(enum measure measure)
{
    return measures[measure].name;
}

const char *measure_words(enum measure measure)
{
    return measures[measure].words;
}

enum measure_unit measure_unit(enum measure measure)
{
    return measures[measure].unit;
}

const char *measure_suffix(enum measure measure)
{
    static const char *const suffixes[] = {"ns", "bytes", "blocks"};
    return suffixes[measures[measure].unit];
}

struct quantity measure_quantity(enum measure measure, uint64_t amount)
{
    switch (measures[measure].unit) {
    case MEASURE_BYTES:
        return quantity_bytes((double)amount);
    case MEASURE_BLOCKS:
        return quantity_count(amount);
    default:
        return quantity_duration((double)amount);
    }
}
