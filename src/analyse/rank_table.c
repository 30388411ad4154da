#include "analyse/rank_table.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/rank_owners.h"
#include "analyse/rank_sums.h"
#include "base/err.h"

#define EXPECTED_MAX (1u << 24) /* more ranks than any machine has: what a file says is not trusted */

static void clear_cells(struct rank_cells *cells, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(cells[i].rows);
    free(cells);
}

void rank_table_clear(struct rank_table *table)
{
    clear_cells(table->functions, table->function_capacity);
    clear_cells(table->paths, table->path_capacity);
    recording_clear(&table->names);
    strings_clear(&table->identity);
    node_table_clear(&table->nodes);
    map_clear(&table->places);
    for (uint32_t i = 0; i < table->unread_count; i++)
        free(table->unread[i]);
    free(table->unread);
    free(table->ranks);
    free(table->origins);
    *table = (struct rank_table){0};
}

/* ---- ranks ---- */

/* The place of the rank, made when it is new; MAP_NONE when memory ran out. */
static uint32_t place_of(struct rank_table *table, uint32_t number)
{
    uint32_t place = map_get(&table->places, number);
    if (place != MAP_NONE)
        return place;
    if (table->rank_count == table->rank_capacity) {
        uint32_t capacity = table->rank_capacity ? table->rank_capacity * 2 : 64;
        struct rank_row *ranks = realloc(table->ranks, capacity * sizeof *ranks);
        if (!ranks)
            return MAP_NONE;
        table->ranks = ranks;
        table->rank_capacity = capacity;
    }
    if (!map_set(&table->places, number, table->rank_count))
        return MAP_NONE;
    table->ranks[table->rank_count] = (struct rank_row){.number = number, .exit_code = INT32_MIN};
    return table->rank_count++;
}

/* A process that it has started may use MPI on its own, beside the rank's. */
static bool is_alone(const struct recording *recording)
{
    const char *from = recording_meta(recording, "rank_from");
    return recording_meta(recording, "mpi_alone") && (!from || strcmp(from, "MPI_COMM_WORLD") != 0);
}

static uint32_t problems_of(const struct recording *recording)
{
    const struct damage *damage = &recording->damage;
    uint32_t problems = damage->damaged_chunks || damage->orphaned_chunks ? RANK_PROBLEM_DAMAGED : 0;
    problems |= damage->truncated ? RANK_PROBLEM_CUT : 0;
    problems |= recording->chunks_count && !damage->complete ? RANK_PROBLEM_OPEN : 0;
    problems |= is_alone(recording) ? RANK_PROBLEM_ALONE : 0;
    return problems;
}

/* Where the processes of a rank say when they began and ended. */
struct span {
    uint64_t begin_ns, end_ns;
    bool is_open; /* one does not say when it ended */
};

static void add_process(struct rank_table *table, const struct recording *from, const struct process *process,
                        uint32_t place, struct span *span)
{
    struct rank_row *rank = &table->ranks[place];
    if (!rank->processes++ || !rank->host)
        rank->host = strings_intern(&table->names.strings, recording_text(from, process->host),
                                    strings_size(&from->strings, process->host));
    rank->host = rank->host == UINT32_MAX ? 0 : rank->host;
    if (rank->exit_code == INT32_MIN)
        rank->exit_code = process->exit_code;
    span->begin_ns =
        span->begin_ns && span->begin_ns < process->start_ns ? span->begin_ns : process->start_ns;
    span->end_ns = span->end_ns > process->end_ns ? span->end_ns : process->end_ns;
    span->is_open |= !process->end_ns;
}

/* Its last sign of life stands for an end that nobody saw. */
static void close_spans(struct span *spans, const struct recording *from, const uint32_t *place_of_thread)
{
    for (uint32_t i = 1; i < from->threads_count; i++) {
        struct span *span = place_of_thread[i] == MAP_NONE ? NULL : &spans[place_of_thread[i]];
        if (span && span->is_open && from->threads[i].end_ns > span->end_ns)
            span->end_ns = from->threads[i].end_ns;
    }
    for (uint32_t i = 0; i < from->samples_count; i++) {
        const struct sample_row *row = &from->samples[i];
        struct span *span =
            place_of_thread[row->thread] == MAP_NONE ? NULL : &spans[place_of_thread[row->thread]];
        if (span && span->is_open && row->time_ns + row->weight_ns > span->end_ns)
            span->end_ns = row->time_ns + row->weight_ns;
    }
}

static void note_walls(struct rank_table *table, const struct span *spans)
{
    for (uint32_t i = 0; i < table->rank_count; i++) {
        uint64_t wall_ns = spans[i].end_ns > spans[i].begin_ns ? spans[i].end_ns - spans[i].begin_ns : 0;
        if (wall_ns > table->ranks[i].wall_ns)
            table->ranks[i].wall_ns = wall_ns;
    }
}

static void note_expected(struct rank_table *table, const struct recording *recording)
{
    const char *text = recording_meta(recording, "ranks");
    unsigned long expected = text ? strtoul(text, NULL, 10) : 0;
    if (expected > table->expected && expected <= EXPECTED_MAX)
        table->expected = (uint32_t)expected;
}

/* By thread the place of its rank. Thread 0, of what knows none, has that of the only rank. */
static int place_threads(struct rank_table *table, const struct recording *from, const uint32_t *owners,
                         uint32_t *places)
{
    uint32_t only = rank_owners_only(from);
    places[0] = only == RANK_NONE ? MAP_NONE : place_of(table, only);
    for (uint32_t i = 1; i < from->threads_count; i++) {
        uint32_t number = owners[from->threads[i].process];
        places[i] = number == RANK_NONE ? MAP_NONE : place_of(table, number);
        if (places[i] == MAP_NONE && number != RANK_NONE)
            return -1;
    }
    return 0;
}

static int add_ranks(struct rank_table *table, const struct recording *from, const uint32_t *owners,
                     uint32_t *places)
{
    for (uint32_t i = 1; i < from->processes_count; i++)
        if (owners[i] != RANK_NONE && place_of(table, owners[i]) == MAP_NONE)
            return -1;
    if (place_threads(table, from, owners, places) < 0)
        return -1;
    struct span *spans = calloc((size_t)table->rank_count + 1, sizeof *spans);
    for (uint32_t i = 1; spans && i < from->processes_count; i++)
        if (owners[i] != RANK_NONE) {
            uint32_t place = place_of(table, owners[i]);
            table->ranks[place].problems |= problems_of(from);
            add_process(table, from, &from->processes[i], place, &spans[place]);
        }
    if (!spans)
        return -1;
    close_spans(spans, from, places);
    note_walls(table, spans);
    free(spans);
    return 0;
}

/* Of many ranks the notes say which; the other problems are of the file. */
static void note_losses(struct rank_table *table, const struct recording *from, const uint32_t *owners)
{
    for (uint32_t i = 0; i < from->notes_count; i++) {
        uint32_t process = from->notes[i].process;
        uint32_t place =
            process < from->processes_count ? map_get(&table->places, owners[process]) : MAP_NONE;
        if (from->notes[i].kind == NOTE_LOSS && place != MAP_NONE)
            table->ranks[place].problems |= RANK_PROBLEM_LOST;
    }
}

static int add_placed(struct rank_table *table, const struct recording *recording,
                      const struct selection *selection, const uint32_t *owners, struct err *err)
{
    uint32_t *places = malloc(((size_t)recording->threads_count + 1) * sizeof *places);
    if (!places || recording_init(&table->names, err) < 0 ||
        add_ranks(table, recording, owners, places) < 0) {
        free(places);
        return err_set(err, "not enough memory for the ranks");
    }
    note_losses(table, recording, owners);
    int result = rank_sums_add(table, recording, selection, places, err);
    free(places);
    return result;
}

int rank_table_add(struct rank_table *table, const struct recording *recording,
                   const struct selection *selection, struct err *err)
{
    struct selection chosen = selection ? *selection : (struct selection){0};
    if (!table->added) {
        table->measure = measure_of(recording, &chosen);
        table->sampled =
            measure_is_memory(table->measure) || measure_is_of_samples(recording, table->measure);
    }
    chosen.measure = table->measure;
    uint32_t *owners = rank_owners_new(recording, err);
    if (!owners)
        return -1;
    note_expected(table, recording);
    table->added++;
    int result = add_placed(table, recording, &chosen, owners, err);
    free(owners);
    return result;
}

int rank_table_note_unread(struct rank_table *table, const char *why, struct err *err)
{
    char **unread = realloc(table->unread, (table->unread_count + 1) * sizeof *unread);
    char *copy = unread ? strdup(why) : NULL;
    table->unread = unread ? unread : table->unread;
    if (!copy)
        return err_set(err, "not enough memory for the names of files");
    unread[table->unread_count++] = copy;
    return 0;
}

/* ---- order ---- */

static int compare_ranks(const void *a, const void *b)
{
    const struct rank_row *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

static int compare_cells(const void *a, const void *b)
{
    const struct rank_cell *left = a, *right = b;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static bool are_in_order(const struct rank_cells *cells)
{
    for (uint32_t i = 1; i < cells->count; i++)
        if (cells->rows[i - 1].rank >= cells->rows[i].rank)
            return false;
    return true;
}

static void join_cell(struct rank_cell *into, const struct rank_cell *cell)
{
    into->samples = cell->samples > UINT32_MAX - into->samples ? UINT32_MAX : into->samples + cell->samples;
    into->calls += cell->calls;
    into->self += cell->self;
    into->total += cell->total;
    into->mpi += cell->mpi;
}

static void order_cells(struct rank_cells *cells, const uint32_t *new_places)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cells->count; i++)
        cells->rows[i].rank = new_places[cells->rows[i].rank];
    if (are_in_order(cells))
        return;
    qsort(cells->rows, cells->count, sizeof *cells->rows, compare_cells);
    for (uint32_t i = 0; i < cells->count; i++) {
        if (kept && cells->rows[kept - 1].rank == cells->rows[i].rank)
            join_cell(&cells->rows[kept - 1], &cells->rows[i]);
        else
            cells->rows[kept++] = cells->rows[i];
    }
    cells->count = kept;
}

int rank_table_finish(struct rank_table *table, struct err *err)
{
    uint32_t *new_places = malloc(((size_t)table->rank_count + 1) * sizeof *new_places);
    struct map places = {0};
    if (!new_places || !map_reserve(&places, table->rank_count)) {
        free(new_places);
        return err_set(err, "not enough memory to order %u ranks", table->rank_count);
    }
    if (table->rank_count)
        qsort(table->ranks, table->rank_count, sizeof *table->ranks, compare_ranks);
    for (uint32_t i = 0; i < table->rank_count; i++) {
        new_places[map_get(&table->places, table->ranks[i].number)] = i;
        map_set(&places, table->ranks[i].number, i);
    }
    map_clear(&table->places);
    table->places = places;
    for (uint32_t i = 0; i < table->function_capacity; i++)
        order_cells(&table->functions[i], new_places);
    for (uint32_t i = 0; i < table->path_capacity; i++)
        order_cells(&table->paths[i], new_places);
    free(new_places);
    return 0;
}

/* ---- looking ---- */

uint32_t rank_table_find_origin(const struct rank_table *table, uint32_t code)
{
    for (uint32_t i = 1; i < table->names.codes_count; i++)
        if (table->origins[i] == code)
            return i;
    return 0;
}

const struct rank_cell *rank_table_cell(const struct rank_cells *cells, uint32_t rank)
{
    const struct rank_cell key = {.rank = rank};
    return cells->count ? bsearch(&key, cells->rows, cells->count, sizeof key, compare_cells) : NULL;
}

uint32_t rank_table_place(const struct rank_table *table, uint32_t number)
{
    return map_get(&table->places, number);
}
