#include "export/thread_profiles.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/tree.h"
#include "analyse/weights.h"
#include "base/err.h"
#include "base/map.h"
#include "store/recording.h"

/* What one thread spent in one path itself. */
struct thread_cell {
    uint32_t place; /* the thread, until places are known */
    uint32_t node;
    uint64_t calls, self_ns;
};

static int out_of_memory(struct err *err)
{
    return err_set(err, "not enough memory for the call paths of all threads");
}

/* ---- gathering ---- */

struct gathering {
    struct thread_profiles *profiles;
    struct map cells; /* (thread, node) → cell */
    bool failed;
};

static bool grow(struct thread_profiles *profiles)
{
    if (profiles->cell_count < profiles->cell_capacity)
        return true;
    uint32_t capacity = profiles->cell_capacity * 2 + 1024;
    struct thread_cell *cells = realloc(profiles->cells, capacity * sizeof *cells);
    if (!cells)
        return false;
    profiles->cells = cells;
    profiles->cell_capacity = capacity;
    return true;
}

static void add(const struct weight *weight, void *context)
{
    struct gathering *gathering = context;
    struct thread_profiles *profiles = gathering->profiles;
    uint32_t node = profiles->frames.stack_of[weight->node];
    uint64_t key = map_pair(weight->thread, node);
    uint32_t at = map_get(&gathering->cells, key);
    if (at == MAP_NONE) {
        at = profiles->cell_count;
        if (gathering->failed || !grow(profiles) || !map_set(&gathering->cells, key, at)) {
            gathering->failed = true;
            return;
        }
        profiles->cells[profiles->cell_count++] = (struct thread_cell){.place = weight->thread, .node = node};
    }
    profiles->cells[at].calls += profiles->sampled ? weight->samples : weight->calls;
    profiles->cells[at].self_ns += weight->amount;
}

static int gather(struct thread_profiles *profiles, const struct selection *selection, struct err *err)
{
    struct gathering gathering = {.profiles = profiles};
    int result = weights_each(profiles->recording, selection, add, &gathering, err);
    map_clear(&gathering.cells);
    if (gathering.failed)
        return out_of_memory(err);
    return result;
}

/* ---- places ---- */

static uint32_t find_highest_rank(const struct recording *recording)
{
    uint32_t highest = UINT32_MAX;
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        uint32_t rank = recording->processes[i].rank;
        if (rank != UINT32_MAX && (highest == UINT32_MAX || rank > highest))
            highest = rank;
    }
    return highest;
}

/* By process. Those that belong to no rank come after all ranks. */
static void number_processes(const struct recording *recording, uint32_t *ranks)
{
    uint32_t highest = find_highest_rank(recording), next = highest + 1;
    for (uint32_t i = 1; i < recording->processes_count; i++) {
        const struct process *process = &recording->processes[i];
        bool follows = highest != UINT32_MAX && process->parent && ranks[process->parent] <= highest;
        ranks[i] = process->rank != UINT32_MAX ? process->rank : follows ? ranks[process->parent] : next++;
    }
}

static int by_rank(const void *a, const void *b)
{
    const struct thread_place *left = a, *right = b;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    return left->thread < right->thread ? -1 : left->thread > right->thread;
}

/* The threads that have cells, in order; of_thread then says where each is. */
static void list_places(struct thread_profiles *profiles, const uint32_t *ranks, uint32_t *of_thread)
{
    const struct recording *recording = profiles->recording;
    for (uint32_t i = 0; i < profiles->cell_count; i++)
        of_thread[profiles->cells[i].place] = 1;
    for (uint32_t thread = 0; thread < recording->threads_count; thread++)
        if (of_thread[thread])
            profiles->places[profiles->count++] =
                (struct thread_place){.thread = thread, .rank = ranks[recording->threads[thread].process]};
    qsort(profiles->places, profiles->count, sizeof *profiles->places, by_rank);
    for (uint32_t i = 0; i < profiles->count; i++) {
        struct thread_place *place = &profiles->places[i];
        place->number = i && place[-1].rank == place->rank ? place[-1].number + 1 : 0;
        of_thread[place->thread] = i;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct thread_cell *left = a, *right = b;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static void order_cells(struct thread_profiles *profiles, const uint32_t *of_thread)
{
    for (uint32_t i = 0; i < profiles->cell_count; i++)
        profiles->cells[i].place = of_thread[profiles->cells[i].place];
    if (profiles->cell_count)
        qsort(profiles->cells, profiles->cell_count, sizeof *profiles->cells, by_place);
    for (uint32_t i = 0; i < profiles->cell_count; i++) {
        struct thread_place *place = &profiles->places[profiles->cells[i].place];
        if (!place->end_cell)
            place->first_cell = i;
        place->end_cell = i + 1;
    }
}

static int find_places(struct thread_profiles *profiles, struct err *err)
{
    const struct recording *recording = profiles->recording;
    uint32_t *ranks = calloc((size_t)recording->processes_count + 1, sizeof *ranks);
    uint32_t *of_thread = calloc((size_t)recording->threads_count + 1, sizeof *of_thread);
    profiles->places = calloc((size_t)recording->threads_count + 1, sizeof *profiles->places);
    int result = ranks && of_thread && profiles->places ? 0 : out_of_memory(err);
    if (result == 0) {
        number_processes(recording, ranks);
        list_places(profiles, ranks, of_thread);
        order_cells(profiles, of_thread);
    }
    free(ranks);
    free(of_thread);
    return result;
}

int thread_profiles_init(const struct recording *recording, const struct selection *selection,
                         struct thread_profiles *profiles, struct err *err)
{
    const struct frame_style style = {.function = true};
    enum measure measure = measure_of(recording, selection);
    *profiles = (struct thread_profiles){.recording = recording,
                                         .sampled = measure_is_of_samples(recording, measure),
                                         .ranked = find_highest_rank(recording) != UINT32_MAX};
    size_t ids =
        recording->nodes_count > recording->codes_count ? recording->nodes_count : recording->codes_count;
    profiles->row_of = calloc(ids + 1, sizeof *profiles->row_of);
    int result =
        profiles->row_of ? frames_build(recording, &style, &profiles->frames, err) : out_of_memory(err);
    if (result == 0)
        result = gather(profiles, selection, err);
    if (result == 0)
        result = find_places(profiles, err);
    if (result < 0)
        thread_profiles_clear(profiles);
    return result;
}

void thread_profiles_clear(struct thread_profiles *profiles)
{
    frames_clear(&profiles->frames);
    free(profiles->places);
    free(profiles->cells);
    free(profiles->row_of);
    *profiles = (struct thread_profiles){0};
}

uint32_t thread_profiles_parent(const struct thread_profiles *profiles, uint32_t node)
{
    return profiles->frames.stack_of[profiles->recording->nodes[node].parent];
}

/* A parent's id is smaller than its children's. */
uint32_t thread_profiles_number(const struct thread_profiles *profiles, uint32_t *nodes, uint32_t *number_of)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profiles->cell_count; i++)
        for (uint32_t node = profiles->cells[i].node; node && !number_of[node];
             node = thread_profiles_parent(profiles, node))
            number_of[node] = 1;
    for (uint32_t node = 1; node < profiles->frames.node_count; node++)
        if (number_of[node]) {
            number_of[node] = count;
            nodes[count++] = node;
        }
    return count;
}

/* ---- one thread ---- */

static bool reserve(struct thread_profile *profile)
{
    if (profile->count < profile->capacity)
        return true;
    uint32_t capacity = profile->capacity * 2 + 256;
    struct thread_path *paths = realloc(profile->paths, capacity * sizeof *paths);
    if (!paths)
        return false;
    profile->paths = paths;
    profile->capacity = capacity;
    return true;
}

/* The node and all above it that are not there yet. */
static bool add_nodes(struct thread_profiles *profiles, struct thread_profile *profile, uint32_t node)
{
    for (; node && !profiles->row_of[node]; node = thread_profiles_parent(profiles, node)) {
        if (!reserve(profile))
            return false;
        profiles->row_of[node] = 1;
        profile->paths[profile->count++] =
            (struct thread_path){.node = node, .code = profiles->recording->nodes[node].code};
    }
    return true;
}

static int by_node(const void *a, const void *b)
{
    const struct thread_path *left = a, *right = b;
    return left->node < right->node ? -1 : left->node > right->node;
}

/* A node's parent has a smaller id, so that the order of nodes puts parents first. */
static void fill_paths(struct thread_profiles *profiles, const struct thread_place *place,
                       struct thread_profile *profile)
{
    qsort(profile->paths, profile->count, sizeof *profile->paths, by_node);
    for (uint32_t i = 1; i < profile->count; i++) {
        profiles->row_of[profile->paths[i].node] = i;
        profile->paths[i].parent = profiles->row_of[thread_profiles_parent(profiles, profile->paths[i].node)];
    }
    for (uint32_t i = place->first_cell; i < place->end_cell; i++) {
        const struct thread_cell *cell = &profiles->cells[i];
        struct thread_path *path = &profile->paths[profiles->row_of[cell->node]];
        path->calls = cell->calls;
        path->self_ns = path->total_ns = cell->self_ns;
    }
    for (uint32_t i = profile->count - 1; i > 0; i--) {
        const struct thread_path *path = &profile->paths[i];
        struct thread_path *parent = &profile->paths[path->parent];
        parent->total_ns += path->total_ns;
        parent->child_calls += path->calls;
        if (profiles->sampled)
            parent->calls += path->calls;
        profiles->row_of[path->node] = 0;
    }
}

/* Depth first, with the number of times that each function is on the stack: links[i] is the first child of row i, and
 * links[count + i] its next sibling. */
static bool mark_recursion(struct thread_profiles *profiles, struct thread_profile *profile)
{
    uint32_t count = profile->count, *active = profiles->row_of;
    uint32_t *links = calloc((size_t)count * 2, sizeof *links);
    if (!links)
        return false;
    for (uint32_t i = count - 1; i > 0; i--) {
        links[count + i] = links[profile->paths[i].parent];
        links[profile->paths[i].parent] = i;
    }
    for (uint32_t at = links[0]; at;) {
        profile->paths[at].recursive = active[profile->paths[at].code]++ > 0;
        if (links[at]) {
            at = links[at];
            continue;
        }
        for (; at && !links[count + at]; at = profile->paths[at].parent)
            active[profile->paths[at].code]--;
        if (at) {
            active[profile->paths[at].code]--;
            at = links[count + at];
        }
    }
    free(links);
    return true;
}

static void add_functions(struct thread_profiles *profiles, struct thread_profile *profile)
{
    uint32_t *row_of = profiles->row_of;
    profile->function_count = 0;
    for (uint32_t i = 1; i < profile->count; i++) {
        const struct thread_path *path = &profile->paths[i];
        if (!row_of[path->code]) {
            profile->functions[profile->function_count++] = (struct thread_function){.code = path->code};
            row_of[path->code] = profile->function_count;
        }
        struct thread_function *function = &profile->functions[row_of[path->code] - 1];
        function->self_ns += path->self_ns;
        function->child_calls += path->child_calls;
        function->total_ns += path->recursive ? 0 : path->total_ns;
        /* A sample has the function on its stack once, however often it is there. */
        function->calls += profiles->sampled && path->recursive ? 0 : path->calls;
    }
    for (uint32_t i = 0; i < profile->function_count; i++)
        row_of[profile->functions[i].code] = 0;
}

int thread_profiles_read(struct thread_profiles *profiles, const struct thread_place *place,
                         struct thread_profile *profile, struct err *err)
{
    profile->count = 0;
    bool whole = reserve(profile);
    if (whole)
        profile->paths[profile->count++] = (struct thread_path){.node = 0};
    for (uint32_t i = place->first_cell; i < place->end_cell && whole; i++)
        whole = add_nodes(profiles, profile, profiles->cells[i].node);
    if (!whole)
        return out_of_memory(err);
    fill_paths(profiles, place, profile);
    free(profile->functions);
    profile->functions = calloc(profile->count, sizeof *profile->functions);
    if (!profile->functions || !mark_recursion(profiles, profile))
        return out_of_memory(err);
    add_functions(profiles, profile);
    return 0;
}

void thread_profiles_release(struct thread_profile *profile)
{
    free(profile->paths);
    free(profile->functions);
    *profile = (struct thread_profile){0};
}
