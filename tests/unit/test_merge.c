/* merge: what is equal in two recordings becomes one, what happened twice is added, runs stay apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/functions.h"
#include "analyse/merge.h"
#include "analyse/timeless.h"
#include "base/err.h"
#include "store/natives.h"
#include "store/recording.h"

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern_text(&recording->strings, words);
}

static uint32_t add_code(struct recording *recording, const char *name, uint8_t flags)
{
    struct code code = {.name = text(recording, name),
                        .qualname = text(recording, name),
                        .file = text(recording, "a.py"),
                        .line = 3,
                        .kind = CODE_PYTHON,
                        .flags = flags};
    return recording_add_code(recording, &code);
}

/* main → work → leaf, in two threads of a child process; `shift` changes all ids. */
static void make_run(struct recording *recording, unsigned shift, uint64_t pid)
{
    recording_init(recording, NULL);
    for (unsigned i = 0; i < shift; i++)
        add_code(recording, i % 2 ? "odd" : "even", 0);
    uint32_t leaf = add_code(recording, "leaf", shift ? CODE_THROTTLED : CODE_LIBRARY);
    uint32_t work = add_code(recording, "work", 0);
    uint32_t main = add_code(recording, "main", 0);
    uint32_t top = recording_add_node(recording, &(struct node){.parent = 0, .code = main});
    uint32_t middle = recording_add_node(recording, &(struct node){.parent = top, .code = work, .line = 8});
    uint32_t other = recording_add_node(recording, &(struct node){.parent = top, .code = work, .line = 9});
    uint32_t bottom = recording_add_node(recording, &(struct node){.parent = middle, .code = leaf});
    /* The child comes first, so its parent has the larger id. */
    uint32_t child = recording_add_process(recording, &(struct process){.pid = pid + 1, .parent = 2});
    recording_add_process(recording, &(struct process){.pid = pid, .host = text(recording, "node7")});
    uint32_t one = recording_add_thread(recording, &(struct thread){.process = child, .tid = pid + 2});
    uint32_t two = recording_add_thread(
        recording, &(struct thread){.process = child, .tid = pid + 3, .name = text(recording, "pool")});
    recording_add_calls(recording, &(struct call_row){one, top, 1, 10});
    recording_add_calls(recording, &(struct call_row){one, bottom, 5, 100});
    recording_add_calls(recording, &(struct call_row){two, other, 2, 7});
    recording_add_note(
        recording,
        &(struct note){.process = child, .kind = NOTE_LOSS, .count = 4, .text = text(recording, "lost")});
    recording_set_meta(recording, "mode", "trace");
    recording_set_meta(recording, "started", shift ? "later" : "early");
}

static void merge_pair(struct recording *left, struct recording *right, struct recording *sum)
{
    struct merge merge = {0};
    assert_int_equal(merge_add(&merge, left, NULL), 0);
    assert_int_equal(merge_add(&merge, right, NULL), 0);
    assert_int_equal(merge_take(&merge, sum, NULL), 0);
    merge_clear(&merge);
    recording_clear(left);
    recording_clear(right);
}

static void equal_stacks_become_one(void **state)
{
    (void)state;
    struct recording left = {0}, right = {0}, sum = {0};
    make_run(&left, 0, 100);
    make_run(&right, 5, 200);
    merge_pair(&left, &right, &sum);
    assert_int_equal(sum.nodes_count, 5); /* root, main, work at two lines, leaf */
    for (uint32_t i = 1; i < sum.nodes_count; i++)
        assert_true(sum.nodes[i].parent < i);
    uint32_t leaf = sum.nodes[4].code;
    assert_string_equal(recording_text(&sum, sum.codes[leaf].name), "leaf");
    assert_int_equal(sum.codes[leaf].flags, CODE_LIBRARY | CODE_THROTTLED);
    recording_clear(&sum);
}

static void processes_and_threads_stay_apart(void **state)
{
    (void)state;
    struct recording left = {0}, right = {0}, sum = {0};
    make_run(&left, 0, 100);
    make_run(&right, 3, 200);
    merge_pair(&left, &right, &sum);
    assert_int_equal(sum.processes_count, 5);
    assert_int_equal(sum.processes[3].pid, 201);
    assert_int_equal(sum.processes[sum.processes[3].parent].pid, 200);
    assert_int_equal(sum.processes[sum.processes[1].parent].pid, 100);
    assert_string_equal(recording_text(&sum, sum.processes[4].host), "node7");
    assert_int_equal(sum.threads_count, 5);
    assert_int_equal(sum.threads[4].tid, 203);
    assert_string_equal(recording_text(&sum, sum.threads[4].name), "pool");
    assert_int_equal(sum.processes[sum.threads[4].process].pid, 201);
    assert_int_equal(sum.calls_count, 6);
    uint64_t calls = 0, self_ns = 0;
    for (uint32_t i = 0; i < sum.calls_count; i++) {
        calls += sum.calls[i].calls;
        self_ns += sum.calls[i].self_ns;
    }
    assert_int_equal(calls, 16);
    assert_int_equal(self_ns, 234);
    assert_int_equal(sum.processes[sum.notes[1].process].pid, 201);
    recording_clear(&sum);
}

static void metas_are_kept_when_all_agree(void **state)
{
    (void)state;
    struct recording left = {0}, right = {0}, sum = {0}, third = {0}, all = {0};
    make_run(&left, 0, 100);
    make_run(&right, 1, 200);
    recording_set_meta(&right, "only", "here");
    merge_pair(&left, &right, &sum);
    assert_string_equal(recording_meta(&sum, "mode"), "trace");
    assert_null(recording_meta(&sum, "started"));
    assert_null(recording_meta(&sum, "only"));
    assert_string_equal(recording_meta(&sum, "merged"), "2");
    make_run(&third, 0, 300);
    merge_pair(&sum, &third, &all);
    assert_string_equal(recording_meta(&all, "merged"), "3");
    recording_clear(&all);
}

/* One message, one collective and their totals, in a communicator of the run's first process. */
static void add_messages(struct recording *recording, uint32_t rank)
{
    struct communicator communicator = {
        .key = 77, .process = 1, .size = 2, .rank = rank, .name = text(recording, "MPI_COMM_WORLD")};
    uint32_t world = recording_add_communicator(recording, &communicator);
    recording_add_clock(recording, &(struct clock_row){.local_ns = 10 + rank, .process = 1});
    recording_add_message(
        recording,
        &(struct message_row){
            .size_bytes = 8 + rank, .thread = 1, .node = 4, .communicator = world, .peer = 1 - rank});
    recording_add_collective(recording,
                             &(struct collective_row){.thread = 2, .node = 1, .communicator = world});
    recording_add_mpi_total(
        recording, &(struct mpi_total_row){
                       .count = 3 + rank, .thread = 1, .node = 4, .communicator = world, .peer = 1 - rank});
}

static void what_ranks_said_stays_theirs(void **state)
{
    (void)state;
    struct recording left = {0}, right = {0}, sum = {0};
    make_run(&left, 0, 100);
    make_run(&right, 3, 200);
    add_messages(&left, 0);
    add_messages(&right, 1);
    merge_pair(&left, &right, &sum);
    assert_int_equal(sum.communicators_count, 3);
    assert_int_equal(sum.processes[sum.communicators[2].process].pid, 201);
    assert_string_equal(recording_text(&sum, sum.communicators[2].name), "MPI_COMM_WORLD");
    assert_int_equal(sum.clocks_count, 2);
    assert_int_equal(sum.processes[sum.clocks[1].process].pid, 201);
    assert_int_equal(sum.messages_count, 2);
    assert_int_equal(sum.messages[1].size_bytes, 9);
    assert_int_equal(sum.messages[1].communicator, 2);
    assert_int_equal(sum.messages[1].node, 4);
    assert_int_equal(sum.threads[sum.messages[1].thread].tid, 202);
    assert_int_equal(sum.collectives_count, 2);
    assert_int_equal(sum.threads[sum.collectives[1].thread].tid, 203);
    assert_int_equal(sum.mpi_totals_count, 2);
    assert_int_equal(sum.mpi_totals[1].count, 4);
    assert_int_equal(sum.mpi_totals[1].communicator, 2);
    recording_clear(&sum);
}

static void add_moments(struct recording *recording)
{
    const struct sample_row samples[] = {{10, 5, 1, 1, 1, SAMPLE_RUNNING},
                                         {20, 6, 1, 2, 1, SAMPLE_RUNNING},
                                         {30, 7, 1, 1, 2, SAMPLE_RUNNING},
                                         {40, 8, 1, 1, 1, 0},
                                         {15, 9, 2, 1, 3, SAMPLE_RUNNING}};
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        recording_add_sample(recording, &samples[i]);
    recording_add_heap(recording, &(struct heap_row){.at_ns = 1, .live_bytes = 8, .thread = 1, .node = 1});
    recording_add_heap(recording, &(struct heap_row){.at_ns = 2, .live_bytes = 16, .thread = 1, .node = 1});
    recording_add_heap(recording, &(struct heap_row){.at_ns = 1, .live_bytes = 32, .thread = 1, .node = 2});
    recording_add_call_event(recording, &(struct call_event_row){.end_ns = 5, .thread = 1, .node = 1});
    recording_add_mark(recording, &(struct mark_row){.thread = 1});
    uint32_t rss = recording_add_counter(recording, &(struct counter){.process = 1, .kind = COUNTER_LEVEL});
    recording_add_series(recording, &(struct series_row){.time_ns = 1, .value = 4096, .counter = rss});
}

static void totals_have_no_times(void **state)
{
    (void)state;
    struct recording run = {0};
    make_run(&run, 0, 100);
    add_messages(&run, 0);
    add_moments(&run);
    assert_int_equal(timeless_reduce(&run, NULL), 0);
    assert_int_equal(run.samples_count, 4);
    assert_int_equal(run.samples[0].time_ns, 10);
    assert_int_equal(run.samples[0].weight_ns, 12);
    assert_int_equal(run.samples[0].count, 3);
    assert_int_equal(run.samples[2].state, 0); /* another state of the same stack */
    assert_int_equal(run.samples[3].thread, 2);
    assert_int_equal(run.heap_count, 2);
    assert_int_equal(run.heap[0].live_bytes, 16);
    assert_int_equal(run.calls_count, 3);
    assert_int_equal(run.mpi_totals_count, 1);
    assert_int_equal(run.messages_count + run.collectives_count, 0);
    assert_int_equal(run.call_events_count + run.marks_count + run.series_count, 0);
    assert_int_equal(run.counters_count, 1);
    assert_string_equal(recording_meta(&run, "totals"), "1");
    recording_clear(&run);
}

static void make_flat(struct recording *recording, unsigned shift)
{
    recording_init(recording, NULL);
    for (unsigned i = 0; i < shift; i++)
        add_code(recording, "unused", 0);
    uint32_t work = add_code(recording, "work", 0), leaf = add_code(recording, "leaf", 0);
    recording_add_function(recording, &(struct flat_function){work, 2, 1, 10, 100});
    recording_add_function(recording, &(struct flat_function){leaf, 8, 8, 90, 90});
    recording_add_edge(recording, &(struct flat_edge){work, leaf, 8, 8, 90, 90});
}

static void assert_flat_sum(const struct recording *sum, uint64_t times)
{
    assert_int_equal(sum->codes_count, 3);
    assert_int_equal(sum->functions_count, 2);
    assert_int_equal(sum->functions[0].calls, 2 * times);
    assert_int_equal(sum->functions[0].primitive_calls, times);
    assert_int_equal(sum->functions[1].total_ns, 90 * times);
    assert_int_equal(sum->edges_count, 1);
    assert_int_equal(sum->edges[0].calls, 8 * times);
    assert_int_equal(sum->edges[0].self_ns, 90 * times);
    assert_int_equal(sum->edges[0].callee, sum->functions[1].code);
}

static void flat_rows_are_added(void **state)
{
    (void)state;
    struct merge whole = {0}, totals = {0}, tables = {0};
    for (unsigned i = 0; i < 20; i++) {
        struct recording recording = {0};
        struct functions functions;
        make_flat(&recording, i % 3);
        assert_int_equal(functions_build(&recording, &(struct selection){0}, &functions, NULL), 0);
        assert_int_equal(merge_add(&whole, &recording, NULL), 0);
        assert_int_equal(merge_add_totals(&totals, &recording, NULL), 0);
        assert_int_equal(merge_add_functions(&tables, &recording, &functions, NULL), 0);
        functions_clear(&functions);
        recording_clear(&recording);
    }
    struct merge *merges[] = {&whole, &totals, &tables};
    for (size_t i = 0; i < 3; i++) {
        struct recording sum = {0};
        assert_int_equal(merge_take(merges[i], &sum, NULL), 0);
        assert_flat_sum(&sum, 20);
        recording_clear(&sum);
    }
}

/* A recording of stacks as a flat profile: the same numbers, no stacks held. */
static void stacks_can_be_added_as_a_table(void **state)
{
    (void)state;
    struct merge merge = {0};
    struct recording run = {0}, sum = {0};
    struct functions functions;
    make_run(&run, 0, 100);
    assert_int_equal(functions_build(&run, &(struct selection){0}, &functions, NULL), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(merge_add_functions(&merge, &run, &functions, NULL), 0);
    assert_int_equal(merge_take(&merge, &sum, NULL), 0);
    assert_int_equal(sum.nodes_count, 1);
    assert_int_equal(sum.calls_count, 0);
    assert_int_equal(sum.functions_count, 3);
    uint64_t self_ns = 0;
    for (uint32_t i = 0; i < sum.functions_count; i++)
        self_ns += sum.functions[i].self_ns;
    assert_int_equal(self_ns, 2 * 117);
    functions_clear(&functions);
    recording_clear(&run);
    recording_clear(&sum);
}

static void damage_is_not_forgotten(void **state)
{
    (void)state;
    struct recording left = {0}, right = {0}, sum = {0};
    make_run(&left, 0, 1);
    make_run(&right, 0, 2);
    left.damage = (struct damage){.damaged_chunks = 2, .complete = true};
    right.damage = (struct damage){.damaged_chunks = 1, .truncated = true};
    merge_pair(&left, &right, &sum);
    assert_int_equal(sum.damage.damaged_chunks, 3);
    assert_true(sum.damage.truncated);
    assert_false(sum.damage.complete);
    recording_clear(&sum);
}

/* An address in libm, named when `name` is given as inlined in "outer", and one in a library of its own. */
static void make_native_run(struct recording *recording, unsigned shift, const char *name, const char *own)
{
    make_run(recording, shift, 100);
    struct code nameless = {.kind = CODE_NATIVE};
    uint32_t first = recording_add_code(recording, &nameless),
             outer = recording_add_code(recording, &nameless);
    uint32_t second = recording_add_code(recording, &nameless);
    struct module libm = {.path = text(recording, "libm.so"), .build_id = text(recording, "aa")};
    struct module other = {.path = text(recording, "other.so"), .build_id = text(recording, own)};
    uint32_t module = recording_add_module(recording, &libm);
    recording_add_address(recording, &(struct code_address){first, module, 16});
    recording_add_address(recording,
                          &(struct code_address){second, recording_add_module(recording, &other), 16});
    recording_add_mapping(recording, &(struct mapping){.process = 1, .module = module, .start = 4096});
    uint32_t up = recording_add_node(recording, &(struct node){.code = first});
    recording_add_node(recording, &(struct node){.parent = up, .code = second});
    if (!name)
        return;
    recording_add_symbol(recording,
                         &(struct symbol){.code = outer, .name = text(recording, "outer"), .line = 5});
    recording_add_symbol(recording,
                         &(struct symbol){.code = first, .name = text(recording, name), .inlined_in = outer});
}

static void addresses_are_told_apart(void **state)
{
    (void)state;
    struct recording left = {0}, right = {0}, sum = {0};
    make_native_run(&left, 3, NULL, "bb");
    make_native_run(&right, 0, "sin", "cc");
    merge_pair(&left, &right, &sum);
    assert_int_equal(sum.modules_count, 4); /* libm, and two builds of the other */
    assert_int_equal(sum.addresses_count, 3);
    assert_int_equal(sum.mappings_count, 2);
    assert_int_equal(sum.processes[sum.mappings[1].process].pid, 101);
    assert_int_equal(sum.symbols_count, 2);
    struct natives natives;
    assert_int_equal(natives_init(&natives, &sum, NULL), 0);
    uint32_t shared = sum.addresses[0].code; /* named by the second run only */
    const struct symbol *symbol = natives_symbol(&natives, shared);
    assert_string_equal(recording_text(&sum, symbol->name), "sin");
    assert_string_equal(recording_text(&sum, natives_symbol(&natives, symbol->inlined_in)->name), "outer");
    natives_clear(&natives);
    recording_clear(&sum);
}

static void nothing_merges_into_nothing(void **state)
{
    (void)state;
    struct merge merge = {0};
    struct recording empty = {0}, sum = {0};
    assert_int_equal(merge_add(&merge, &empty, NULL), 0);
    assert_int_equal(merge_take(&merge, &sum, NULL), 0);
    assert_int_equal(sum.codes_count, 1);
    assert_int_equal(sum.functions_count, 0);
    recording_clear(&sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_become_one),        cmocka_unit_test(processes_and_threads_stay_apart),
        cmocka_unit_test(metas_are_kept_when_all_agree),  cmocka_unit_test(what_ranks_said_stays_theirs),
        cmocka_unit_test(totals_have_no_times),           cmocka_unit_test(flat_rows_are_added),
        cmocka_unit_test(stacks_can_be_added_as_a_table), cmocka_unit_test(damage_is_not_forgotten),
        cmocka_unit_test(nothing_merges_into_nothing),    cmocka_unit_test(addresses_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
