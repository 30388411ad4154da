/* mpi: what ranks did with one another, who waited for whom, on which clock: runs whose every number is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "analyse/mpi_groups.h"
#include "analyse/mpi_times.h"
#include "analyse/mpi_waits.h"
#include "analyse/rank_clocks.h"
#include "analyse/rank_times.h"
#include "base/err.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

#define WORLD 77 /* key of the communicator of all */
#define MS    UINT64_C(1000000)

/* So many ranks, each with one process, one thread of the same number and its view of the world. */
static struct recording make_run(uint32_t ranks, const char *const *hosts)
{
    struct recording recording = {0};
    assert_int_equal(recording_init(&recording, NULL), 0);
    for (uint32_t rank = 0; rank < ranks; rank++) {
        uint32_t host = strings_intern_text(&recording.strings, hosts ? hosts[rank] : "node");
        struct process process = {.pid = 100 + rank, .rank = rank, .host = host};
        uint32_t id = recording_add_process(&recording, &process);
        recording_add_thread(&recording, &(struct thread){.process = id, .tid = 100 + rank});
        recording_add_communicator(
            &recording, &(struct communicator){.key = WORLD, .process = id, .size = ranks, .rank = rank});
    }
    struct code code = {.kind = CODE_PYTHON};
    uint32_t id = recording_add_code(&recording, &code);
    for (uint32_t node = 1; node <= 3; node++)
        recording_add_node(&recording, &(struct node){.parent = node - 1, .code = id});
    return recording;
}

static void add_message(struct recording *recording, bool received, uint32_t rank, uint32_t peer, int32_t tag,
                        uint64_t posted_ns, uint64_t time_ns, uint64_t end_ns)
{
    struct message_row row = {.time_ns = time_ns,
                              .duration_ns = end_ns - time_ns,
                              .posted_ns = posted_ns,
                              .size_bytes = 8,
                              .thread = rank + 1,
                              .node = rank % 3 + 1,
                              .communicator = rank + 1,
                              .peer = peer,
                              .tag = tag,
                              .call = received ? MPI_CALL_RECV : MPI_CALL_SEND,
                              .received = received};
    recording_add_message(recording, &row);
}

static void add_collective(struct recording *recording, uint8_t call, uint64_t number, uint32_t rank,
                           uint32_t root, uint64_t time_ns, uint64_t end_ns)
{
    struct collective_row row = {.time_ns = time_ns,
                                 .duration_ns = end_ns - time_ns,
                                 .posted_ns = time_ns,
                                 .number = number,
                                 .thread = rank + 1,
                                 .node = rank % 3 + 1,
                                 .communicator = rank + 1,
                                 .root = root,
                                 .call = call};
    recording_add_collective(recording, &row);
}

static struct mpi_waits find_waits(struct recording *recording)
{
    struct mpi_waits waits;
    struct err err = {0};
    assert_int_equal(mpi_waits_build(recording, &waits, &err), 0);
    return waits;
}

static void assert_wait(const struct mpi_wait_row *row, enum mpi_wait_kind kind, uint32_t rank,
                        uint32_t culprit, uint64_t wait_ns)
{
    assert_int_equal(row->kind, kind);
    assert_int_equal(row->rank, rank);
    assert_int_equal(row->culprit, culprit);
    assert_int_equal(row->wait_ns, wait_ns);
    assert_int_equal(row->node, rank % 3 + 1);
    assert_int_equal(row->culprit_node, culprit % 3 + 1);
}

static void late_sender_and_late_receiver(void **state)
{
    (void)state;
    struct recording run = make_run(2, NULL);
    add_message(&run, false, 0, 1, 5, 10 * MS, 10 * MS, 11 * MS); /* sent at 10, awaited since 4 */
    add_message(&run, false, 0, 1, 6, 20 * MS, 20 * MS, 33 * MS); /* wanted at 32 only: blocks for 12 */
    add_message(&run, false, 0, 1, 7, 40 * MS, 40 * MS, 41 * MS); /* eager: over before anybody wants it */
    add_message(&run, true, 1, 0, 5, 4 * MS, 4 * MS, 12 * MS);
    add_message(&run, true, 1, 0, 6, 32 * MS, 32 * MS, 33 * MS);
    add_message(&run, true, 1, 0, 7, 60 * MS, 60 * MS, 61 * MS);
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.count, 2);
    assert_wait(&waits.rows[0], MPI_WAIT_RECEIVER, 0, 1, 12 * MS);
    assert_wait(&waits.rows[1], MPI_WAIT_SENDER, 1, 0, 6 * MS);
    assert_int_equal(waits.total_ns, 18 * MS);
    assert_int_equal(waits.unmatched, 0);
    assert_int_equal(waits.violation_ns, 0);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

/* Messages of one tag keep their order, those of others and of another communicator do not mix with them. */
static void messages_are_matched_in_order(void **state)
{
    (void)state;
    struct recording run = make_run(2, NULL);
    add_message(&run, false, 0, 1, 1, 10 * MS, 10 * MS, 10 * MS);
    add_message(&run, false, 0, 1, 2, 11 * MS, 11 * MS, 11 * MS);
    add_message(&run, false, 0, 1, 1, 30 * MS, 30 * MS, 30 * MS);
    add_message(&run, true, 1, 0, 1, 25 * MS, 25 * MS, 31 * MS); /* written in another order than they came */
    add_message(&run, true, 1, 0, 2, 1 * MS, 1 * MS, 12 * MS);
    add_message(&run, true, 1, 0, 1, 24 * MS, 24 * MS, 24 * MS);
    add_message(&run, true, 1, 0, 9, 50 * MS, 50 * MS, 51 * MS); /* nobody sent it */
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.unmatched, 1);
    assert_int_equal(waits.count, 1); /* one rank waits for one other at one stack */
    assert_int_equal(waits.rows[0].count, 2);
    assert_wait(&waits.rows[0], MPI_WAIT_SENDER, 1, 0, 10 * MS + 5 * MS);
    assert_int_equal(waits.rows[0].longest_ns, 10 * MS);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

/* Waitall for two messages waits for the later one, once. */
static void a_call_waits_once(void **state)
{
    (void)state;
    struct recording run = make_run(3, NULL);
    add_message(&run, true, 0, 1, 1, 1 * MS, 10 * MS, 40 * MS);
    add_message(&run, true, 0, 2, 1, 2 * MS, 10 * MS, 40 * MS);
    add_message(&run, false, 1, 0, 1, 15 * MS, 15 * MS, 15 * MS);
    add_message(&run, false, 2, 0, 1, 39 * MS, 39 * MS, 39 * MS);
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.count, 1);
    assert_wait(&waits.rows[0], MPI_WAIT_SENDER, 0, 2, 29 * MS);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

static void collectives_by_shape(void **state)
{
    (void)state;
    struct recording run = make_run(3, NULL);
    const uint64_t begins[] = {10 * MS, 14 * MS, 12 * MS}; /* rank 1 is the last one */
    const struct {
        uint8_t call;
        uint32_t root;
    } calls[] = {{MPI_CALL_BARRIER, MPI_NOBODY},
                 {MPI_CALL_BCAST, 2},
                 {MPI_CALL_REDUCE, 0},
                 {MPI_CALL_SCAN, MPI_NOBODY}};
    for (uint32_t call = 0; call < 4; call++)
        for (uint32_t rank = 0; rank < 3; rank++)
            add_collective(&run, calls[call].call, call, rank, calls[call].root,
                           begins[rank] + call * 100 * MS, 15 * MS + call * 100 * MS);
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.count, 5);
    /* equal ones by kind, then rank */
    assert_wait(&waits.rows[0], MPI_WAIT_ALL, 0, 1, 4 * MS);
    assert_wait(&waits.rows[1], MPI_WAIT_MEMBERS, 0, 1, 4 * MS); /* the root of the reduce, for the last */
    assert_wait(&waits.rows[2], MPI_WAIT_ALL, 2, 1, 2 * MS);
    assert_wait(&waits.rows[3], MPI_WAIT_ROOT, 0, 2, 2 * MS);  /* rank 1 came after the root */
    assert_wait(&waits.rows[4], MPI_WAIT_BELOW, 2, 1, 2 * MS); /* those below rank 1 came before it */
    assert_int_equal(waits.late[0].rank, 1);
    assert_int_equal(waits.late[0].call, MPI_CALL_BARRIER);
    assert_int_equal(waits.late[0].caused_ns, 6 * MS);
    assert_true(waits.late[0].took_part == 1 && waits.late[0].was_last == 1);
    assert_int_equal(waits.incomplete, 0);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

static void a_rank_that_is_late_more_often(void **state)
{
    (void)state;
    struct recording run = make_run(4, NULL);
    for (uint32_t number = 0; number < 10; number++)
        for (uint32_t rank = 0; rank < 4; rank++) {
            uint32_t last = number < 8 ? 3 : 0;
            uint64_t begin = number * 100 * MS + (rank == last ? 5 * MS : 1 * MS);
            add_collective(&run, MPI_CALL_ALLREDUCE, number, rank, MPI_NOBODY, begin,
                           number * 100 * MS + 6 * MS);
        }
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.late_count, 4);
    assert_int_equal(waits.late[0].rank, 3);
    assert_true(waits.late[0].was_last == 8 && waits.late[0].took_part == 10);
    assert_int_equal(waits.late[0].caused_ns, 8 * 3 * 4 * MS);
    assert_true(waits.late[1].rank == 0 && waits.late[1].was_last == 2);
    assert_int_equal(waits.total_ns, 10 * 3 * 4 * MS);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

/* A rank whose clock was measured at both ends: it is 1000 s ahead and runs fast by 10 ppm. */
static void clocks_that_were_measured(void **state)
{
    (void)state;
    const char *const hosts[] = {"a", "b"};
    struct recording run = make_run(2, hosts);
    const uint64_t ahead = 1000000 * MS;
    recording_add_clock(
        &run, &(struct clock_row){.local_ns = ahead, .reference_ns = 0, .error_ns = 900, .process = 2});
    recording_add_clock(&run, &(struct clock_row){.local_ns = ahead + 100001 * MS,
                                                  .reference_ns = 100000 * MS,
                                                  .error_ns = 1100,
                                                  .process = 2});
    struct mpi_groups groups;
    struct rank_clocks clocks;
    assert_int_equal(mpi_groups_build(&run, &groups, NULL), 0);
    assert_int_equal(rank_clocks_build(&run, &groups, &clocks, NULL), 0);
    assert_int_equal(clocks.error_ns, 1100);
    assert_int_equal(clocks.unknown, 0);
    int64_t middle = rank_clocks_time(&clocks, 2, ahead + 50000 * MS + MS / 2);
    assert_in_range((uint64_t)(middle - (int64_t)(50000 * MS) + 10), 0, 20);
    assert_int_equal(rank_clocks_time(&clocks, 1, 5), 5);
    rank_clocks_clear(&clocks);
    mpi_groups_clear(&groups);
    recording_clear(&run);
}

/* Without a measurement: by the ends of barriers; what they disagree by is the error, and hides shorter waits. */
static void clocks_by_the_ends_of_collectives(void **state)
{
    (void)state;
    const char *const hosts[] = {"a", "b", "c"};
    struct recording run = make_run(3, hosts);
    const uint64_t shift = 5000 * MS;
    for (uint32_t number = 0; number < 5; number++) {
        uint64_t at = (100 + number * 10) * MS;
        add_collective(&run, MPI_CALL_BARRIER, number, 0, MPI_NOBODY, at, at + 8 * MS);
        uint64_t jitter = number == 2 ? 1000 : 0;
        add_collective(&run, MPI_CALL_BARRIER, number, 1, MPI_NOBODY, at + shift + 7 * MS,
                       at + shift + 8 * MS + jitter);
    }
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.unknown_clocks, 1); /* rank 2 was in none */
    assert_in_range(waits.error_ns, 600, 1000);
    assert_int_equal(waits.incomplete, 5);
    assert_int_equal(waits.count, 1);
    assert_true(waits.rows[0].rank == 0 && waits.rows[0].culprit == 1 && waits.rows[0].count == 5);
    assert_in_range(waits.rows[0].wait_ns, 35 * MS - 5000, 35 * MS + 5000);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

static void nothing_below_the_error(void **state)
{
    (void)state;
    const char *const hosts[] = {"a", "b"};
    struct recording run = make_run(2, hosts);
    recording_add_clock(
        &run, &(struct clock_row){.local_ns = 1, .reference_ns = 1, .error_ns = 3000, .process = 2});
    add_message(&run, false, 0, 1, 5, 10 * MS, 10 * MS, 10 * MS + 10);
    add_message(&run, true, 1, 0, 5, 10 * MS - 2900, 10 * MS - 2900, 11 * MS);
    add_message(&run, false, 0, 1, 6, 20 * MS, 20 * MS, 20 * MS + 10);
    add_message(&run, true, 1, 0, 6, 20 * MS - 3100, 20 * MS - 3100, 21 * MS);
    add_message(&run, false, 0, 1, 7, 30 * MS, 30 * MS, 30 * MS + 10);
    add_message(&run, true, 1, 0, 7, 29 * MS, 29 * MS, 30 * MS - 700); /* there before it was sent */
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.rows[0].count, 2);
    assert_int_equal(waits.rows[0].wait_ns, 3100 + 1 * MS - 700);
    assert_int_equal(waits.violation_ns, 700);
    mpi_waits_clear(&waits);
    recording_clear(&run);
}

static void add_total(struct recording *recording, uint32_t rank, uint8_t call, uint32_t node, uint32_t peer,
                      struct mpi_total_row values)
{
    values.thread = rank + 1;
    values.node = node;
    values.call = call;
    values.peer = peer;
    values.communicator = rank + 1;
    recording_add_mpi_total(recording, &values);
}

static void times_by_call_stack_rank_and_pair(void **state)
{
    (void)state;
    struct recording run = make_run(3, NULL);
    add_total(&run, 0, MPI_CALL_SEND, 1, 1,
              (struct mpi_total_row){.count = 2, .sent_bytes = 16, .total_ns = 100});
    add_total(&run, 0, MPI_CALL_SEND, 2, 1,
              (struct mpi_total_row){.count = 1, .sent_bytes = 4, .total_ns = 50});
    add_total(&run, 0, MPI_CALL_SEND, 2, 2,
              (struct mpi_total_row){.count = 1, .sent_bytes = 1, .total_ns = 7});
    add_total(&run, 1, MPI_CALL_RECV, 3, 0,
              (struct mpi_total_row){.count = 3, .received_bytes = 20, .total_ns = 900});
    add_total(&run, 1, MPI_CALL_RECV, 3, 9,
              (struct mpi_total_row){.count = 1, .received_bytes = 5, .total_ns = 1});
    add_total(&run, 1, MPI_CALL_PICKLE, 3, MPI_NOBODY, (struct mpi_total_row){.count = 4, .total_ns = 4000});
    struct mpi_times times;
    assert_int_equal(mpi_times_build(&run, &times, NULL), 0);
    assert_int_equal(times.total_ns, 100 + 50 + 7 + 900 + 1);
    assert_int_equal(times.python_ns, 4000);
    assert_int_equal(times.calls_count, 3);
    const struct mpi_time_row *received = &times.calls[1], *sent = &times.calls[2];
    assert_int_equal(times.calls[0].call, MPI_CALL_PICKLE);
    assert_true(received->call == MPI_CALL_RECV && received->count == 4 && received->total_ns == 901);
    assert_true(sent->call == MPI_CALL_SEND && sent->count == 4 && sent->sent_bytes == 21 &&
                sent->ranks == 1);
    assert_true(sent->most_ns == 157 && sent->most_rank == 0 && sent->least_ns == 0);
    assert_int_equal(times.stacks_count, 4);
    assert_true(times.stacks[2].node == 1 && times.stacks[2].total_ns == 100);
    assert_true(times.stacks[3].node == 2 && times.stacks[3].total_ns == 57);
    assert_int_equal(times.ranks_count, 3);
    assert_true(times.ranks[0].mpi_ns == 157 && times.ranks[0].sent_bytes == 21 && times.ranks[0].calls == 4);
    assert_true(times.ranks[1].mpi_ns == 901 && times.ranks[1].python_ns == 4000);
    assert_true(times.ranks[2].mpi_ns == 0 && times.ranks[2].calls == 0);
    const struct mpi_cell expected[] = {
        {3, 20, 0, 1}, {1, 1, 0, 2}, {1, 5, 9, 1}}; /* rank 9 was not recorded */
    assert_int_equal(times.cells_count, 3);
    assert_memory_equal(times.cells, expected, sizeof expected);
    mpi_times_clear(&times);
    recording_clear(&run);
}

/* All times are on the first rank's clock afterwards, and the waits are the same as before. */
static void times_are_laid_on_one_clock(void **state)
{
    (void)state;
    const char *const hosts[] = {"a", "b"};
    struct recording run = make_run(2, hosts);
    const uint64_t ahead = 1000000 * MS;
    recording_add_clock(
        &run, &(struct clock_row){.local_ns = ahead, .reference_ns = 1, .error_ns = 900, .process = 2});
    add_message(&run, false, 0, 1, 5, 10 * MS, 10 * MS, 11 * MS);
    add_message(&run, true, 1, 0, 5, ahead + 4 * MS, ahead + 4 * MS, ahead + 12 * MS);
    recording_add_sample(&run, &(struct sample_row){.time_ns = ahead + 7 * MS, .thread = 2, .count = 1});
    recording_add_sample(&run, &(struct sample_row){.time_ns = 7 * MS, .thread = 1, .count = 1});
    struct mpi_waits before = find_waits(&run);
    assert_int_equal(rank_times_align(&run, NULL), 0);
    struct mpi_waits after = find_waits(&run);
    assert_int_equal(run.samples[0].time_ns, 7 * MS + 1);
    assert_int_equal(run.samples[1].time_ns, 7 * MS);
    assert_int_equal(run.messages[1].time_ns, 4 * MS + 1);
    assert_true(before.count == 1 && after.count == 1 && after.error_ns == 900);
    assert_int_equal(before.rows[0].wait_ns, 6 * MS - 1);
    assert_int_equal(after.rows[0].wait_ns, 6 * MS - 1);
    mpi_waits_clear(&before);
    mpi_waits_clear(&after);
    recording_clear(&run);
}

static void nothing_at_all(void **state)
{
    (void)state;
    struct recording run = {0};
    struct mpi_waits waits = find_waits(&run);
    assert_int_equal(waits.count, 0);
    mpi_waits_clear(&waits);
    struct mpi_times times;
    assert_int_equal(mpi_times_build(&run, &times, NULL), 0);
    assert_int_equal(times.calls_count, 0);
    mpi_times_clear(&times);
    recording_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_sender_and_late_receiver),
        cmocka_unit_test(messages_are_matched_in_order),
        cmocka_unit_test(a_call_waits_once),
        cmocka_unit_test(collectives_by_shape),
        cmocka_unit_test(a_rank_that_is_late_more_often),
        cmocka_unit_test(clocks_that_were_measured),
        cmocka_unit_test(clocks_by_the_ends_of_collectives),
        cmocka_unit_test(nothing_below_the_error),
        cmocka_unit_test(times_by_call_stack_rank_and_pair),
        cmocka_unit_test(times_are_laid_on_one_clock),
        cmocka_unit_test(nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
