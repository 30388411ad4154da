#include "store/recording.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/counting_sort.h"

/* Room for one more row. False when memory (or 32-bit ids) ran out. */
static bool grow(void **rows, uint32_t count, uint32_t *capacity, size_t row_bytes)
{
    if (count < *capacity)
        return true;
    if (*capacity >= UINT32_MAX / 2)
        return false;
    uint32_t larger = *capacity ? *capacity * 2 : 16;
    void *grown = realloc(*rows, larger * row_bytes);
    if (!grown)
        return false;
    *rows = grown;
    *capacity = larger;
    return true;
}

/* Appends `row` to the array `name`; evaluates to its index, or `failure`. */
#define APPEND(recording, name, row, failure)                                                                \
    (grow((void **)&(recording)->name, (recording)->name##_count, &(recording)->name##_capacity,             \
          sizeof *(recording)->name)                                                                         \
         ? ((recording)->name[(recording)->name##_count] = (row), (recording)->name##_count++)               \
         : (failure))

void recording_clear(struct recording *recording)
{
    strings_clear(&recording->strings);
    free(recording->codes);
    free(recording->nodes);
    free(recording->processes);
    free(recording->threads);
    free(recording->modules);
    free(recording->mappings);
    free(recording->addresses);
    free(recording->symbols);
    free(recording->calls);
    free(recording->lines);
    free(recording->samples);
    free(recording->counters);
    free(recording->regions);
    free(recording->region_events);
    free(recording->marks);
    free(recording->communicators);
    free(recording->clocks);
    free(recording->messages);
    free(recording->collectives);
    free(recording->mpi_totals);
    free(recording->call_events);
    free(recording->series);
    free(recording->heap);
    free(recording->heap_sizes);
    free(recording->allocations);
    free(recording->line_memory);
    free(recording->functions);
    free(recording->edges);
    free(recording->notes);
    free(recording->metas);
    free(recording->sources);
    bytes_clear(&recording->source_texts);
    free(recording->chunks);
    *recording = (struct recording){0};
}

static bool make_rows_zero(struct recording *recording)
{
    if (recording->strings.count == 0 && strings_intern(&recording->strings, "", 0) != 0)
        return false;
    if (recording->codes_count == 0 &&
        APPEND(recording, codes, ((struct code){.kind = CODE_OTHER}), UINT32_MAX) == UINT32_MAX)
        return false;
    if (recording->nodes_count == 0 && APPEND(recording, nodes, (struct node){0}, UINT32_MAX) == UINT32_MAX)
        return false;
    struct process none = {.rank = UINT32_MAX, .exit_code = INT32_MIN};
    if (recording->processes_count == 0 && APPEND(recording, processes, none, UINT32_MAX) == UINT32_MAX)
        return false;
    if (recording->threads_count == 0 &&
        APPEND(recording, threads, (struct thread){0}, UINT32_MAX) == UINT32_MAX)
        return false;
    if (recording->counters_count == 0 &&
        APPEND(recording, counters, (struct counter){.kind = COUNTER_LEVEL}, UINT32_MAX) == UINT32_MAX)
        return false;
    if (recording->regions_count == 0 &&
        APPEND(recording, regions, (struct region){0}, UINT32_MAX) == UINT32_MAX)
        return false;
    if (recording->communicators_count == 0 &&
        APPEND(recording, communicators, (struct communicator){0}, UINT32_MAX) == UINT32_MAX)
        return false;
    return recording->modules_count ||
           APPEND(recording, modules, (struct module){0}, UINT32_MAX) != UINT32_MAX;
}

int recording_init(struct recording *recording, struct err *err)
{
    return make_rows_zero(recording) ? 0 : err_set(err, "out of memory for a recording");
}

uint32_t recording_add_code(struct recording *recording, const struct code *code)
{
    if (recording->codes_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, codes, *code, 0);
}

uint32_t recording_add_node(struct recording *recording, const struct node *node)
{
    if (recording->nodes_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, nodes, *node, 0);
}

uint32_t recording_add_process(struct recording *recording, const struct process *process)
{
    if (recording->processes_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, processes, *process, 0);
}

uint32_t recording_add_thread(struct recording *recording, const struct thread *thread)
{
    if (recording->threads_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, threads, *thread, 0);
}

uint32_t recording_add_module(struct recording *recording, const struct module *module)
{
    if (recording->modules_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, modules, *module, 0);
}

uint32_t recording_add_mapping(struct recording *recording, const struct mapping *mapping)
{
    return APPEND(recording, mappings, *mapping, UINT32_MAX);
}

uint32_t recording_add_address(struct recording *recording, const struct code_address *address)
{
    return APPEND(recording, addresses, *address, UINT32_MAX);
}

uint32_t recording_add_symbol(struct recording *recording, const struct symbol *symbol)
{
    return APPEND(recording, symbols, *symbol, UINT32_MAX);
}

uint32_t recording_add_calls(struct recording *recording, const struct call_row *row)
{
    return APPEND(recording, calls, *row, UINT32_MAX);
}

uint32_t recording_add_line(struct recording *recording, const struct line_row *row)
{
    return APPEND(recording, lines, *row, UINT32_MAX);
}

uint32_t recording_add_sample(struct recording *recording, const struct sample_row *row)
{
    return APPEND(recording, samples, *row, UINT32_MAX);
}

uint32_t recording_add_counter(struct recording *recording, const struct counter *counter)
{
    if (recording->counters_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, counters, *counter, 0);
}

uint32_t recording_add_series(struct recording *recording, const struct series_row *row)
{
    return APPEND(recording, series, *row, UINT32_MAX);
}

uint32_t recording_add_region(struct recording *recording, const struct region *region)
{
    if (recording->regions_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, regions, *region, 0);
}

uint32_t recording_add_region_event(struct recording *recording, const struct region_event_row *row)
{
    return APPEND(recording, region_events, *row, UINT32_MAX);
}

uint32_t recording_add_mark(struct recording *recording, const struct mark_row *row)
{
    return APPEND(recording, marks, *row, UINT32_MAX);
}

uint32_t recording_add_call_event(struct recording *recording, const struct call_event_row *row)
{
    return APPEND(recording, call_events, *row, UINT32_MAX);
}

uint32_t recording_add_heap(struct recording *recording, const struct heap_row *row)
{
    return APPEND(recording, heap, *row, UINT32_MAX);
}

uint32_t recording_add_heap_size(struct recording *recording, const struct heap_size_row *row)
{
    return APPEND(recording, heap_sizes, *row, UINT32_MAX);
}

uint32_t recording_add_allocation(struct recording *recording, const struct allocation_row *row)
{
    return APPEND(recording, allocations, *row, UINT32_MAX);
}

uint32_t recording_add_line_memory(struct recording *recording, const struct line_memory_row *row)
{
    return APPEND(recording, line_memory, *row, UINT32_MAX);
}

uint32_t recording_add_communicator(struct recording *recording, const struct communicator *communicator)
{
    if (recording->communicators_count == 0 && !make_rows_zero(recording))
        return 0;
    return APPEND(recording, communicators, *communicator, 0);
}

uint32_t recording_add_clock(struct recording *recording, const struct clock_row *row)
{
    return APPEND(recording, clocks, *row, UINT32_MAX);
}

uint32_t recording_add_message(struct recording *recording, const struct message_row *row)
{
    return APPEND(recording, messages, *row, UINT32_MAX);
}

uint32_t recording_add_collective(struct recording *recording, const struct collective_row *row)
{
    return APPEND(recording, collectives, *row, UINT32_MAX);
}

uint32_t recording_add_mpi_total(struct recording *recording, const struct mpi_total_row *row)
{
    return APPEND(recording, mpi_totals, *row, UINT32_MAX);
}

uint32_t recording_add_function(struct recording *recording, const struct flat_function *row)
{
    return APPEND(recording, functions, *row, UINT32_MAX);
}

uint32_t recording_add_edge(struct recording *recording, const struct flat_edge *row)
{
    return APPEND(recording, edges, *row, UINT32_MAX);
}

uint32_t recording_add_note(struct recording *recording, const struct note *note)
{
    return APPEND(recording, notes, *note, UINT32_MAX);
}

uint32_t recording_add_source(struct recording *recording, uint32_t file, const void *text, size_t size)
{
    struct source_file source = {
        .file = file, .size_bytes = (uint32_t)size, .offset = recording->source_texts.size};
    bytes_put(&recording->source_texts, text, size);
    return recording->source_texts.failed ? UINT32_MAX : APPEND(recording, sources, source, UINT32_MAX);
}

const struct source_file *recording_source(const struct recording *recording, uint32_t file)
{
    for (uint32_t i = recording->sources_count; i-- > 0;)
        if (recording->sources[i].file == file)
            return &recording->sources[i];
    return NULL;
}

uint32_t recording_add_chunk(struct recording *recording, const struct chunk_info *chunk)
{
    return APPEND(recording, chunks, *chunk, UINT32_MAX);
}

int recording_put_meta(struct recording *recording, struct meta meta)
{
    for (uint32_t i = 0; i < recording->metas_count; i++) {
        if (recording->metas[i].key == meta.key) {
            recording->metas[i].value = meta.value;
            return 0;
        }
    }
    return APPEND(recording, metas, meta, UINT32_MAX) == UINT32_MAX ? -1 : 0;
}

int recording_set_meta(struct recording *recording, const char *key, const char *value)
{
    struct meta meta = {strings_intern_text(&recording->strings, key),
                        strings_intern_text(&recording->strings, value)};
    return meta.key == UINT32_MAX || meta.value == UINT32_MAX ? -1 : recording_put_meta(recording, meta);
}

const char *recording_meta(const struct recording *recording, const char *key)
{
    for (uint32_t i = 0; i < recording->metas_count; i++) {
        if (strcmp(recording_text(recording, recording->metas[i].key), key) == 0)
            return recording_text(recording, recording->metas[i].value);
    }
    return NULL;
}

/* What the rows span, and how they stand. */
struct calls_order {
    uint32_t threads, nodes; /* largest ids, plus 1 */
    bool sorted;             /* equal ones are neighbours, in order */
    bool rising;             /* none are equal, either */
};

static struct calls_order calls_order(const struct recording *recording)
{
    struct calls_order order = {.sorted = true, .rising = true};
    uint64_t before = 0;
    for (uint32_t i = 0; i < recording->calls_count; i++) {
        const struct call_row *row = &recording->calls[i];
        if (row->thread >= order.threads)
            order.threads = row->thread + 1;
        if (row->node >= order.nodes)
            order.nodes = row->node + 1;
        uint64_t place = (uint64_t)row->thread << 32 | row->node;
        order.sorted &= place >= before;
        order.rising &= i == 0 || place > before;
        before = place;
    }
    return order;
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint32_t sum_neighbours(struct call_row *rows, uint32_t count)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < count; i++) {
        if (rows[i].thread == rows[last].thread && rows[i].node == rows[last].node) {
            rows[last].calls = add_saturating(rows[last].calls, rows[i].calls);
            rows[last].self_ns = add_saturating(rows[last].self_ns, rows[i].self_ns);
        } else {
            rows[++last] = rows[i];
        }
    }
    return count ? last + 1 : 0;
}

static int sort_calls(struct recording *recording, const struct calls_order *order, struct err *err)
{
    uint32_t count = recording->calls_count;
    uint32_t ids = order->threads > order->nodes ? order->threads : order->nodes;
    struct call_row *sorted = malloc(count * sizeof *sorted);
    uint32_t *places = malloc(((size_t)ids + 1) * sizeof *places);
    bool done = sorted && places;
    if (done) {
        COUNTING_SORT(recording->calls, sorted, count, places, order->nodes, node);
        COUNTING_SORT(sorted, recording->calls, count, places, order->threads, thread);
    }
    free(sorted);
    free(places);
    return done ? 0 : err_set(err, "out of memory while adding up %u call rows", count);
}

int recording_compact_calls(struct recording *recording, struct err *err)
{
    struct calls_order order = calls_order(recording);
    if (!order.sorted && sort_calls(recording, &order, err) < 0)
        return -1;
    if (!order.rising)
        recording->calls_count = sum_neighbours(recording->calls, recording->calls_count);
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    const struct line_row *left = a, *right = b;
    if (left->thread != right->thread)
        return left->thread < right->thread ? -1 : 1;
    if (left->code != right->code)
        return left->code < right->code ? -1 : 1;
    return left->line < right->line ? -1 : left->line > right->line;
}

static void add_line_row(struct line_row *sum, const struct line_row *row)
{
    if (row->max_ns && (!sum->max_ns || row->min_ns < sum->min_ns))
        sum->min_ns = row->min_ns;
    if (row->max_ns > sum->max_ns)
        sum->max_ns = row->max_ns;
    sum->hits = add_saturating(sum->hits, row->hits);
    sum->total_ns = add_saturating(sum->total_ns, row->total_ns);
    sum->self_ns = add_saturating(sum->self_ns, row->self_ns);
}

void recording_compact_lines(struct recording *recording)
{
    struct line_row *rows = recording->lines;
    uint32_t last = 0, count = recording->lines_count;
    bool sorted = true;
    for (uint32_t i = 1; i < count && sorted; i++)
        sorted = compare_lines(&rows[i - 1], &rows[i]) <= 0;
    if (!sorted)
        qsort(rows, count, sizeof *rows, compare_lines);
    for (uint32_t i = 1; i < count; i++) {
        if (compare_lines(&rows[last], &rows[i]) == 0)
            add_line_row(&rows[last], &rows[i]);
        else
            rows[++last] = rows[i];
    }
    recording->lines_count = count ? last + 1 : 0;
}

static bool is_before(const struct sample_row *a, const struct sample_row *b)
{
    return a->thread != b->thread ? a->thread < b->thread : a->time_ns < b->time_ns;
}

static bool are_samples_sorted(const struct recording *recording)
{
    for (uint32_t i = 1; i < recording->samples_count; i++)
        if (is_before(&recording->samples[i], &recording->samples[i - 1]))
            return false;
    return true;
}

static int compare_samples(const void *a, const void *b)
{
    const struct sample_row *left = a, *right = b;
    if (is_before(left, right) || is_before(right, left))
        return is_before(left, right) ? -1 : 1;
    return left->node < right->node ? -1 : left->node > right->node;
}

static uint32_t threads_of_samples(const struct recording *recording)
{
    uint32_t last = 0;
    for (uint32_t i = 0; i < recording->samples_count; i++)
        last = recording->samples[i].thread > last ? recording->samples[i].thread : last;
    return last + 1;
}

/* By thread; a thread's samples stay in their order. */
static int group_samples(struct recording *recording, uint32_t threads, struct err *err)
{
    uint32_t count = recording->samples_count;
    struct sample_row *sorted = malloc(count * sizeof *sorted);
    uint32_t *places = malloc(((size_t)threads + 1) * sizeof *places);
    if (sorted && places) {
        COUNTING_SORT(recording->samples, sorted, count, places, threads, thread);
        memcpy(recording->samples, sorted, count * sizeof *sorted);
    }
    int result = sorted && places
                     ? 0
                     : err_set(err, "out of memory while sorting %u samples", recording->samples_count);
    free(sorted);
    free(places);
    return result;
}

int recording_order_samples(struct recording *recording, struct err *err)
{
    uint32_t threads = threads_of_samples(recording);
    if (are_samples_sorted(recording))
        return 0;
    /* A few samples of the last of very many threads are not worth a place for each thread. */
    if (threads / 4 <= recording->samples_count && group_samples(recording, threads, err) < 0)
        return -1;
    if (!are_samples_sorted(recording)) /* or a clock that went back */
        qsort(recording->samples, recording->samples_count, sizeof *recording->samples, compare_samples);
    return 0;
}
