#include "analyse/rank_part.h"

#include <stdlib.h>

#include "analyse/rank_owners.h"
#include "base/err.h"
#include "base/rank_list.h"
#include "store/recording.h"

/* New ids of the rows that stay; GONE = it does not. Those of row 0 are 0. */
#define GONE UINT32_MAX
struct places {
    uint32_t *processes, *threads, *counters, *communicators;
};

static void clear_places(struct places *places)
{
    free(places->processes);
    free(places->threads);
    free(places->counters);
    free(places->communicators);
}

static uint32_t *new_places(uint32_t count)
{
    return calloc((size_t)count + 1, sizeof(uint32_t));
}

/* By process: whether it is of one of the ranks. How many are, or -1 with words. */
static int64_t mark_processes(const struct recording *recording, const char *list, uint32_t *places,
                              struct err *err)
{
    uint32_t *owners = rank_owners_new(recording, err);
    uint32_t kept = 0;
    bool is_list = owners != NULL, has = false;
    if (!owners)
        return -1;
    for (uint32_t i = 1; i < recording->processes_count && is_list; i++) {
        is_list = rank_list_has(list, owners[i] == RANK_NONE ? 0 : owners[i], &has);
        places[i] = has && owners[i] != RANK_NONE ? ++kept : GONE;
    }
    free(owners);
    if (!is_list)
        return err_set(err, "a list of ranks is such as 0,7,100-115, which '%s' is not", list);
    if (!kept)
        return err_set(err, "the recording has no rank of '%s': 'sonde report --by rank' lists them", list);
    return kept;
}

/* Rows [1 ...] of an array get new ids when the process that they are of stays; `of` is its field. */
#define NUMBER(recording, array, of, processes, places)                                                      \
    do {                                                                                                     \
        uint32_t kept = 0;                                                                                   \
        for (uint32_t i = 1; i < (recording)->array##_count; i++)                                            \
            (places)[i] = (processes)[(recording)->array[i].of] == GONE ? GONE : ++kept;                     \
    } while (0)

/* Keeps the rows whose `field` stays, and puts its new id in. */
#define KEEP(recording, array, field, places)                                                                \
    do {                                                                                                     \
        uint32_t kept = 0;                                                                                   \
        for (uint32_t i = 0; i < (recording)->array##_count; i++) {                                          \
            if ((places)[(recording)->array[i].field] == GONE)                                               \
                continue;                                                                                    \
            (recording)->array[kept] = (recording)->array[i];                                                \
            (recording)->array[kept].field = (places)[(recording)->array[i].field];                          \
            kept++;                                                                                          \
        }                                                                                                    \
        (recording)->array##_count = kept;                                                                   \
    } while (0)

/* What a kept row names is its own process's, and stays, too. */
#define RENAME(recording, array, field, places)                                                              \
    do {                                                                                                     \
        for (uint32_t i = 0; i < (recording)->array##_count; i++) {                                          \
            uint32_t place = (places)[(recording)->array[i].field];                                          \
            (recording)->array[i].field = place == GONE ? 0 : place;                                         \
        }                                                                                                    \
    } while (0)

static void keep_processes(struct recording *recording, const uint32_t *places)
{
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        if (places[i] == GONE)
            continue;
        struct process process = recording->processes[i];
        uint32_t parent = places[process.parent];
        process.parent = parent == GONE ? 0 : parent;
        recording->processes[places[i]] = process;
    }
}

static void keep_rows_of_threads(struct recording *recording, const uint32_t *threads)
{
    KEEP(recording, calls, thread, threads);
    KEEP(recording, lines, thread, threads);
    KEEP(recording, samples, thread, threads);
    KEEP(recording, call_events, thread, threads);
    KEEP(recording, region_events, thread, threads);
    KEEP(recording, marks, thread, threads);
    KEEP(recording, heap, thread, threads);
    KEEP(recording, allocations, thread, threads);
    KEEP(recording, line_memory, thread, threads);
    KEEP(recording, messages, thread, threads);
    KEEP(recording, collectives, thread, threads);
    KEEP(recording, mpi_totals, thread, threads);
}

static void keep_rows_of_processes(struct recording *recording, const struct places *places)
{
    KEEP(recording, threads, process, places->processes);
    KEEP(recording, counters, process, places->processes);
    KEEP(recording, communicators, process, places->processes);
    KEEP(recording, mappings, process, places->processes);
    KEEP(recording, heap_sizes, process, places->processes);
    KEEP(recording, clocks, process, places->processes);
    KEEP(recording, notes, process, places->processes);
    KEEP(recording, series, counter, places->counters);
    RENAME(recording, messages, communicator, places->communicators);
    RENAME(recording, collectives, communicator, places->communicators);
    RENAME(recording, mpi_totals, communicator, places->communicators);
}

/* Line times and flat profiles that name no thread are the only rank's, which is either chosen or not there. */
static void keep_all(struct recording *recording, const struct places *places, uint32_t processes)
{
    if (rank_owners_only(recording) == RANK_NONE)
        recording->functions_count = recording->edges_count = 0;
    NUMBER(recording, threads, process, places->processes, places->threads);
    NUMBER(recording, counters, process, places->processes, places->counters);
    NUMBER(recording, communicators, process, places->processes, places->communicators);
    keep_rows_of_threads(recording, places->threads);
    keep_rows_of_processes(recording, places);
    keep_processes(recording, places->processes);
    recording->processes_count = processes + 1;
}

int rank_part_keep(struct recording *recording, const char *list, struct err *err)
{
    struct places places = {.processes = new_places(recording->processes_count),
                            .threads = new_places(recording->threads_count),
                            .counters = new_places(recording->counters_count),
                            .communicators = new_places(recording->communicators_count)};
    bool has_room = places.processes && places.threads && places.counters && places.communicators;
    int64_t kept = has_room ? mark_processes(recording, list, places.processes, err)
                            : err_set(err, "not enough memory to choose ranks");
    if (kept > 0)
        keep_all(recording, &places, (uint32_t)kept);
    clear_places(&places);
    return kept > 0 ? 0 : -1;
}

bool *rank_part_threads_new(const struct recording *recording, const char *list, struct err *err)
{
    uint32_t *places = new_places(recording->processes_count);
    bool *is_of = calloc((size_t)recording->threads_count + 1, sizeof *is_of);
    int64_t kept = places && is_of ? mark_processes(recording, list, places, err)
                                   : err_set(err, "not enough memory to choose ranks");
    for (uint32_t i = 0; kept > 0 && i < recording->threads_count; i++)
        is_of[i] =
            i ? places[recording->threads[i].process] != GONE : rank_owners_only(recording) != RANK_NONE;
    free(places);
    if (kept > 0)
        return is_of;
    free(is_of);
    return NULL;
}
