#include "analyse/rank_times.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyse/mpi_groups.h"
#include "analyse/rank_clocks.h"
#include "base/err.h"
#include "store/recording.h"

struct aligning {
    struct recording *recording;
    const struct rank_clocks *clocks;
};

static bool is_same_clock(const struct rank_clock *clock)
{
    return clock->error_ns == RANK_CLOCKS_UNKNOWN ||
           (clock->drift == 0 && (uint64_t)clock->reference_ns == clock->local_ns);
}

static bool has_several(const struct recording *recording)
{
    for (uint32_t id = 2; id < recording->processes_count; id++)
        if (recording->processes[id].rank != recording->processes[1].rank)
            return true;
    return false;
}

static bool are_one(const struct recording *recording, const struct rank_clocks *clocks)
{
    for (uint32_t id = 1; id < recording->processes_count; id++)
        if (!is_same_clock(&clocks->rows[id]))
            return false;
    return true;
}

static void move(const struct aligning *aligning, uint32_t process, uint64_t *time_ns)
{
    if (*time_ns == 0 || is_same_clock(&aligning->clocks->rows[process]))
        return;
    int64_t moved = rank_clocks_time(aligning->clocks, process, *time_ns);
    *time_ns = moved > 0 ? (uint64_t)moved : 1; /* 0 is "not known" */
}

static void move_of_thread(const struct aligning *aligning, uint32_t thread, uint64_t *time_ns)
{
    move(aligning, mpi_groups_process(aligning->recording, thread), time_ns);
}

static void move_lives(const struct aligning *aligning)
{
    struct recording *recording = aligning->recording;
    for (uint32_t id = 1; id < recording->threads_count; id++) {
        move_of_thread(aligning, id, &recording->threads[id].start_ns);
        move_of_thread(aligning, id, &recording->threads[id].end_ns);
    }
    for (uint32_t id = 1; id < recording->processes_count; id++) {
        move(aligning, id, &recording->processes[id].start_ns);
        move(aligning, id, &recording->processes[id].end_ns);
    }
    for (uint32_t i = 0; i < recording->mappings_count; i++)
        move(aligning, recording->mappings[i].process, &recording->mappings[i].since_ns);
}

static void move_events(const struct aligning *aligning)
{
    struct recording *recording = aligning->recording;
    for (uint32_t i = 0; i < recording->call_events_count; i++) {
        move_of_thread(aligning, recording->call_events[i].thread, &recording->call_events[i].start_ns);
        move_of_thread(aligning, recording->call_events[i].thread, &recording->call_events[i].end_ns);
    }
    for (uint32_t i = 0; i < recording->region_events_count; i++)
        move_of_thread(aligning, recording->region_events[i].thread, &recording->region_events[i].time_ns);
    for (uint32_t i = 0; i < recording->marks_count; i++)
        move_of_thread(aligning, recording->marks[i].thread, &recording->marks[i].time_ns);
    for (uint32_t i = 0; i < recording->samples_count; i++)
        move_of_thread(aligning, recording->samples[i].thread, &recording->samples[i].time_ns);
}

static void move_values(const struct aligning *aligning)
{
    struct recording *recording = aligning->recording;
    for (uint32_t i = 0; i < recording->series_count; i++)
        move(aligning, recording->counters[recording->series[i].counter].process,
             &recording->series[i].time_ns);
    for (uint32_t i = 0; i < recording->heap_count; i++)
        move_of_thread(aligning, recording->heap[i].thread, &recording->heap[i].at_ns);
    for (uint32_t i = 0; i < recording->allocations_count; i++)
        move_of_thread(aligning, recording->allocations[i].thread, &recording->allocations[i].time_ns);
}

static void move_messages(const struct aligning *aligning)
{
    struct recording *recording = aligning->recording;
    for (uint32_t i = 0; i < recording->messages_count; i++) {
        move_of_thread(aligning, recording->messages[i].thread, &recording->messages[i].time_ns);
        move_of_thread(aligning, recording->messages[i].thread, &recording->messages[i].posted_ns);
    }
    for (uint32_t i = 0; i < recording->collectives_count; i++) {
        move_of_thread(aligning, recording->collectives[i].thread, &recording->collectives[i].time_ns);
        move_of_thread(aligning, recording->collectives[i].thread, &recording->collectives[i].posted_ns);
    }
}

/* From now on each process's clock is the run's, as well as it was known. */
static int replace_clocks(struct recording *recording, const struct rank_clocks *clocks, struct err *err)
{
    recording->clocks_count = 0;
    for (uint32_t id = 1; id < recording->processes_count; id++) {
        if (clocks->rows[id].error_ns == RANK_CLOCKS_UNKNOWN)
            continue;
        struct clock_row row = {
            .local_ns = 1, .reference_ns = 1, .error_ns = clocks->rows[id].error_ns, .process = id};
        if (recording_add_clock(recording, &row) == UINT32_MAX)
            return err_set(err, "out of memory for the clocks of %u processes", recording->processes_count);
    }
    return 0;
}

int rank_times_align(struct recording *recording, struct err *err)
{
    struct mpi_groups groups;
    struct rank_clocks clocks;
    if (!has_several(recording))
        return 0;
    if (mpi_groups_build(recording, &groups, err) < 0)
        return -1;
    int result = rank_clocks_build(recording, &groups, &clocks, err);
    mpi_groups_clear(&groups);
    if (result < 0)
        return -1;
    if (!are_one(recording, &clocks)) {
        struct aligning aligning = {.recording = recording, .clocks = &clocks};
        move_events(&aligning);
        move_values(&aligning);
        move_messages(&aligning);
        move_lives(&aligning);
        result = replace_clocks(recording, &clocks, err);
    }
    rank_clocks_clear(&clocks);
    return result;
}
