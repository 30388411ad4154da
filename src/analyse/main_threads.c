#include "analyse/main_threads.h"

#include <stdlib.h>

#include "analyse/tree.h"
#include "base/err.h"
#include "store/recording.h"

/* By thread: the time of its samples or calls. */
static uint64_t *thread_times(const struct recording *recording)
{
    const struct selection running = {0};
    uint64_t *times_ns = calloc((size_t)recording->threads_count + 1, sizeof *times_ns);
    for (uint32_t i = 0; times_ns && i < recording->samples_count; i++) {
        const struct sample_row *row = &recording->samples[i];
        if (row->node && tree_selection_has_sample(&running, recording, row))
            times_ns[row->thread] += row->weight_ns;
    }
    for (uint32_t i = 0; times_ns && i < recording->calls_count; i++)
        times_ns[recording->calls[i].thread] += recording->calls[i].self_ns;
    return times_ns;
}

int main_threads_busiest(const struct recording *recording, uint32_t ids[MAIN_THREADS_MAX], struct err *err)
{
    uint64_t *times_ns = thread_times(recording);
    int count = 0;
    if (!times_ns)
        return err_set(err, "not enough memory for the times of %u threads", recording->threads_count);
    for (uint32_t thread = 1; thread < recording->threads_count; thread++) {
        if (!times_ns[thread] || (count == MAIN_THREADS_MAX && times_ns[thread] <= times_ns[ids[count - 1]]))
            continue;
        int place = count < MAIN_THREADS_MAX ? count++ : count - 1;
        for (; place && times_ns[thread] > times_ns[ids[place - 1]]; place--)
            ids[place] = ids[place - 1];
        ids[place] = thread;
    }
    free(times_ns);
    return count;
}

void main_threads_clear(struct main_threads *main)
{
    map_clear(&main->children);
    free(main->thread);
    free(main->time_ns);
    *main = (struct main_threads){0};
}

static int fail(const struct main_threads *main, struct err *err)
{
    return err_set(err, "not enough memory to tell threads apart in %u stacks", main->tree->count);
}

int main_threads_init(struct main_threads *main, const struct tree *tree, struct err *err)
{
    *main = (struct main_threads){.tree = tree};
    main->thread = calloc(tree->count, sizeof *main->thread);
    main->time_ns = calloc(tree->count, sizeof *main->time_ns);
    bool failed = !main->thread || !main->time_ns;
    for (uint32_t i = 1; i < tree->count && !failed; i++)
        failed = !map_set(&main->children, map_pair(tree->nodes[i].parent, tree->nodes[i].code), i);
    return failed ? fail(main, err) : 0;
}

/* Where a node of the part lies in the tree; MAP_NONE where the tree ends before it. */
static uint32_t place_in(const struct main_threads *main, const uint32_t *places,
                         const struct tree_node *node)
{
    uint32_t above = places[node->parent];
    return above == MAP_NONE ? MAP_NONE : map_get(&main->children, map_pair(above, node->code));
}

int main_threads_add(struct main_threads *main, uint32_t thread, const struct tree *part, struct err *err)
{
    uint32_t *places = calloc(part->count ? part->count : 1, sizeof *places);
    if (!places)
        return fail(main, err);
    for (uint32_t i = 0; i < part->count; i++) {
        uint32_t place = places[i] = i ? place_in(main, places, &part->nodes[i]) : 0;
        if (place == MAP_NONE || part->nodes[i].total_ns <= main->time_ns[place])
            continue;
        main->thread[place] = thread;
        main->time_ns[place] = part->nodes[i].total_ns;
    }
    free(places);
    return 0;
}
