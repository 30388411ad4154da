#include "analyse/rank_sums.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "analyse/labels.h"
#include "analyse/rank_table.h"
#include "analyse/weights.h"
#include "base/err.h"
#include "store/mpi_calls.h"

/* What one rank has so far, by function or by path. */
struct growing {
    struct rank_cell *cells;
    uint32_t *touched; /* those that are not empty */
    uint32_t touched_count, capacity;
    uint64_t *last_seen; /* number of the stack that was counted last: recursion counts once */
};

struct sums {
    struct rank_table *table;
    const struct recording *from;
    const uint32_t *places;
    uint32_t rank;     /* whose rows are being added up; MAP_NONE = nobody's */
    uint32_t *code_of; /* by code: that of the table; 0 = not carried over yet */
    uint32_t *path_of; /* by node: that of the table; 0 = not carried over yet; NULL = no paths */
    bool *in_mpi;      /* by node: a frame of MPI's is on the stack that ends there */
    uint64_t *thread_amounts, *thread_mpi;
    struct growing functions, paths;
    uint64_t stack;  /* number of the one that is being added */
    bool has_totals; /* MPI's own times are known */
    bool by_frames;  /* the frames tell: samples are of time that was run, MPI's times of all that went by */
    bool failed;
};

/* ---- functions and paths of the recording → those of the table ---- */

static uint32_t carry_string(struct sums *sums, uint32_t string)
{
    uint32_t id = strings_intern(&sums->table->names.strings, recording_text(sums->from, string),
                                 strings_size(&sums->from->strings, string));
    sums->failed |= id == UINT32_MAX;
    return id == UINT32_MAX ? 0 : id;
}

static void put_identity(const struct recording *from, const struct code *code, struct bytes *key)
{
    uint32_t name = code->qualname ? code->qualname : code->name;
    bytes_put_counted(key, recording_text(from, name), strings_size(&from->strings, name));
    bytes_put_counted(key, recording_text(from, code->file), strings_size(&from->strings, code->file));
    bytes_put_varint(key, code->line);
    if (code->kind == CODE_NATIVE) /* one library's `main` is not another's */
        bytes_put_text(key, recording_text(from, code->module));
}

static bool grow_origins(struct rank_table *table, uint32_t code)
{
    uint32_t capacity = table->function_capacity;
    if (code < capacity)
        return true;
    while (capacity <= code)
        capacity = capacity ? capacity * 2 : 256;
    struct rank_cells *functions = realloc(table->functions, capacity * sizeof *functions);
    if (functions)
        table->functions = functions;
    uint32_t *origins = realloc(table->origins, capacity * sizeof *origins);
    if (origins)
        table->origins = origins;
    if (!functions || !origins)
        return false;
    memset(functions + table->function_capacity, 0,
           (capacity - table->function_capacity) * sizeof *functions);
    table->function_capacity = capacity;
    return true;
}

/* A function that is new to the table. */
static void add_function(struct sums *sums, uint32_t code)
{
    struct code copy = sums->from->codes[code];
    copy.name = carry_string(sums, copy.name);
    copy.qualname = carry_string(sums, copy.qualname);
    copy.file = carry_string(sums, copy.file);
    copy.module = carry_string(sums, copy.module);
    uint32_t id = recording_add_code(&sums->table->names, &copy);
    if (!id || !grow_origins(sums->table, id))
        sums->failed = true;
    else
        sums->table->origins[id] = code;
}

/* Ids of identities are those of codes: both are counted from 1 and given in order. */
static uint32_t carry_code(struct sums *sums, uint32_t code)
{
    struct bytes key = {0};
    if (!code || sums->code_of[code])
        return sums->code_of[code];
    put_identity(sums->from, &sums->from->codes[code], &key);
    uint32_t id =
        key.failed ? UINT32_MAX : strings_intern(&sums->table->identity, (char *)key.data, key.size);
    sums->failed |= id == UINT32_MAX;
    if (!sums->failed && id >= sums->table->names.codes_count)
        add_function(sums, code);
    bytes_clear(&key);
    return sums->code_of[code] = sums->failed ? 0 : id;
}

static bool grow_paths(struct rank_table *table, uint32_t path)
{
    uint32_t capacity = table->path_capacity;
    if (path < capacity)
        return true;
    while (capacity <= path)
        capacity = capacity ? capacity * 2 : 1024;
    struct rank_cells *paths = realloc(table->paths, capacity * sizeof *paths);
    if (!paths)
        return false;
    memset(paths + table->path_capacity, 0, (capacity - table->path_capacity) * sizeof *paths);
    table->paths = paths;
    table->path_capacity = capacity;
    return true;
}

/* Parents come before their children, so one pass carries all of them over. */
static void carry_paths(struct sums *sums)
{
    for (uint32_t i = 1; i < sums->from->nodes_count && !sums->failed; i++) {
        const struct node *node = &sums->from->nodes[i];
        struct node copy = {.parent = sums->path_of[node->parent], .code = carry_code(sums, node->code)};
        sums->path_of[i] = node_table_find(&sums->table->nodes, &sums->table->names, &copy);
        sums->failed |= !sums->path_of[i] || !grow_paths(sums->table, sums->path_of[i]);
    }
}

/* What samples show of a call while it is made (collect/agent/current_calls.h), or another profiler's file. */
static bool is_call_itself(const struct recording *recording, uint32_t code)
{
    const char *name = recording_text(recording, recording->codes[code].name);
    return recording->codes[code].kind == CODE_OTHER && strncmp(name, "MPI", 3) == 0 &&
           (name[3] == '_' || !name[3]);
}

bool rank_sums_is_mpi(const struct recording *recording, uint32_t code)
{
    struct bytes module = {0};
    labels_module(recording, code, &module);
    bytes_put_u8(&module, 0);
    const char *name = module.failed ? "" : (const char *)module.data;
    /* mpi4py's Python modules run the user's code: `python -m mpi4py x.py` puts all of it below mpi4py.run. */
    bool found = strncmp(name, "mpi4py.MPI", 10) == 0 || strncmp(name, "libmpi", 6) == 0 ||
                 is_call_itself(recording, code);
    bytes_clear(&module);
    return found;
}

/* What MPI calls in its turn, such as its plug-ins, is in it, too. */
static void mark_mpi(struct sums *sums)
{
    const struct recording *from = sums->from;
    bool *is_mpi = calloc((size_t)from->codes_count + 1, sizeof *is_mpi);
    sums->failed |= !is_mpi;
    for (uint32_t code = 1; is_mpi && code < from->codes_count; code++)
        is_mpi[code] = rank_sums_is_mpi(from, code);
    for (uint32_t i = 1; is_mpi && i < from->nodes_count; i++)
        sums->in_mpi[i] = is_mpi[from->nodes[i].code] || sums->in_mpi[from->nodes[i].parent];
    free(is_mpi);
}

/* ---- one rank's sums ---- */

static bool grow_cells(struct growing *growing, uint32_t id)
{
    uint32_t capacity = growing->capacity;
    if (id < capacity)
        return true;
    while (capacity <= id)
        capacity = capacity ? capacity * 2 : 1024;
    struct rank_cell *cells = realloc(growing->cells, capacity * sizeof *cells);
    growing->cells = cells ? cells : growing->cells;
    uint32_t *touched = realloc(growing->touched, capacity * sizeof *touched);
    growing->touched = touched ? touched : growing->touched;
    uint64_t *last_seen = realloc(growing->last_seen, capacity * sizeof *last_seen);
    growing->last_seen = last_seen ? last_seen : growing->last_seen;
    if (!cells || !touched || !last_seen)
        return false;
    memset(cells + growing->capacity, 0, (capacity - growing->capacity) * sizeof *cells);
    memset(last_seen + growing->capacity, 0, (capacity - growing->capacity) * sizeof *last_seen);
    growing->capacity = capacity;
    return true;
}

static void clear_cells(struct growing *growing)
{
    free(growing->cells);
    free(growing->touched);
    free(growing->last_seen);
}

/* The cell of this rank; NULL when memory ran out. `rank` of a cell in use is one more than 0. */
static struct rank_cell *touch(struct sums *sums, struct growing *growing, uint32_t id)
{
    if (!grow_cells(growing, id)) {
        sums->failed = true;
        return NULL;
    }
    struct rank_cell *cell = &growing->cells[id];
    if (!cell->rank) {
        cell->rank = 1;
        growing->touched[growing->touched_count++] = id;
    }
    return cell;
}

static uint32_t add_samples(uint32_t before, uint64_t more)
{
    return more > UINT32_MAX - before ? UINT32_MAX : before + (uint32_t)more;
}

static bool append(struct rank_cells *cells, const struct rank_cell *cell)
{
    if (cells->count == cells->capacity) {
        uint32_t capacity = cells->capacity ? cells->capacity * 2 : 4;
        struct rank_cell *rows = realloc(cells->rows, capacity * sizeof *rows);
        if (!rows)
            return false;
        cells->rows = rows;
        cells->capacity = capacity;
    }
    cells->rows[cells->count++] = *cell;
    return true;
}

static void put_cells(struct sums *sums, struct growing *growing, struct rank_cells *into)
{
    for (uint32_t i = 0; i < growing->touched_count; i++) {
        uint32_t id = growing->touched[i];
        struct rank_cell *cell = &growing->cells[id];
        cell->rank = sums->rank;
        sums->failed |= !append(&into[id], cell);
        *cell = (struct rank_cell){0};
    }
    growing->touched_count = 0;
}

static void put_rank(struct sums *sums)
{
    put_cells(sums, &sums->functions, sums->table->functions);
    put_cells(sums, &sums->paths, sums->table->paths);
}

/* ---- stacks ---- */

static void add_total(struct sums *sums, struct growing *growing, uint32_t id, const struct weight *weight,
                      bool in_mpi)
{
    struct rank_cell *cell = touch(sums, growing, id);
    if (!cell || growing->last_seen[id] == sums->stack)
        return;
    growing->last_seen[id] = sums->stack;
    cell->total += weight->amount;
    cell->mpi += in_mpi ? weight->amount : 0;
    cell->samples = add_samples(cell->samples, weight->samples);
}

static void add_self(struct rank_cell *cell, const struct weight *weight)
{
    cell->self += weight->amount;
    cell->calls += weight->calls;
}

/* From the innermost frame out. */
static void add_stack(struct sums *sums, const struct weight *weight)
{
    const struct node *nodes = sums->from->nodes;
    bool in_mpi = sums->in_mpi[weight->node];
    sums->stack++;
    for (uint32_t at = weight->node; at && !sums->failed; at = nodes[at].parent) {
        uint32_t code = carry_code(sums, nodes[at].code);
        if (code)
            add_total(sums, &sums->functions, code, weight, in_mpi);
        if (sums->path_of)
            add_total(sums, &sums->paths, sums->path_of[at], weight, in_mpi);
    }
    if (!weight->node || sums->failed)
        return;
    uint32_t code = sums->code_of[nodes[weight->node].code];
    if (code)
        add_self(&sums->functions.cells[code], weight);
    if (sums->path_of)
        add_self(&sums->paths.cells[sums->path_of[weight->node]], weight);
}

static void change_rank(struct sums *sums, uint32_t rank)
{
    if (sums->rank != rank && sums->rank != MAP_NONE)
        put_rank(sums);
    sums->rank = rank;
}

static void add_weight(const struct weight *weight, void *context)
{
    struct sums *sums = context;
    uint32_t place = sums->places[weight->thread];
    if (place == MAP_NONE || sums->failed)
        return;
    change_rank(sums, place);
    struct rank_row *rank = &sums->table->ranks[place];
    bool in_mpi = sums->in_mpi[weight->node];
    add_stack(sums, weight);
    rank->amount += weight->amount;
    rank->calls += weight->calls;
    rank->samples += weight->samples;
    rank->mpi += in_mpi ? weight->amount : 0;
    sums->table->has_mpi |= in_mpi;
    sums->thread_amounts[weight->thread] += weight->amount;
    sums->thread_mpi[weight->thread] += in_mpi && !sums->has_totals ? weight->amount : 0;
}

static void add_mpi_stack(struct sums *sums, const struct mpi_total_row *row)
{
    const struct node *nodes = sums->from->nodes;
    sums->stack++;
    for (uint32_t at = row->node; at && !sums->failed; at = nodes[at].parent) {
        uint32_t code = carry_code(sums, nodes[at].code);
        struct rank_cell *cell = code ? touch(sums, &sums->functions, code) : NULL;
        struct rank_cell *path = sums->path_of ? touch(sums, &sums->paths, sums->path_of[at]) : NULL;
        if (cell && sums->functions.last_seen[code] != sums->stack) {
            sums->functions.last_seen[code] = sums->stack;
            cell->mpi += row->total_ns;
        }
        if (path)
            path->mpi += row->total_ns;
    }
}

static void add_mpi_totals(struct sums *sums, const struct selection *selection)
{
    for (uint32_t i = 0; i < sums->from->mpi_totals_count && !sums->failed; i++) {
        const struct mpi_total_row *row = &sums->from->mpi_totals[i];
        uint32_t place = sums->places[row->thread];
        if (place == MAP_NONE || mpi_call_shape(row->call) == MPI_SHAPE_PYTHON ||
            !tree_selection_has(selection, sums->from, row->thread))
            continue;
        sums->thread_mpi[row->thread] += row->total_ns;
        if (sums->by_frames)
            continue;
        change_rank(sums, place);
        add_mpi_stack(sums, row);
        sums->table->ranks[place].mpi += row->total_ns;
    }
    sums->table->mpi_is_measured = sums->table->has_mpi = true;
}

static void note_busiest(struct sums *sums)
{
    for (uint32_t i = 0; i < sums->from->threads_count; i++) {
        struct rank_row *rank = sums->places[i] == MAP_NONE ? NULL : &sums->table->ranks[sums->places[i]];
        if (!rank || sums->thread_amounts[i] <= rank->busiest)
            continue;
        rank->busiest = sums->thread_amounts[i];
        rank->busiest_mpi = sums->thread_mpi[i];
    }
}

/* ---- what has no stacks ---- */

static void add_row(struct sums *sums, const struct function_row *row, struct rank_row *rank)
{
    uint32_t code = carry_code(sums, row->code);
    struct rank_cell *cell = code ? touch(sums, &sums->functions, code) : NULL;
    if (!cell)
        return;
    bool in_mpi = rank_sums_is_mpi(sums->from, row->code);
    cell->calls += row->calls;
    cell->self += row->self;
    cell->total += row->total;
    cell->mpi += in_mpi ? row->total : 0;
    rank->calls += row->calls;
    rank->mpi += in_mpi ? row->self : 0;
    sums->table->has_mpi |= in_mpi;
}

/* Flat profiles and line times know no threads: they are the only rank's. */
static int add_flat(struct sums *sums, const struct selection *selection, struct err *err)
{
    struct functions functions;
    if (sums->places[0] == MAP_NONE)
        return 0;
    if (functions_build(sums->from, selection, &functions, err) < 0)
        return -1;
    struct rank_row *rank = &sums->table->ranks[sums->places[0]];
    sums->rank = sums->places[0];
    for (uint32_t i = 0; i < functions.row_count; i++)
        add_row(sums, &functions.rows[i], rank);
    rank->amount += functions.total;
    rank->busiest = rank->amount;
    rank->busiest_mpi = rank->mpi;
    functions_clear(&functions);
    return 0;
}

/* ---- all ---- */

static int sums_init(struct sums *sums)
{
    const struct recording *from = sums->from;
    struct rank_table *table = sums->table;
    sums->code_of = calloc((size_t)from->codes_count + 1, sizeof *sums->code_of);
    sums->in_mpi = calloc((size_t)from->nodes_count + 1, sizeof *sums->in_mpi);
    sums->thread_amounts = calloc((size_t)from->threads_count + 1, sizeof *sums->thread_amounts);
    sums->thread_mpi = calloc((size_t)from->threads_count + 1, sizeof *sums->thread_mpi);
    sums->path_of = table->with_paths ? calloc((size_t)from->nodes_count + 1, sizeof *sums->path_of) : NULL;
    sums->failed = !sums->code_of || !sums->in_mpi || !sums->thread_amounts || !sums->thread_mpi ||
                   (table->with_paths && !sums->path_of) || recording_init(&table->names, NULL) < 0 ||
                   strings_intern_text(&table->identity, "") != 0 || !grow_origins(table, 0);
    return sums->failed ? -1 : 0;
}

static void sums_clear(struct sums *sums)
{
    free(sums->code_of);
    free(sums->in_mpi);
    free(sums->thread_amounts);
    free(sums->thread_mpi);
    free(sums->path_of);
    clear_cells(&sums->functions);
    clear_cells(&sums->paths);
}

static int add_all(struct sums *sums, const struct selection *selection, struct err *err)
{
    bool is_flat = !measure_is_memory(sums->table->measure) &&
                   (sums->from->functions_count || functions_are_of_lines(sums->from));
    if (is_flat)
        return add_flat(sums, selection, err);
    enum measure measure = sums->table->measure;
    sums->has_totals = sums->from->mpi_totals_count && !measure_is_memory(measure) && !selection->begin_ns &&
                       !selection->end_ns;
    sums->by_frames = !sums->has_totals || measure_is_of_samples(sums->from, measure);
    if (sums->by_frames)
        mark_mpi(sums);
    if (sums->path_of)
        carry_paths(sums);
    int result = weights_each(sums->from, selection, add_weight, sums, err);
    if (result == 0 && sums->has_totals)
        add_mpi_totals(sums, selection);
    note_busiest(sums);
    return result;
}

int rank_sums_add(struct rank_table *table, const struct recording *recording,
                  const struct selection *selection, const uint32_t *places, struct err *err)
{
    struct sums sums = {.table = table, .from = recording, .places = places, .rank = MAP_NONE};
    int result = sums_init(&sums) == 0 ? add_all(&sums, selection, err) : 0;
    if (result == 0 && !sums.failed && sums.rank != MAP_NONE)
        put_rank(&sums);
    if (result == 0 && sums.failed)
        result = err_set(err, "not enough memory for the functions of %u ranks", table->rank_count);
    sums_clear(&sums);
    return result;
}
