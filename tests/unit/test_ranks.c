/* rank_table, rank_stats: what each function took on each rank, against numbers worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/merge.h"
#include "analyse/rank_owners.h"
#include "analyse/rank_stats.h"
#include "analyse/rank_table.h"
#include "base/err.h"
#include "store/recording.h"

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern_text(&recording->strings, words);
}

static uint32_t add_code(struct recording *recording, const char *name, const char *module)
{
    struct code code = {.name = text(recording, name),
                        .qualname = text(recording, name),
                        .file = text(recording, "a.py"),
                        .module = text(recording, module),
                        .line = 3,
                        .kind = CODE_PYTHON};
    return recording_add_code(recording, &code);
}

static uint32_t add_process(struct recording *recording, uint32_t rank, uint32_t parent)
{
    return recording_add_process(recording, &(struct process){.pid = 100 + rank,
                                                              .parent = parent,
                                                              .rank = rank,
                                                              .host = text(recording, rank < 2 ? "a" : "b"),
                                                              .start_ns = 1000,
                                                              .end_ns = 2000 + rank,
                                                              .exit_code = 0});
}

/* main → work → work (recursion) and main → Barrier of mpi4py. Rank r works 10 (r + 1) in all and waits 5; rank 3 does
 * not work, but a process that it has started waits 7. `shift` changes all ids. */
static void make_rank(struct recording *recording, uint32_t rank, unsigned shift)
{
    recording_init(recording, NULL);
    for (unsigned i = 0; i < shift; i++)
        add_code(recording, i % 2 ? "odd" : "even", "m");
    uint32_t work = add_code(recording, "work", "m");
    uint32_t barrier = add_code(recording, "Barrier", "mpi4py.MPI");
    uint32_t main = add_code(recording, "main", "m");
    uint32_t top = recording_add_node(recording, &(struct node){.parent = 0, .code = main});
    uint32_t one = recording_add_node(recording, &(struct node){.parent = top, .code = work});
    uint32_t two = recording_add_node(recording, &(struct node){.parent = one, .code = work});
    uint32_t wait = recording_add_node(recording, &(struct node){.parent = top, .code = barrier});
    uint32_t process = add_process(recording, rank, 0);
    uint32_t thread = recording_add_thread(recording, &(struct thread){.process = process, .tid = 1});
    recording_add_calls(recording, &(struct call_row){thread, top, 1, 1});
    if (rank != 3) {
        recording_add_calls(recording, &(struct call_row){thread, one, 2, 4 * (rank + 1)});
        recording_add_calls(recording, &(struct call_row){thread, two, 3, 6 * (rank + 1)});
    }
    recording_add_calls(recording, &(struct call_row){thread, wait, 1, 5});
    if (rank == 3) {
        uint32_t child = add_process(recording, RANK_NONE, process);
        uint32_t other = recording_add_thread(recording, &(struct thread){.process = child, .tid = 2});
        recording_add_calls(recording, &(struct call_row){other, wait, 1, 7});
    }
    recording_set_meta(recording, "mode", "trace");
    recording_set_meta(recording, "ranks", "6");
}

static uint32_t find(const struct rank_table *table, const char *name)
{
    for (uint32_t i = 1; i < table->names.codes_count; i++)
        if (strcmp(recording_text(&table->names, table->names.codes[i].name), name) == 0)
            return i;
    fail_msg("no function %s", name);
    return 0;
}

static struct rank_stats stats_of(const struct rank_table *table, const char *name, enum rank_value value)
{
    return rank_stats_of(table, &table->functions[find(table, name)], value);
}

static void check_table(const struct rank_table *table)
{
    assert_int_equal(table->rank_count, 4);
    assert_int_equal(table->expected, 6);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(table->ranks[i].number, i);
        assert_string_equal(recording_text(&table->names, table->ranks[i].host), i < 2 ? "a" : "b");
    }
    struct rank_stats work = stats_of(table, "work", RANK_TOTAL);
    assert_int_equal(work.present, 3);
    assert_float_equal(work.mean, 15, 1e-9); /* 10, 20, 30, 0 */
    assert_float_equal(work.min, 0, 0);
    assert_float_equal(work.max, 30, 0);
    assert_int_equal(work.min_rank, 3);
    assert_int_equal(work.max_rank, 2);
    assert_float_equal(work.deviation, sqrt(125), 1e-9);
    assert_float_equal(work.imbalance, 15, 1e-9);
    assert_float_equal(work.imbalance_share, 15.0 / 30 * 4 / 3, 1e-9);
    assert_float_equal(stats_of(table, "work", RANK_CALLS).sum, 15, 0);
    assert_float_equal(stats_of(table, "work", RANK_SELF).max, 30, 0);
    struct rank_stats main = stats_of(table, "main", RANK_TOTAL);
    assert_float_equal(main.mean, (16 + 26 + 36 + 13) / 4.0, 1e-9); /* with that of the child */
    assert_float_equal(stats_of(table, "main", RANK_USEFUL).max, 31, 0);
    struct rank_stats wait = stats_of(table, "Barrier", RANK_TOTAL);
    assert_float_equal(wait.max, 12, 0); /* with the child's */
    assert_int_equal(wait.max_rank, 3);
    assert_float_equal(stats_of(table, "Barrier", RANK_USEFUL).max, 0, 0);
}

static void check_ranks(const struct rank_table *table)
{
    assert_int_equal(table->ranks[2].amount, 36);
    assert_int_equal(table->ranks[2].mpi, 5);
    assert_int_equal(table->ranks[2].wall_ns, 1002);
    assert_int_equal(table->ranks[3].amount, 13);
    assert_int_equal(table->ranks[3].processes, 2);
    assert_int_equal(table->ranks[3].busiest, 7);
    assert_int_equal(table->ranks[3].busiest_mpi, 7);
    assert_true(table->has_mpi);
    assert_false(table->mpi_is_measured);
}

static void files_are_added_one_by_one(void **state)
{
    (void)state;
    struct rank_table table = {0};
    static const uint32_t order[] = {2, 0, 3, 1}; /* whoever comes first */
    for (uint32_t i = 0; i < 4; i++) {
        struct recording recording = {0};
        make_rank(&recording, order[i], i * 3);
        assert_int_equal(rank_table_add(&table, &recording, NULL, NULL), 0);
        recording_clear(&recording);
    }
    assert_int_equal(rank_table_finish(&table, NULL), 0);
    check_table(&table);
    check_ranks(&table);
    rank_table_clear(&table);
}

static void make_merged(struct recording *sum)
{
    struct merge merge = {0};
    for (uint32_t i = 0; i < 4; i++) {
        struct recording recording = {0};
        make_rank(&recording, i, i);
        assert_int_equal(merge_add(&merge, &recording, NULL), 0);
        recording_clear(&recording);
    }
    assert_int_equal(merge_take(&merge, sum, NULL), 0);
    merge_clear(&merge);
}

static void one_file_of_many_ranks_gives_the_same(void **state)
{
    (void)state;
    struct recording sum = {0};
    struct rank_table table = {.with_paths = true};
    make_merged(&sum);
    assert_int_equal(rank_owners_only(&sum), RANK_NONE);
    assert_int_equal(rank_table_add(&table, &sum, NULL, NULL), 0);
    assert_int_equal(rank_table_finish(&table, NULL), 0);
    check_table(&table);
    check_ranks(&table);
    assert_int_equal(table.origins[find(&table, "main")],
                     sum.nodes[1].code); /* the page knows functions by their ids */
    rank_table_clear(&table);
    recording_clear(&sum);
}

/* The rows of a rank may lie apart, as those of threads of one process do. */
static void cells_of_a_rank_are_joined(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct rank_table table = {0};
    make_rank(&recording, 0, 0);
    uint32_t other = add_process(&recording, 1, 0);
    uint32_t thread = recording_add_thread(&recording, &(struct thread){.process = other, .tid = 3});
    uint32_t back = recording_add_thread(&recording, &(struct thread){.process = 1, .tid = 4});
    recording_add_calls(&recording, &(struct call_row){thread, 2, 1, 100});
    recording_add_calls(&recording, &(struct call_row){back, 2, 1, 1});
    assert_int_equal(rank_table_add(&table, &recording, NULL, NULL), 0);
    assert_int_equal(rank_table_finish(&table, NULL), 0);
    const struct rank_cells *work = &table.functions[find(&table, "work")];
    assert_int_equal(work->count, 2);
    assert_int_equal(rank_table_cell(work, 0)->total, 11);
    assert_int_equal(rank_table_cell(work, 1)->total, 100);
    rank_table_clear(&table);
    recording_clear(&recording);
}

static void paths_are_told_apart(void **state)
{
    (void)state;
    struct recording sum = {0};
    struct rank_table table = {.with_paths = true};
    make_merged(&sum);
    assert_int_equal(rank_table_add(&table, &sum, NULL, NULL), 0);
    assert_int_equal(rank_table_finish(&table, NULL), 0);
    uint32_t work = find(&table, "work"), inner = 0;
    for (uint32_t i = 1; i < table.names.nodes_count; i++) {
        uint32_t parent = table.names.nodes[i].parent;
        if (table.names.nodes[i].code == work && table.names.nodes[parent].code == work)
            inner = i;
    }
    assert_int_not_equal(inner, 0);
    struct rank_stats stats = rank_stats_of(&table, &table.paths[inner], RANK_TOTAL);
    assert_float_equal(stats.mean, 9, 1e-9); /* 6, 12, 18, 0 */
    assert_int_equal(stats.present, 3);
    rank_table_clear(&table);
    recording_clear(&sum);
}

static void a_histogram_counts_all_ranks(void **state)
{
    (void)state;
    struct recording sum = {0};
    struct rank_table table = {0};
    uint32_t counts[3];
    make_merged(&sum);
    assert_int_equal(rank_table_add(&table, &sum, NULL, NULL), 0);
    assert_int_equal(rank_table_finish(&table, NULL), 0);
    rank_stats_histogram(&table, &table.functions[find(&table, "work")], RANK_TOTAL, 0, 30, counts, 3);
    assert_int_equal(counts[0], 1); /* 0 */
    assert_int_equal(counts[1], 1); /* 10 */
    assert_int_equal(counts[2], 2); /* 20 and 30 */
    rank_table_clear(&table);
    recording_clear(&sum);
}

static void nothing_is_a_table_too(void **state)
{
    (void)state;
    struct rank_table table = {0};
    assert_int_equal(rank_table_finish(&table, NULL), 0);
    assert_int_equal(rank_table_function_count(&table), 0);
    struct rank_stats stats = rank_stats_of(&table, &(struct rank_cells){0}, RANK_TOTAL);
    assert_float_equal(stats.mean, 0, 0);
    assert_float_equal(stats.imbalance_share, 0, 0);
    rank_table_clear(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_added_one_by_one),
        cmocka_unit_test(one_file_of_many_ranks_gives_the_same),
        cmocka_unit_test(cells_of_a_rank_are_joined),
        cmocka_unit_test(paths_are_told_apart),
        cmocka_unit_test(a_histogram_counts_all_ranks),
        cmocka_unit_test(nothing_is_a_table_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
