/* memory: what was allocated in all, alive at the peak, never freed and freed at once; where; and of which sizes. */
#include <stdlib.h>

#include "analyse/heap_sites.h"
#include "analyse/heap_totals.h"
#include "analyse/heap_weights.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

static void put_number(struct answer *answer, const char *key, uint64_t value)
{
    json_key(&answer->json, key);
    json_unsigned(&answer->json, value);
}

static void put_flag(struct answer *answer, const char *key, bool value)
{
    json_key(&answer->json, key);
    json_bool(&answer->json, value);
}

static void put_totals(struct answer *answer, const struct heap_totals *totals)
{
    static const char *const keys[][2] = {{"peak_bytes", "peak_count"},
                                          {"total_bytes", "total_count"},
                                          {"leaked_bytes", "leaked_count"},
                                          {"temporary_bytes", "temporary_count"}};
    for (int i = 0; i < 4; i++) {
        put_number(answer, keys[i][0], totals->of[MEASURE_PEAK + i].bytes);
        put_number(answer, keys[i][1], totals->of[MEASURE_PEAK + i].count);
    }
    put_number(answer, "kept_bytes", totals->kept.bytes);
    put_number(answer, "arena_bytes", totals->arenas.bytes);
    put_number(answer, "peak_ns", totals->peak_ns);
    put_number(answer, "sample_bytes", totals->sample_bytes);
    put_flag(answer, "sampled", totals->sampled);
    put_flag(answer, "ended", totals->ended);
}

static void put_sizes(struct answer *answer, const struct heap_histogram *sizes)
{
    ANSWER_COLUMNS_PUT_REALS(answer, "size_from", sizes->rows, sizes->count, floor_bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "size_count", sizes->rows, sizes->count, count);
    ANSWER_COLUMNS_PUT_REALS(answer, "size_bytes", sizes->rows, sizes->count, total_bytes);
}

static void put_sites(struct answer *answer, const struct heap_sites *sites, uint32_t limit)
{
    const struct heap_site *rows = sites->rows;
    uint32_t count = limit && limit < sites->count ? limit : sites->count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "site_code", rows, count, code);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "site_line", rows, count, line);
    ANSWER_COLUMNS_PUT_REALS(answer, "site_peak", rows, count, of[MEASURE_PEAK].bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "site_total", rows, count, of[MEASURE_TOTAL].bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "site_leaked", rows, count, of[MEASURE_LEAKED].bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "site_leaked_count", rows, count, of[MEASURE_LEAKED].count);
    ANSWER_COLUMNS_PUT_REALS(answer, "site_temporary", rows, count, of[MEASURE_TEMPORARY].count);
    ANSWER_COLUMNS_PUT_REALS(answer, "site_count", rows, count, of[MEASURE_TOTAL].count);
}

static int put_all(struct answer *answer, const struct recording *recording, const struct request *request,
                   struct err *err)
{
    struct heap_totals totals;
    struct heap_histogram sizes = {0};
    struct heap_sites sites = {0};
    int result = heap_totals_build(recording, &request->selection, &totals, err);
    if (result == 0)
        result = heap_totals_histogram(recording, &request->selection, &sizes, err);
    if (result == 0)
        result = heap_sites_build(recording, &request->selection, &sites, err);
    if (result == 0)
        result = heap_sites_sort(&sites, measure_of(recording, &request->selection), err);
    if (result == 0) {
        put_totals(answer, &totals);
        put_sizes(answer, &sizes);
        put_sites(answer, &sites, request->limit);
    }
    free(sizes.rows);
    heap_sites_clear(&sites);
    return result;
}

int memory_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                 struct answer *answer, struct err *err)
{
    (void)opened;
    put_flag(answer, "of_range", heap_weights_of_range(&request->selection));
    put_flag(answer, "exact_range", heap_weights_is_exact(&row->recording));
    return put_all(answer, &row->recording, request, err);
}
