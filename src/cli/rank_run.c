#include "cli/rank_run.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "analyse/merge.h"
#include "analyse/mpi_suspects.h"
#include "analyse/native_stacks.h"
#include "analyse/rank_owners.h"
#include "analyse/series.h"
#include "base/err.h"
#include "base/rank_list.h"
#include "cli/input.h"
#include "cli/report_mpi.h"

#define MPI_EVENTS_MAX 10000000

/* Lines and memory over time have reports of their own, of all ranks together. */
static bool is_of_ranks(const struct rank_run_view *view, const struct recording *recording)
{
    bool has_functions = !functions_are_of_lines(recording) && !recording->lines_count &&
                         !recording->line_memory_count && !series_is_all(recording);
    return rank_owners_has_any(recording) && (has_functions || view->any_kind);
}

static int add_recording(const struct rank_run_view *view, struct recording *recording,
                         struct rank_table *table, struct err *err)
{
    struct selection selection = {.idle = view->idle, .gil = view->gil};
    const char *measure = selection_options_measure(view->measure, &view->sort, recording);
    if (native_stacks_name(recording, view->internals, err) < 0 ||
        selection_options_narrow_some(&view->part, recording, err) < 0 ||
        selection_options_choose(measure, view->range, recording, &selection, err) < 0)
        return -1;
    return rank_table_add(table, recording, &selection, err);
}

/* What findings say of MPI needs the events of all ranks; of too many of them they are silent. */
static int add_mpi(struct recording *recording, struct merge *mpi, struct err *err)
{
    uint64_t events = (uint64_t)mpi->result.messages_count + mpi->result.collectives_count;
    if (!mpi_suspects_has(recording) || events > MPI_EVENTS_MAX)
        return 0;
    report_mpi_strip(recording);
    return merge_add(mpi, recording, err);
}

/* A file that cannot be read costs itself only, and so does one of no rank among others. */
static int add_file(const struct rank_run_view *view, const char *path, struct rank_table *table,
                    struct merge *mpi, struct err *err)
{
    struct recording recording = {0};
    struct err why = {0};
    int result = input_read(path, &recording, &why);
    bool is_ranked = result == 0 && is_of_ranks(view, &recording);
    if (result == 0 && !is_ranked)
        err_set(&why, "%s: it is of no rank", path);
    if (is_ranked && add_recording(view, &recording, table, err) == 0)
        result = add_mpi(&recording, mpi, err);
    else if (is_ranked)
        result = -1;
    else if (result == 0 && !table->rank_count)
        result = RANK_RUN_NONE;
    else
        result = rank_table_note_unread(table, why.text, err);
    recording_clear(&recording);
    return result;
}

static int finish(struct rank_run *run, const struct rank_run_view *view, struct err *err)
{
    if (rank_table_finish(&run->table, err) < 0)
        return -1;
    if (view->part.modules.count && !rank_table_function_count(&run->table))
        return err_set(err, "no rank has the module '%s': 'sonde report --by module' lists them",
                       view->part.modules.items[0]);
    return run->table.rank_count > 1 ? 0 : RANK_RUN_NONE;
}

int rank_run_read_files(struct rank_run *run, const struct rank_run_view *view,
                        const struct input_paths *paths, struct err *err)
{
    struct merge merge = {0};
    int result = 0;
    run->table.with_paths = view->paths;
    for (size_t i = 0; i < paths->count && result == 0; i++)
        result = add_file(view, paths->items[i], &run->table, &merge, err);
    if (result == 0 && merge.added)
        result = merge_take(&merge, &run->mpi, err);
    merge_clear(&merge);
    run->table.mpi = mpi_suspects_has(&run->mpi) ? &run->mpi : NULL;
    return result == 0 ? finish(run, view, err) : result;
}

int rank_run_take_in(struct rank_run *run, const struct rank_run_view *view, struct recording *recording,
                     struct err *err)
{
    if (!is_of_ranks(view, recording) || rank_owners_only(recording) != RANK_NONE)
        return RANK_RUN_NONE;
    run->table.with_paths = view->paths;
    if (add_recording(view, recording, &run->table, err) < 0)
        return -1;
    run->table.mpi = recording;
    return finish(run, view, err);
}

void rank_run_clear(struct rank_run *run)
{
    rank_table_clear(&run->table);
    recording_clear(&run->mpi);
}

/* False when the name does not tell. */
static bool rank_of_file(const char *path, uint32_t *rank)
{
    static const char prefix[] = "rank-";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncmp(name, prefix, strlen(prefix)) != 0)
        return false;
    char *end;
    unsigned long number = strtoul(name + strlen(prefix), &end, 10);
    *rank = (uint32_t)number;
    return end > name + strlen(prefix) && *end == '.' && number < UINT32_MAX;
}

int rank_run_choose_files(const char *ranks, struct input_paths *paths, struct err *err)
{
    size_t kept = 0;
    bool has = false;
    if (!rank_list_has(ranks, 0, &has))
        return err_set(err, "--rank must be a list such as 0,7,100-115, which '%s' is not", ranks);
    for (size_t i = 0; i < paths->count; i++) {
        uint32_t rank;
        bool stays = !rank_of_file(paths->items[i], &rank) || (rank_list_has(ranks, rank, &has) && has);
        if (stays)
            paths->items[kept++] = paths->items[i];
        else
            free(paths->items[i]);
    }
    paths->count = kept;
    return kept ? 0 : err_set(err, "no file is of rank %s: 'sonde report --by rank' lists them", ranks);
}
