#include "analyse/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/recording.h"

#define SECOND_NS 1000000000u
#define SCALE_MAX 2.0
enum { NODE_UNKNOWN = 0, NODE_HIDDEN = 1, NODE_FIRST_ROW = 2 };

static void clear_table(struct live_table *table)
{
    free(table->rows);
    free(table->row_of_node);
    map_clear(&table->index);
}

void live_clear(struct live *live)
{
    for (int by = 0; by < LIVE_TABLES; by++)
        clear_table(&live->tables[by]);
    free(live->threads);
    free(live->weights_ns);
    *live = (struct live){0};
}

/* ---- room ---- */

/* Zeroed behind `used`. */
static bool grow(void *array, uint32_t used, uint32_t wanted, size_t size)
{
    char **place = array;
    char *grown = realloc(*place, wanted * size);
    if (!grown)
        return false;
    memset(grown + used * size, 0, (wanted - used) * size);
    *place = grown;
    return true;
}

static bool make_room(struct live *live, const struct recording *recording)
{
    uint32_t nodes = recording->nodes_count, threads = recording->threads_count;
    if (nodes > live->nodes_count) {
        nodes += nodes / 2;
        for (int by = 0; by < LIVE_TABLES; by++)
            if (!grow(&live->tables[by].row_of_node, live->nodes_count, nodes, sizeof(uint32_t)))
                return false;
        if (!grow(&live->weights_ns, live->nodes_count, nodes, sizeof *live->weights_ns))
            return false;
        live->nodes_count = nodes;
    }
    if (threads > live->threads_count) {
        threads += threads / 2;
        if (!grow(&live->threads, live->threads_count, threads, sizeof *live->threads))
            return false;
        live->threads_count = threads;
    }
    return true;
}

/* ---- rows ---- */

static uint32_t find_row(struct live_table *table, uint32_t code, uint32_t line)
{
    uint64_t key = map_pair(code, line);
    uint32_t row = map_get(&table->index, key);
    if (row != MAP_NONE)
        return row;
    if (table->count == table->capacity) {
        uint32_t capacity = table->capacity * 2 + 64;
        if (!grow(&table->rows, table->capacity, capacity, sizeof *table->rows))
            return MAP_NONE;
        table->capacity = capacity;
    }
    if (!map_set(&table->index, key, table->count))
        return MAP_NONE;
    table->rows[table->count] = (struct live_row){.code = code, .line = line};
    return table->count++;
}

/* NULL when the node is not shown, or memory ran out. */
static struct live_row *row_of(struct live *live, enum live_by by, const struct recording *recording,
                               uint32_t node, bool *failed)
{
    struct live_table *table = &live->tables[by];
    uint32_t *place = &table->row_of_node[node];
    if (*place == NODE_UNKNOWN) {
        const struct node *seen = &recording->nodes[node];
        *place = NODE_HIDDEN;
        if (!(recording->codes[seen->code].flags & CODE_INTERNAL)) {
            uint32_t row = find_row(table, seen->code, by == LIVE_LINES ? seen->line : 0);
            *failed |= row == MAP_NONE;
            *place = row == MAP_NONE ? NODE_UNKNOWN : row + NODE_FIRST_ROW;
        }
    }
    return *place >= NODE_FIRST_ROW ? &table->rows[*place - NODE_FIRST_ROW] : NULL;
}

static bool count_stack(struct live *live, enum live_by by, const struct recording *recording, uint32_t leaf,
                        uint64_t weight_ns)
{
    bool failed = false, innermost = true;
    live->stacks++;
    for (uint32_t node = leaf; node; node = recording->nodes[node].parent) {
        struct live_row *row = row_of(live, by, recording, node, &failed);
        if (!row)
            continue;
        if (innermost) {
            row->own_ns += weight_ns;
            row->all_own_ns += weight_ns;
            innermost = false;
        }
        if (row->stack != live->stacks) {
            row->stack = live->stacks;
            row->total_ns += weight_ns;
            row->all_total_ns += weight_ns;
        }
    }
    return !failed;
}

/* ---- the last minute ---- */

/* Seconds that nobody has written to yet are empty. */
static void move_to_second(struct live *live, uint64_t second)
{
    if (second <= live->second)
        return;
    uint64_t passed = second - live->second;
    for (uint64_t i = 0; i < passed && i < LIVE_SECONDS; i++)
        live->seconds[(second - i) % LIVE_SECONDS] = (struct live_second){0};
    live->second = second;
}

static void count_second(struct live *live, uint64_t second, uint64_t weight_ns, uint8_t state)
{
    if (second > live->second || live->second - second >= LIVE_SECONDS)
        return;
    struct live_second *place = &live->seconds[second % LIVE_SECONDS];
    place->running_ns += state & SAMPLE_RUNNING ? weight_ns : 0;
    place->gil_ns += state & SAMPLE_GIL ? weight_ns : 0;
}

/* A row that stands for long is spread over its seconds. */
static void count_seconds(struct live *live, const struct sample_row *row)
{
    uint64_t at_ns = row->time_ns, left_ns = row->weight_ns;
    for (int seconds = 0; left_ns && seconds < LIVE_SECONDS; seconds++) {
        uint64_t room_ns = SECOND_NS - at_ns % SECOND_NS;
        uint64_t part_ns = left_ns < room_ns ? left_ns : room_ns;
        count_second(live, at_ns / SECOND_NS, part_ns, row->state);
        if (at_ns > UINT64_MAX - part_ns)
            return;
        at_ns += part_ns;
        left_ns -= part_ns;
    }
}

struct live_second live_second_ago(const struct live *live, unsigned ago)
{
    if (ago + 1 >= LIVE_SECONDS || live->second < ago + 1)
        return (struct live_second){0};
    return live->seconds[(live->second - 1 - ago) % LIVE_SECONDS];
}

/* ---- an interval ---- */

static void begin_interval(struct live *live, uint64_t end_ns)
{
    for (int by = 0; by < LIVE_TABLES; by++)
        for (uint32_t i = 0; i < live->tables[by].count; i++)
            live->tables[by].rows[i].own_ns = live->tables[by].rows[i].total_ns = 0;
    for (uint32_t i = 0; i < live->threads_count; i++)
        live->threads[i].running_ns = live->threads[i].gil_ns = live->threads[i].seen_ns = 0;
    live->running_ns = live->gil_ns = 0;
    live->begin_ns = live->end_ns ? live->end_ns : live->start_ns;
    live->end_ns = end_ns;
    move_to_second(live, end_ns / SECOND_NS);
}

/* The part of the interval in which the thread was there. */
static uint64_t lived_ns(const struct live *live, const struct thread *thread)
{
    uint64_t begin_ns = thread->start_ns > live->begin_ns ? thread->start_ns : live->begin_ns;
    uint64_t end_ns = thread->end_ns && thread->end_ns < live->end_ns ? thread->end_ns : live->end_ns;
    return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* Samples come at random times, more or fewer than the rate says; but how long a thread was there is known. So what
 * its samples say is taken as shares of that time. Where the two are far apart something else is at work. */
static void find_scales(struct live *live, const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->samples_count; i++)
        live->threads[recording->samples[i].thread].seen_ns += recording->samples[i].weight_ns;
    for (uint32_t i = 0; i < recording->threads_count; i++) {
        struct live_thread *thread = &live->threads[i];
        double scale =
            thread->seen_ns ? (double)lived_ns(live, &recording->threads[i]) / (double)thread->seen_ns : 1;
        thread->scale = scale > 1 / SCALE_MAX && scale < SCALE_MAX ? scale : 1;
    }
}

static void count_thread(struct live *live, const struct sample_row *row)
{
    struct live_thread *thread = &live->threads[row->thread];
    uint64_t running_ns = row->state & SAMPLE_RUNNING ? row->weight_ns : 0;
    uint64_t gil_ns = row->state & SAMPLE_GIL ? row->weight_ns : 0;
    thread->running_ns += running_ns;
    thread->gil_ns += gil_ns;
    thread->all_running_ns += running_ns;
    thread->all_gil_ns += gil_ns;
    live->running_ns += running_ns;
    live->gil_ns += gil_ns;
    if (row->time_ns >= thread->latest_ns) {
        thread->latest_ns = row->time_ns;
        thread->node = row->node;
    }
}

/* Equal stacks are added up before they are walked. */
static void weigh(struct live *live, const struct recording *recording)
{
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        struct sample_row row = recording->samples[i];
        row.weight_ns = (uint64_t)((double)row.weight_ns * live->threads[row.thread].scale + 0.5);
        live->samples += row.count;
        count_thread(live, &row);
        count_seconds(live, &row);
        if (tree_selection_has_sample(&live->selection, recording, &row))
            live->weights_ns[row.node] += row.weight_ns;
    }
}

int live_add(struct live *live, const struct recording *recording, uint64_t end_ns, struct err *err)
{
    if (end_ns <= (live->end_ns ? live->end_ns : live->start_ns))
        return 0;
    if (!make_room(live, recording))
        return err_set(err, "out of memory");
    begin_interval(live, end_ns);
    find_scales(live, recording);
    weigh(live, recording);
    bool counted = true;
    for (uint32_t i = 0; i < recording->samples_count; i++) {
        uint32_t node = recording->samples[i].node;
        uint64_t weight_ns = live->weights_ns[node];
        live->weights_ns[node] = 0;
        for (int by = 0; weight_ns && by < LIVE_TABLES; by++)
            counted &= count_stack(live, (enum live_by)by, recording, node, weight_ns);
    }
    return counted ? 0 : err_set(err, "out of memory");
}

void live_reset(struct live *live)
{
    for (int by = 0; by < LIVE_TABLES; by++) {
        struct live_table *table = &live->tables[by];
        for (uint32_t i = 0; i < table->count; i++)
            table->rows[i] = (struct live_row){.code = table->rows[i].code, .line = table->rows[i].line};
    }
    if (live->threads)
        memset(live->threads, 0, live->threads_count * sizeof *live->threads);
    live->samples = live->running_ns = live->gil_ns = 0;
    if (live->end_ns)
        live->start_ns = live->end_ns;
}

void live_take_all(struct live *live)
{
    live->begin_ns = live->start_ns;
    live->running_ns = live->gil_ns = 0;
    for (int by = 0; by < LIVE_TABLES; by++)
        for (uint32_t i = 0; i < live->tables[by].count; i++) {
            live->tables[by].rows[i].own_ns = live->tables[by].rows[i].all_own_ns;
            live->tables[by].rows[i].total_ns = live->tables[by].rows[i].all_total_ns;
        }
    for (uint32_t i = 0; i < live->threads_count; i++) {
        struct live_thread *thread = &live->threads[i];
        thread->running_ns = thread->all_running_ns;
        thread->gil_ns = thread->all_gil_ns;
        thread->seen_ns = thread->latest_ns; /* 0 when it was never seen */
        live->running_ns += thread->running_ns;
        live->gil_ns += thread->gil_ns;
    }
}

int live_copy(const struct live *live, struct live *copy, struct err *err)
{
    *copy = *live;
    copy->weights_ns = NULL;
    copy->threads = NULL;
    bool copied = grow(&copy->threads, 0, live->threads_count + 1, sizeof *copy->threads);
    for (int by = 0; by < LIVE_TABLES; by++) {
        struct live_table *table = &copy->tables[by];
        *table = (struct live_table){.count = live->tables[by].count};
        copied = copied && grow(&table->rows, 0, table->count + 1, sizeof *table->rows);
        if (copied && table->count)
            memcpy(table->rows, live->tables[by].rows, table->count * sizeof *table->rows);
    }
    if (copied && live->threads_count)
        memcpy(copy->threads, live->threads, live->threads_count * sizeof *copy->threads);
    if (copied)
        return 0;
    live_clear(copy);
    return err_set(err, "out of memory");
}

uint32_t live_threads(const struct live *live, uint32_t *idle)
{
    uint32_t seen = 0, running = 0;
    for (uint32_t i = 0; i < live->threads_count; i++) {
        seen += live->threads[i].seen_ns != 0;
        running += live->threads[i].running_ns != 0;
    }
    *idle = seen - running;
    return seen;
}
