/* mpi: what ranks did with one another, added up; messages: those of a window of time, from thread to thread. */
#include <stdlib.h>

#include "analyse/mpi_pairs.h"
#include "analyse/mpi_suspects.h"
#include "analyse/series.h"
#include "base/err.h"
#include "base/sort.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"
#include "store/mpi_calls.h"

#define MESSAGES_MAX 2000 /* lines that a picture can still show */

static uint32_t at_most(uint32_t count, uint32_t limit)
{
    return limit && limit < count ? limit : count;
}

/* ---- names ---- */

static void put_names(struct json *json)
{
    json_key(json, "call_names");
    json_begin_array(json);
    for (unsigned call = 0; call < MPI_CALL_COUNT; call++)
        json_string(json, mpi_call_name(call));
    json_end_array(json);
    json_key(json, "wait_names");
    json_begin_array(json);
    for (unsigned kind = 0; kind < MPI_WAIT_KINDS; kind++)
        json_string(json, mpi_waits_kind_name(kind));
    json_end_array(json);
}

static void put_values(struct answer *answer, const struct mpi_suspects *mpi)
{
    struct json *json = &answer->json;
    put_names(json);
    json_put_unsigned(json, "mpi_ns", mpi->times.total_ns);
    json_put_unsigned(json, "pickling_ns", mpi->times.python_ns);
    json_put_unsigned(json, "waited_ns", mpi->waits.total_ns);
    answer_put_share(answer, "mpi_share", (double)mpi->times.total_ns, (double)mpi->ranks_ns);
    answer_put_share(answer, "pickling_share", (double)mpi->times.python_ns, (double)mpi->ranks_ns);
    answer_put_share(answer, "waited_share", (double)mpi->waits.total_ns, (double)mpi->ranks_ns);
    json_put_unsigned(json, "clock_error_ns", mpi->waits.error_ns);
    json_put_unsigned(json, "unknown_clocks", mpi->waits.unknown_clocks);
    json_put_unsigned(json, "unmatched", mpi->waits.unmatched);
    json_put_unsigned(json, "incomplete", mpi->waits.incomplete);
}

/* ---- tables ---- */

static void put_calls(struct answer *answer, const struct mpi_suspects *mpi)
{
    const struct mpi_time_row *rows = mpi->times.calls;
    const uint32_t count = mpi->times.calls_count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "call_call", rows, count, call);
    ANSWER_COLUMNS_PUT_REALS(answer, "call_count", rows, count, count);
    ANSWER_COLUMNS_PUT_REALS(answer, "call_ns", rows, count, total_ns);
    ANSWER_COLUMNS_PUT_SHARES(answer, "call_share", rows, count, total_ns, mpi->ranks_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "call_most_ns", rows, count, most_ns);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "call_most_rank", rows, count, most_rank);
    ANSWER_COLUMNS_PUT_REALS(answer, "call_sent", rows, count, sent_bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "call_received", rows, count, received_bytes);
}

static void put_stacks(struct answer *answer, const struct mpi_suspects *mpi, uint32_t limit)
{
    const struct mpi_time_row *rows = mpi->times.stacks;
    const uint32_t count = at_most(mpi->times.stacks_count, limit);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "stack_call", rows, count, call);
    ANSWER_COLUMNS_PUT_REALS(answer, "stack_count", rows, count, count);
    ANSWER_COLUMNS_PUT_REALS(answer, "stack_ns", rows, count, total_ns);
    ANSWER_COLUMNS_PUT_SHARES(answer, "stack_share", rows, count, total_ns, mpi->ranks_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "stack_most_ns", rows, count, most_ns);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "stack_most_rank", rows, count, most_rank);
    uint32_t *codes = answer_numbers(answer, "stack_code", count);
    for (uint32_t i = 0; codes && i < count; i++)
        codes[i] = mpi->recording->nodes[rows[i].node].code;
}

static void put_ranks(struct answer *answer, const struct mpi_suspects *mpi)
{
    const struct mpi_rank_row *rows = mpi->times.ranks;
    const uint32_t count = mpi->times.ranks_count;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "rank_number", rows, count, rank);
    ANSWER_COLUMNS_PUT_REALS(answer, "rank_mpi_ns", rows, count, mpi_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "rank_pickling_ns", rows, count, python_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "rank_sent", rows, count, sent_bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "rank_received", rows, count, received_bytes);
}

static void put_cells(struct answer *answer, const struct mpi_suspects *mpi)
{
    const struct mpi_cell *rows = mpi->times.cells;
    const uint32_t count = mpi->times.cells_count;
    uint64_t most_bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        most_bytes = rows[i].size_bytes > most_bytes ? rows[i].size_bytes : most_bytes;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "cell_from", rows, count, from);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "cell_to", rows, count, to);
    ANSWER_COLUMNS_PUT_REALS(answer, "cell_count", rows, count, count);
    ANSWER_COLUMNS_PUT_REALS(answer, "cell_bytes", rows, count, size_bytes);
    ANSWER_COLUMNS_PUT_SHARES(answer, "cell_share", rows, count, size_bytes, most_bytes);
}

static void put_waits(struct answer *answer, const struct mpi_suspects *mpi, uint32_t limit)
{
    const struct mpi_wait_row *rows = mpi->waits.rows;
    const uint32_t count = at_most(mpi->waits.count, limit);
    ANSWER_COLUMNS_PUT_REALS(answer, "wait_ns", rows, count, wait_ns);
    ANSWER_COLUMNS_PUT_SHARES(answer, "wait_share", rows, count, wait_ns, mpi->ranks_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "wait_longest_ns", rows, count, longest_ns);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "wait_count", rows, count, count);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "wait_rank", rows, count, rank);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "wait_for", rows, count, culprit);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "wait_kind", rows, count, kind);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "wait_call", rows, count, call);
    uint32_t *codes = answer_numbers(answer, "wait_code", count);
    for (uint32_t i = 0; codes && i < count; i++)
        codes[i] = mpi->recording->nodes[rows[i].node].code;
}

static void put_late(struct answer *answer, const struct mpi_suspects *mpi, uint32_t limit)
{
    const struct mpi_late_row *rows = mpi->waits.late;
    const uint32_t count = at_most(mpi->waits.late_count, limit);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "late_rank", rows, count, rank);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "late_call", rows, count, call);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "late_times", rows, count, was_last);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "late_of", rows, count, took_part);
    ANSWER_COLUMNS_PUT_REALS(answer, "late_ns", rows, count, caused_ns);
    double *share = answer_reals(answer, "late_share", count);
    for (uint32_t i = 0; share && i < count; i++)
        share[i] = answer_share(rows[i].was_last, rows[i].took_part);
}

int mpi_query(struct opened *opened, struct opened_recording *row, const struct request *request,
              struct answer *answer, struct err *err)
{
    row = opened_find(opened, request->recording, err); /* the whole run, whatever part is chosen */
    const struct mpi_suspects *mpi = row ? opened_mpi(row, err) : NULL;
    if (!mpi)
        return -1;
    put_values(answer, mpi);
    put_calls(answer, mpi);
    put_stacks(answer, mpi, request->limit);
    put_ranks(answer, mpi);
    put_cells(answer, mpi);
    put_waits(answer, mpi, request->limit);
    put_late(answer, mpi, request->limit);
    return 0;
}

/* ---- messages of a window ---- */

struct line {
    uint64_t sent_ns, received_ns;
    uint32_t from, to; /* threads */
    uint64_t size_bytes;
};

static int compare_lines(const void *a, const void *b, void *context)
{
    (void)context;
    const struct line *left = a, *right = b;
    uint64_t left_ns = left->received_ns - left->sent_ns, right_ns = right->received_ns - right->sent_ns;
    return left_ns == right_ns ? 0 : left_ns > right_ns ? -1 : 1;
}

static uint32_t find_lines(const struct recording *recording, const struct mpi_pairs *pairs,
                           const struct timeline_axis *window, struct line *lines)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < pairs->count; i++) {
        const struct message_row *sent = &recording->messages[pairs->rows[i].sent];
        const struct message_row *received = &recording->messages[pairs->rows[i].received];
        uint64_t end_ns = received->time_ns + received->duration_ns;
        if (sent->posted_ns > window->end_ns || end_ns < window->begin_ns || end_ns < sent->posted_ns)
            continue;
        lines[count++] =
            (struct line){sent->posted_ns, end_ns, sent->thread, received->thread, received->size_bytes};
    }
    return count;
}

static void put_lines(struct answer *answer, const struct line *lines, uint32_t count, uint32_t limit)
{
    uint32_t shown = at_most(count, limit ? limit : MESSAGES_MAX);
    json_put_unsigned(&answer->json, "hidden", count - shown);
    ANSWER_COLUMNS_PUT_REALS(answer, "sent_ns", lines, shown, sent_ns);
    ANSWER_COLUMNS_PUT_REALS(answer, "received_ns", lines, shown, received_ns);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "from", lines, shown, from);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "to", lines, shown, to);
    ANSWER_COLUMNS_PUT_REALS(answer, "size", lines, shown, size_bytes);
}

int mpi_query_messages(struct opened *opened, struct opened_recording *row, const struct request *request,
                       struct answer *answer, struct err *err)
{
    row = opened_find(opened, request->recording, err);
    const struct mpi_pairs *pairs = row ? opened_pairs(row, err) : NULL;
    if (!pairs)
        return -1;
    struct timeline_axis axis = series_whole_axis(&row->recording), window = axis;
    window.begin_ns = request->from_ns ? request->from_ns : axis.begin_ns;
    window.end_ns = request->to_ns ? request->to_ns : axis.end_ns;
    struct line *lines = malloc(((size_t)pairs->count + 1) * sizeof *lines);
    if (!lines)
        return err_set(err, "out of memory for %u messages", pairs->count);
    uint32_t count = find_lines(&row->recording, pairs, &window, lines);
    int result = sort_rows(lines, count, sizeof *lines, compare_lines, NULL, err);
    if (result == 0)
        put_lines(answer, lines, count, request->limit);
    free(lines);
    return result;
}
