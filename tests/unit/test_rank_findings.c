/* rank_findings, rank_efficiency, rank_part: what is said of runs whose numbers are known, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/rank_findings.h"
#include "analyse/rank_part.h"
#include "analyse/rank_stories.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/rank_list.h"
#include "store/mpi_calls.h"

#define MS 1000000u

struct made {
    struct recording recording;
    uint32_t main, work, help, wait; /* nodes: main → work → help, main → Barrier */
};

static uint32_t add_node(struct recording *recording, uint32_t parent, const char *name, const char *module)
{
    uint32_t text = strings_intern_text(&recording->strings, name);
    struct code code = {.name = text,
                        .qualname = text,
                        .file = strings_intern_text(&recording->strings, "/home/me/app.py"),
                        .module = strings_intern_text(&recording->strings, module),
                        .line = 7,
                        .kind = CODE_PYTHON};
    return recording_add_node(recording,
                              &(struct node){.parent = parent, .code = recording_add_code(recording, &code)});
}

static void begin(struct made *made)
{
    *made = (struct made){0};
    recording_init(&made->recording, NULL);
    made->main = add_node(&made->recording, 0, "main", "app");
    made->work = add_node(&made->recording, made->main, "work", "app");
    made->help = add_node(&made->recording, made->work, "help", "numpy.core");
    made->recording.codes[made->recording.nodes[made->help].code].flags = CODE_LIBRARY;
    made->wait = add_node(&made->recording, made->main, "Barrier", "mpi4py.MPI");
}

/* A rank that lives for `wall_ms`; its thread. */
static uint32_t add_rank(struct made *made, uint32_t rank, uint64_t wall_ms)
{
    uint32_t process = recording_add_process(
        &made->recording,
        &(struct process){.pid = rank, .rank = rank, .start_ns = 5 * MS, .end_ns = (5 + wall_ms) * MS});
    return recording_add_thread(&made->recording, &(struct thread){.process = process, .tid = rank});
}

static void add_calls(struct made *made, uint32_t thread, uint32_t node, uint64_t calls, uint64_t ms)
{
    recording_add_calls(&made->recording, &(struct call_row){thread, node, calls, ms * MS});
}

static void add_samples(struct made *made, uint32_t thread, uint32_t node, uint32_t count)
{
    recording_add_sample(&made->recording, &(struct sample_row){.thread = thread,
                                                                .node = node,
                                                                .count = count,
                                                                .weight_ns = (uint64_t)count * 10 * MS,
                                                                .time_ns = 6 * MS,
                                                                .state = SAMPLE_RUNNING});
}

struct told {
    struct rank_table table;
    struct rank_efficiency efficiency;
    struct findings findings;
};

static void tell(const struct made *made, struct told *told)
{
    *told = (struct told){0};
    assert_int_equal(rank_table_add(&told->table, &made->recording, NULL, NULL), 0);
    assert_int_equal(rank_table_finish(&told->table, NULL), 0);
    assert_int_equal(rank_efficiency_of(&told->table, &told->efficiency, NULL), 0);
    assert_int_equal(rank_findings_build(&told->table, &told->efficiency, &told->findings, NULL), 0);
}

static void done(struct made *made, struct told *told)
{
    findings_clear(&told->findings);
    rank_table_clear(&told->table);
    recording_clear(&made->recording);
}

static void assert_told(const struct told *told, uint32_t place, const char *text)
{
    assert_true(place < told->findings.count);
    assert_string_equal(told->findings.rows[place].text, text);
}

static void who_does_nothing_is_named(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 32; rank++) {
        uint32_t thread = add_rank(&made, rank, 2000);
        add_calls(&made, thread, made.main, 1, 10);
        if (rank < 20) {
            add_calls(&made, thread, made.work, 5, 100);
            add_calls(&made, thread, made.help, 5,
                      900); /* the user's own function is named, not the library's */
        }
        add_calls(&made, thread, made.wait, 1, rank < 20 ? 10 : 1010);
    }
    tell(&made, &told);
    assert_told(&told, 0,
                "12 of 32 ranks (20-31) do no work in work (me/app.py:7): the other 20 have 1.00 s each; "
                "shared by all it would be 625 ms.");
    assert_int_equal(told.findings.count, 2); /* and that of all functions together */
    assert_float_equal(told.efficiency.load_balance, (20 * 1010 + 12 * 10) / 32.0 / 1010, 1e-9);
    assert_float_equal(told.efficiency.communication, 1010 / 2000.0, 1e-9);
    assert_float_equal(told.efficiency.parallel, (20 * 1010 + 12 * 10) / 32.0 / 2000, 1e-9);
    done(&made, &told);
}

static void who_has_too_much_is_named(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 8; rank++) {
        uint32_t thread = add_rank(&made, rank, 5000);
        add_calls(&made, thread, made.work, rank == 5 ? 30 : 10, rank == 5 ? 3000 : 1000);
        add_calls(&made, thread, made.wait, 1, rank == 5 ? 0 : 2000);
    }
    tell(&made, &told);
    assert_told(&told, 0,
                "Rank 5 spends 3.00 s in work (me/app.py:7) in 30 calls, the mean is 1.25 s in 13 calls: 67% "
                "imbalance, 1.75 s that equal shares would save.");
    assert_float_equal(told.findings.rows[0].share, 1.75 / 3, 1e-9);
    done(&made, &told);
}

static void one_that_works_alone_is_named(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint32_t thread = add_rank(&made, rank, 1000);
        add_calls(&made, thread, made.main, 1, 500);
        if (rank == 0)
            add_calls(&made, thread, made.work, 1, 400);
    }
    tell(&made, &told);
    assert_told(&told, 0,
                "Only rank 0 works in work (me/app.py:7): 400 ms, of which the other 3 ranks have nothing.");
    done(&made, &told);
}

static void equal_work_is_said(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 4; rank++)
        add_calls(&made, add_rank(&made, rank, 1100), made.work, 1, 1000 + rank);
    tell(&made, &told);
    assert_int_equal(told.findings.count, 1);
    assert_told(&told, 0,
                "The 4 ranks share the work equally: the busiest (3) has 1.00 s, the mean is 1.00 s.");
    done(&made, &told);
}

/* Of 100 samples 10 are chance, so one rank with 130 is nothing; one with 300 is. */
static void chance_is_not_told(void **state)
{
    (void)state;
    for (uint32_t most = 130; most <= 300; most += 170) {
        struct made made;
        struct told told;
        begin(&made);
        for (uint32_t rank = 0; rank < 16; rank++)
            add_samples(&made, add_rank(&made, rank, 3000), made.work, rank == 9 ? most : 100);
        tell(&made, &told);
        assert_string_equal(told.findings.rows[0].topic, most == 130 ? "balanced" : "imbalance");
        done(&made, &told);
    }
}

/* Where few samples are expected, none is no sign of doing nothing. */
static void few_samples_are_no_absence(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 8; rank++) {
        uint32_t thread = add_rank(&made, rank, 3000);
        add_samples(&made, thread, made.main, 40);
        if (rank % 2)
            add_samples(&made, thread, made.work, 4);
    }
    tell(&made, &told);
    for (uint32_t i = 0; i < told.findings.count; i++)
        assert_string_not_equal(told.findings.rows[i].topic, "idle-ranks");
    done(&made, &told);
}

/* main is step and work together, which are uneven in opposite ways: each is told, and it is not. */
static void a_sum_is_not_told_again(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    uint32_t step = add_node(&made.recording, made.main, "step", "app");
    for (uint32_t rank = 0; rank < 8; rank++) {
        uint32_t thread = add_rank(&made, rank, 3000);
        add_calls(&made, thread, made.work, 1, rank < 5 ? 1000 : 0);
        add_calls(&made, thread, step, 1, rank == 6 ? 2000 : 200);
    }
    tell(&made, &told);
    assert_non_null(strstr(told.findings.rows[0].text, "Rank 6 spends 2.00 s in step"));
    assert_non_null(strstr(told.findings.rows[1].text, " in work "));
    for (uint32_t i = 0; i < told.findings.count; i++)
        assert_null(strstr(told.findings.rows[i].text, " in main "));
    done(&made, &told);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 8; rank++)
        if (rank != 3 && rank < 6)
            add_calls(&made, add_rank(&made, rank, 1000), made.work, 1, 900);
    recording_set_meta(&made.recording, "ranks", "8");
    made.recording.processes[2].exit_code = -9;
    tell(&made, &told);
    assert_told(&told, 1, "3 of 8 ranks (3,6-7) have no recording here and count nowhere below.");
    assert_told(&told, 2, "1 of 5 ranks (1) ended badly; rank 1 was killed by signal 9.");
    done(&made, &told);
}

/* What MPI calls in its turn is no work either; but a program that was started by `python -m mpi4py` works. */
static void inside_mpi_is_mpi(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    uint32_t inner = add_node(&made.recording, made.wait, "poll", "mca_pml.so");
    uint32_t start = add_node(&made.recording, 0, "run_command_line", "mpi4py.run");
    uint32_t program = add_node(&made.recording, start, "program", "__main__");
    for (uint32_t rank = 0; rank < 4; rank++) {
        uint32_t thread = add_rank(&made, rank, 1000);
        add_calls(&made, thread, program, 1, 500);
        add_calls(&made, thread, inner, 1, rank ? 400 : 0);
    }
    tell(&made, &told);
    assert_int_equal(told.findings.count, 1);
    assert_string_equal(told.findings.rows[0].topic, "balanced");
    assert_float_equal(told.efficiency.useful.max, 500.0 * MS, 0);
    done(&made, &told);
}

/* MPI's own numbers count in place of frames, and belong to their callers. */
static void measured_mpi_is_not_useful(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t thread = add_rank(&made, rank, 1000);
        add_calls(&made, thread, made.main, 1, 1000);
        recording_add_mpi_total(&made.recording, &(struct mpi_total_row){.thread = thread,
                                                                         .node = made.main,
                                                                         .call = MPI_CALL_BARRIER,
                                                                         .peer = MPI_NOBODY,
                                                                         .total_ns = rank ? 600 * MS : 0});
        recording_add_mpi_total(&made.recording, &(struct mpi_total_row){.thread = thread,
                                                                         .node = made.main,
                                                                         .call = MPI_CALL_PICKLE,
                                                                         .peer = MPI_NOBODY,
                                                                         .total_ns = 300 * MS});
    }
    tell(&made, &told);
    assert_true(told.table.mpi_is_measured);
    assert_float_equal(told.efficiency.useful.max, 1000.0 * MS, 0);
    assert_float_equal(told.efficiency.useful.min, 400.0 * MS, 0); /* pickling is Python's own work */
    assert_float_equal(told.efficiency.load_balance, 0.7, 1e-9);
    done(&made, &told);
}

/* Calls are measured by the wall clock, samples are of what ran: a rank that gives its CPU away while it waits is told by its
 * frames. */
static void samples_tell_by_frames(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    uint32_t barrier = add_node(&made.recording, made.work, "MPI_Barrier", "");
    made.recording.codes[made.recording.nodes[barrier].code].kind = CODE_OTHER;
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t thread = add_rank(&made, rank, 1000);
        add_samples(&made, thread, made.work, 20);
        add_samples(&made, thread, barrier, 5);
        recording_add_mpi_total(&made.recording, &(struct mpi_total_row){.thread = thread,
                                                                         .node = made.work,
                                                                         .call = MPI_CALL_BARRIER,
                                                                         .peer = MPI_NOBODY,
                                                                         .total_ns = 800 * MS});
    }
    tell(&made, &told);
    uint32_t work = rank_table_find_origin(&told.table, made.recording.nodes[made.work].code);
    assert_float_equal(rank_stats_of(&told.table, &told.table.functions[work], RANK_USEFUL).max, 200.0 * MS,
                       0);
    assert_int_equal(told.table.ranks[0].mpi, 50 * MS);
    assert_float_equal(told.efficiency.useful.max, 200.0 * MS, 0); /* by the wall clock: 1,000 - 800 */
    done(&made, &told);
}

static void ranks_that_know_no_others_are_told_of(void **state)
{
    (void)state;
    struct made made;
    struct told told;
    begin(&made);
    for (uint32_t rank = 0; rank < 2; rank++)
        add_calls(&made, add_rank(&made, rank, 1000), made.main, 1, 1000);
    recording_set_meta(&made.recording, "mpi_alone", "1");
    tell(&made, &told);
    assert_string_equal(told.findings.rows[0].topic, "alone");
    done(&made, &told);
    begin(&made); /* a child of theirs is alone */
    for (uint32_t rank = 0; rank < 2; rank++)
        add_calls(&made, add_rank(&made, rank, 1000), made.main, 1, 1000);
    recording_set_meta(&made.recording, "mpi_alone", "1");
    recording_set_meta(&made.recording, "rank_from", "MPI_COMM_WORLD");
    tell(&made, &told);
    assert_string_not_equal(told.findings.rows[0].topic, "alone");
    done(&made, &told);
}

static void some_ranks_are_a_recording(void **state)
{
    (void)state;
    struct made made;
    struct err err = {0};
    begin(&made);
    struct recording *recording = &made.recording;
    uint32_t threads[4];
    for (uint32_t rank = 0; rank < 4; rank++) {
        threads[rank] = add_rank(&made, rank, 1000);
        add_calls(&made, threads[rank], made.work, 1, 100 * (rank + 1));
        uint32_t counter = recording_add_counter(recording, &(struct counter){.process = rank + 1});
        recording_add_series(recording, &(struct series_row){.counter = counter, .value = rank});
        recording_add_note(recording, &(struct note){.process = rank + 1, .count = rank});
    }
    bool *chosen = rank_part_threads_new(recording, "1,3", &err);
    assert_false(chosen[threads[0]]);
    assert_true(chosen[threads[3]]);
    free(chosen);
    assert_int_equal(rank_part_keep(recording, "9", &err), -1);
    assert_int_equal(recording->calls_count, 4);
    assert_int_equal(rank_part_keep(recording, "1,3-8", &err), 0);
    assert_int_equal(recording->processes_count, 3);
    assert_int_equal(recording->processes[2].rank, 3);
    assert_int_equal(recording->threads_count, 3);
    assert_int_equal(recording->threads[2].process, 2);
    assert_int_equal(recording->calls_count, 2);
    assert_int_equal(recording->calls[1].thread, 2);
    assert_int_equal(recording->calls[1].self_ns, 400 * MS);
    assert_int_equal(recording->series_count, 2);
    assert_int_equal(recording->series[1].counter, 2);
    assert_int_equal(recording->series[1].value, 3);
    assert_int_equal(recording->notes_count, 2);
    recording_clear(recording);
}

static void lists_are_read_and_written(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", "x", "1,", "3-1", "1-", "-1", "1,,2", "4294967295", "1 2"};
    static const uint32_t ranks[] = {0, 1, 2, 3, 7, 9, 10};
    bool has;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rank_list_has(wrong[i], 1, &has));
    assert_true(rank_list_has("0,7,100-115", 107, &has) && has);
    assert_true(rank_list_has("0,7,100-115", 8, &has) && !has);
    struct bytes text = {0};
    rank_list_put(ranks, 7, 0, &text);
    bytes_put_u8(&text, ' ');
    rank_list_put(ranks, 7, 2, &text);
    bytes_put_u8(&text, 0);
    assert_string_equal((const char *)text.data, "0-3,7,9-10 0-3,7,...");
    bytes_clear(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_does_nothing_is_named),
        cmocka_unit_test(who_has_too_much_is_named),
        cmocka_unit_test(one_that_works_alone_is_named),
        cmocka_unit_test(equal_work_is_said),
        cmocka_unit_test(chance_is_not_told),
        cmocka_unit_test(few_samples_are_no_absence),
        cmocka_unit_test(a_sum_is_not_told_again),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(measured_mpi_is_not_useful),
        cmocka_unit_test(samples_tell_by_frames),
        cmocka_unit_test(ranks_that_know_no_others_are_told_of),
        cmocka_unit_test(some_ranks_are_a_recording),
        cmocka_unit_test(lists_are_read_and_written),
        cmocka_unit_test(inside_mpi_is_mpi),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
