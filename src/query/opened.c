#include "query/opened.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/measure.h"
#include "analyse/native_stacks.h"
#include "analyse/rank_times.h"
#include "base/err.h"
#include "import/formats.h"
#include "store/call_events.h"
#include "store/memory_rows.h"
#include "store/mpi_rows.h"

static struct opened_recording *add_row(struct opened *opened, const char *name, struct err *err)
{
    struct opened_recording *row = opened->count < OPENED_MAX ? &opened->rows[opened->count] : NULL;
    if (!row) {
        err_set(err, "%s: %d recordings are open already", name, OPENED_MAX);
        return NULL;
    }
    *row = (struct opened_recording){.name = strdup(name)};
    if (row->name)
        return row;
    err_set(err, "out of memory");
    return NULL;
}

/* Its name and most of its recording are the whole one's. */
static void forget_chosen(struct opened_recording **chosen)
{
    struct opened_recording *part = *chosen;
    *chosen = NULL;
    if (!part)
        return;
    tree_clear(&part->tree);
    functions_clear(&part->functions);
    rank_table_clear(&part->ranks_table);
    mpi_suspects_clear(&part->mpi);
    mpi_pairs_clear(&part->pairs);
    chosen_clear(&(struct chosen){part->recording});
    free(part->modules);
    free(part->region);
    free(part->ranks);
    free(part);
}

static void forget_parts(struct opened_recording *row)
{
    forget_chosen(&row->chosen[0]);
    forget_chosen(&row->chosen[1]);
}

static void clear_row(struct opened_recording *row)
{
    forget_parts(row);
    tree_clear(&row->tree);
    functions_clear(&row->functions);
    rank_table_clear(&row->ranks_table);
    mpi_suspects_clear(&row->mpi);
    mpi_pairs_clear(&row->pairs);
    if (row->is_fed)
        follow_clear(&row->follow);
    recording_clear(&row->recording);
    free(row->name);
    *row = (struct opened_recording){0};
}

static int read_whole(const char *name, const void *data, size_t size, struct recording *recording,
                      struct err *err)
{
    if (formats_read(data, size, name, recording, err) == 0 && rank_times_align(recording, err) == 0 &&
        native_stacks_name(recording, false, err) == 0)
        return 0;
    recording_clear(recording);
    return -1;
}

int opened_add(struct opened *opened, const char *name, const void *data, size_t size, struct err *err)
{
    struct opened_recording *row = add_row(opened, name, err);
    if (!row)
        return -1;
    if (read_whole(name, data, size, &row->recording, err) < 0) {
        clear_row(row);
        return -1;
    }
    opened->count++;
    return 0;
}

int opened_add_live(struct opened *opened, const char *name, struct err *err)
{
    struct opened_recording *row = add_row(opened, name, err);
    if (!row)
        return -1;
    row->is_live = row->is_fed = true;
    if (follow_init(&row->follow, &row->recording, row->name, err) < 0) {
        clear_row(row);
        return -1;
    }
    opened->count++;
    return 0;
}

static void forget_tables(struct opened_recording *row)
{
    tree_clear(&row->tree);
    functions_clear(&row->functions);
    rank_table_clear(&row->ranks_table);
    row->has_tree = row->has_functions = row->has_ranks = false;
}

static void forget_all(struct opened_recording *row)
{
    mpi_suspects_clear(&row->mpi);
    mpi_pairs_clear(&row->pairs);
    row->has_mpi = row->has_pairs = false;
    forget_tables(row);
    forget_parts(row);
}

int opened_begin_again(struct opened_recording *row, struct err *err)
{
    forget_all(row);
    if (row->is_fed)
        follow_clear(&row->follow);
    recording_clear(&row->recording);
    row->is_fed = follow_init(&row->follow, &row->recording, row->name, err) == 0;
    return row->is_fed ? 0 : -1;
}

int opened_feed(struct opened_recording *row, const void *data, size_t size, struct err *err)
{
    forget_all(row);
    return follow_feed(&row->follow, data, size, err);
}

int opened_settle(struct opened_recording *row, struct err *err)
{
    forget_all(row);
    if (row->recording.addresses_count)
        return OPENED_MUST_REPLACE;
    if (recording_order_samples(&row->recording, err) < 0 || memory_rows_order(&row->recording, err) < 0 ||
        mpi_rows_order(&row->recording, err) < 0 || call_events_order(&row->recording, err) < 0)
        return -1;
    return recording_compact_calls(&row->recording, err);
}

int opened_replace(struct opened_recording *row, const void *data, size_t size, struct err *err)
{
    struct recording recording = {0};
    if (row->is_fed)
        follow_clear(&row->follow);
    row->is_fed = false;
    if (read_whole(row->name, data, size, &recording, err) < 0)
        return -1;
    forget_all(row);
    recording_clear(&row->recording);
    row->recording = recording;
    return 0;
}

struct opened_recording *opened_find(struct opened *opened, uint32_t number, struct err *err)
{
    if (number < opened->count)
        return &opened->rows[number];
    err_set(err, "recording %u is not open; there are %u", number, opened->count);
    return NULL;
}

static bool is_chosen(const struct opened_recording *part, struct chosen_by by)
{
    return part && part->own == by.own && strcmp(part->modules, by.modules) == 0 &&
           strcmp(part->region, by.region) == 0 && strcmp(part->ranks, by.ranks) == 0;
}

/* Takes the recording, also when it fails. */
static int keep_chosen(struct opened_recording *row, struct chosen_by by, struct chosen *chosen,
                       struct opened_recording **place, struct err *err)
{
    struct opened_recording *made = calloc(1, sizeof *made);
    char *modules = strdup(by.modules), *region = strdup(by.region), *ranks = strdup(by.ranks);
    if (!made || !modules || !region || !ranks) {
        free(modules);
        free(region);
        free(ranks);
        free(made);
        chosen_clear(chosen);
        return err_set(err, "out of memory");
    }
    *made = (struct opened_recording){.name = row->name,
                                      .recording = chosen->recording,
                                      .is_live = row->is_live,
                                      .modules = modules,
                                      .region = region,
                                      .ranks = ranks,
                                      .own = by.own};
    *place = made;
    return 0;
}

static struct opened_recording *choose_part(struct opened_recording *row, struct chosen_by by,
                                            struct opened_recording **place, struct err *err)
{
    struct chosen chosen = {0};
    if (!by.own && !*by.modules && !*by.region && !*by.ranks)
        return row;
    if (is_chosen(*place, by))
        return *place;
    forget_chosen(place);
    if (chosen_build(&row->recording, by, &chosen, err) < 0 || keep_chosen(row, by, &chosen, place, err) < 0)
        return NULL;
    return *place;
}

struct opened_recording *opened_choose(struct opened_recording *row, struct chosen_by by, struct err *err)
{
    return choose_part(row, by, &row->chosen[0], err);
}

struct opened_recording *opened_choose_second(struct opened_recording *row, struct chosen_by by,
                                              struct err *err)
{
    return choose_part(row, by, &row->chosen[1], err);
}

void opened_clear(struct opened *opened)
{
    for (uint32_t i = 0; i < opened->count; i++)
        clear_row(&opened->rows[i]);
    opened->count = 0;
}

/* A measure that is said by its name may be the one that goes without saying. */
static bool is_same(const struct recording *recording, const struct selection *a, const struct selection *b)
{
    return a->process == b->process && a->thread == b->thread && a->idle == b->idle && a->gil == b->gil &&
           a->lines == b->lines && measure_of(recording, a) == measure_of(recording, b) &&
           a->begin_ns == b->begin_ns && a->end_ns == b->end_ns;
}

static void choose(struct opened_recording *row, const struct selection *selection)
{
    if (!is_same(&row->recording, &row->selection, selection))
        forget_tables(row);
    row->selection = *selection;
}

const struct tree *opened_tree(struct opened_recording *row, const struct selection *selection,
                               struct err *err)
{
    choose(row, selection);
    if (!row->has_tree && tree_build(&row->recording, selection, &row->tree, err) < 0)
        return NULL;
    row->has_tree = true;
    return &row->tree;
}

const struct functions *opened_functions(struct opened_recording *row, const struct selection *selection,
                                         struct err *err)
{
    const struct tree *tree = opened_tree(row, selection, err);
    if (!tree)
        return NULL;
    if (!row->has_functions &&
        (tree->estimated ? functions_build(&row->recording, selection, &row->functions, err)
                         : functions_build_from(&row->recording, selection, tree, &row->functions, err)) < 0)
        return NULL;
    row->has_functions = true;
    return &row->functions;
}

const struct rank_table *opened_ranks(struct opened_recording *row, const struct selection *selection,
                                      struct err *err)
{
    choose(row, selection);
    if (row->has_ranks)
        return &row->ranks_table;
    rank_table_clear(&row->ranks_table);
    if (rank_table_add(&row->ranks_table, &row->recording, selection, err) < 0 ||
        rank_table_finish(&row->ranks_table, err) < 0)
        return NULL;
    row->has_ranks = true;
    return &row->ranks_table;
}

const struct mpi_suspects *opened_mpi(struct opened_recording *row, struct err *err)
{
    row->has_mpi = row->has_mpi || mpi_suspects_init(&row->mpi, &row->recording, err) == 0;
    return row->has_mpi ? &row->mpi : NULL;
}

const struct mpi_pairs *opened_pairs(struct opened_recording *row, struct err *err)
{
    row->has_pairs = row->has_pairs || mpi_pairs_build(&row->recording, &row->pairs, err) == 0;
    return row->has_pairs ? &row->pairs : NULL;
}
