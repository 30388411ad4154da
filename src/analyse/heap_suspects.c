#include "analyse/heap_suspects.h"

#include "analyse/heap_weights.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

#define PEAK_MIN_SHARE      0.10
#define LEAK_MIN_BYTES      (64 * 1024)
#define LEAK_MIN_SHARE      0.001 /* of the peak */
#define TEMPORARY_MIN_COUNT 10000
#define TEMPORARY_MIN_SHARE 0.05 /* of all allocations */
#define MANY_MIN_COUNT      100000
#define MANY_MIN_SHARE      0.30
#define CHURN_MIN_BYTES     (1ull << 30)
#define CHURN_MIN_TIMES     10 /* the peak */
#define ARENAS_MIN_BYTES    (8ull << 20)
#define ARENAS_MIN_SHARE    0.10

static double part(uint64_t some, uint64_t whole)
{
    return whole ? (double)some / (double)whole : 0;
}

static const struct heap_total *whole(const struct heap_suspects *suspects, enum measure measure)
{
    return &suspects->totals.of[measure];
}

/* Estimates are not said as if they were counted. */
static const char *about(const struct heap_suspects *suspects, const char *word)
{
    return suspects->totals.sampled ? word : "";
}

static void put_place(const struct heap_suspects *suspects, const struct heap_site *site, struct bytes *text,
                      uint32_t *code)
{
    heap_sites_put(suspects->recording, site, text);
    *code = site->code;
}

static double look_peak(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct heap_site *most = heap_sites_most(&suspects->sites, MEASURE_PEAK);
    uint64_t all = whole(suspects, MEASURE_PEAK)->bytes;
    double share = most ? part(most->of[MEASURE_PEAK].bytes, all) : 0;
    if (share < PEAK_MIN_SHARE)
        return 0;
    bytes_putf(text, "%s of the %s %s come from ", quantity_share(share).text,
               quantity_bytes((double)all).text,
               suspects->ranged ? "that were allocated in this time and not freed" : "at the peak");
    put_place(suspects, most, text, code);
    uint64_t count = most->of[MEASURE_PEAK].count;
    bytes_putf(text, ": %s%s block%s.", about(suspects, "about "), quantity_count(count).text,
               count == 1 ? "" : "s");
    return share;
}

/* Blocks of one size are a sign of one kind of object. */
static void put_blocks(const struct heap_total *total, struct bytes *text)
{
    if (total->count == 1)
        bytes_put_text(text, "one block");
    else if (total->count)
        bytes_putf(text, "%s blocks of %s%s", quantity_count(total->count).text,
                   quantity_bytes((double)total->bytes / (double)total->count).text,
                   total->bytes % total->count ? " on average" : "");
}

static double look_leak(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct heap_site *most =
        suspects->ranged ? NULL : heap_sites_most(&suspects->sites, MEASURE_LEAKED);
    double share = most ? part(most->of[MEASURE_LEAKED].bytes, whole(suspects, MEASURE_PEAK)->bytes) : 0;
    if (share < LEAK_MIN_SHARE || most->of[MEASURE_LEAKED].bytes < LEAK_MIN_BYTES)
        return 0;
    bytes_putf(text, "%s%s allocated by ", about(suspects, "About "),
               quantity_bytes((double)most->of[MEASURE_LEAKED].bytes).text);
    put_place(suspects, most, text, code);
    bytes_put_text(text, suspects->totals.ended ? " were never freed: "
                                                : " were still alive when the recording ended: ");
    put_blocks(&most->of[MEASURE_LEAKED], text);
    bytes_put_u8(text, '.');
    return share < 1 ? share : 1;
}

static const struct heap_site *most_blocks(const struct heap_sites *sites, enum measure measure)
{
    const struct heap_site *most = NULL;
    for (uint32_t i = 0; i < sites->count; i++)
        if (sites->rows[i].of[measure].count > (most ? most->of[measure].count : 0))
            most = &sites->rows[i];
    return most;
}

static double look_temporary(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct heap_site *most = most_blocks(&suspects->sites, MEASURE_TEMPORARY);
    uint64_t count = most ? most->of[MEASURE_TEMPORARY].count : 0;
    double share = part(count, whole(suspects, MEASURE_TOTAL)->count);
    if (count < TEMPORARY_MIN_COUNT || share < TEMPORARY_MIN_SHARE)
        return 0;
    bytes_putf(text, "%s%s temporary allocations in ", about(suspects, "About "), quantity_count(count).text);
    put_place(suspects, most, text, code);
    bytes_putf(text, ", %s of all: each was freed before the next one was made.", quantity_share(share).text);
    return share;
}

/* What is said of its temporary allocations is enough. */
static bool is_temporary(const struct heap_suspects *suspects, const struct heap_site *site)
{
    uint64_t count = site->of[MEASURE_TEMPORARY].count;
    return count >= TEMPORARY_MIN_COUNT && count * 2 > site->of[MEASURE_TOTAL].count &&
           part(count, whole(suspects, MEASURE_TOTAL)->count) >= TEMPORARY_MIN_SHARE;
}

static double look_many(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct heap_site *most = most_blocks(&suspects->sites, MEASURE_TOTAL);
    uint64_t all = whole(suspects, MEASURE_TOTAL)->count;
    double share = most ? part(most->of[MEASURE_TOTAL].count, all) : 0;
    if (share < MANY_MIN_SHARE || most->of[MEASURE_TOTAL].count < MANY_MIN_COUNT ||
        is_temporary(suspects, most))
        return 0;
    bytes_putf(text, "%s of the %s%s allocations are made by ", quantity_share(share).text,
               about(suspects, "about "), quantity_count(all).text);
    put_place(suspects, most, text, code);
    bytes_put_text(text, ": ");
    put_blocks(&most->of[MEASURE_TOTAL], text);
    bytes_put_u8(text, '.');
    return share;
}

static double look_churn(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code)
{
    uint64_t all = whole(suspects, MEASURE_TOTAL)->bytes, peak = whole(suspects, MEASURE_PEAK)->bytes;
    const struct heap_site *most = heap_sites_most(&suspects->sites, MEASURE_TOTAL);
    if (!most || !peak || suspects->ranged || all < CHURN_MIN_BYTES || all / peak < CHURN_MIN_TIMES)
        return 0;
    bytes_putf(text, "%s were allocated in all, %s times what was alive at the peak; %s of it by ",
               quantity_bytes((double)all).text, quantity_count(all / peak).text,
               quantity_share(part(most->of[MEASURE_TOTAL].bytes, all)).text);
    put_place(suspects, most, text, code);
    bytes_put_u8(text, '.');
    return part(most->of[MEASURE_TOTAL].bytes, all);
}

static double look_arenas(const struct heap_suspects *suspects, struct bytes *text, uint32_t *code)
{
    (void)code;
    uint64_t bytes = suspects->totals.arenas.bytes;
    double share = part(bytes, whole(suspects, MEASURE_PEAK)->bytes);
    if (suspects->ranged || bytes < ARENAS_MIN_BYTES || share < ARENAS_MIN_SHARE)
        return 0;
    bytes_putf(
        text,
        "Python's object allocator still held %s at the end; sonde mem --python-allocators tells whose "
        "objects are in it.",
        quantity_bytes((double)bytes).text);
    return share < 1 ? share : 1;
}

const struct heap_suspect heap_suspects_list[] = {
    {"peak", look_peak},
    {"leak", look_leak},
    {"temporary", look_temporary},
    {"many-allocations", look_many},
    {"churn", look_churn},
    {"arenas", look_arenas},
    {NULL, NULL},
};

int heap_suspects_init(struct heap_suspects *suspects, const struct recording *recording,
                       const struct selection *selection, struct err *err)
{
    *suspects = (struct heap_suspects){.recording = recording, .ranged = heap_weights_of_range(selection)};
    if (heap_totals_build(recording, selection, &suspects->totals, err) < 0)
        return -1;
    return heap_sites_build(recording, selection, &suspects->sites, err);
}

void heap_suspects_clear(struct heap_suspects *suspects)
{
    heap_sites_clear(&suspects->sites);
    *suspects = (struct heap_suspects){0};
}
