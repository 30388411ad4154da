#include "export/mpi_tables.h"

#include <inttypes.h>

#include "analyse/labels.h"
#include "analyse/mpi_suspects.h"
#include "base/bytes.h"
#include "base/json.h"
#include "export/table_csv.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

/* ---- comma-separated values ---- */

#define TIME_COLUMNS "calls,total_ns,ranks,min_ns,max_ns,max_rank,sent_bytes,received_bytes,call"

static void put_time(const struct mpi_time_row *row, struct bytes *out)
{
    bytes_putf(out, "%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%u,%" PRIu64 ",%" PRIu64 ",%s",
               row->count, row->total_ns, row->ranks, row->least_ns, row->most_ns, row->most_rank,
               row->sent_bytes, row->received_bytes, mpi_call_name(row->call));
}

static void put_place(const struct mpi_suspects *mpi, uint32_t node, struct bytes *out)
{
    bytes_put_u8(out, ',');
    table_csv_put_code(mpi->recording, mpi->recording->nodes[node].code, out);
}

void mpi_tables_put_calls(const struct mpi_suspects *mpi, struct bytes *out)
{
    bytes_put_text(out, TIME_COLUMNS "\n");
    for (uint32_t i = 0; i < mpi->times.calls_count; i++) {
        put_time(&mpi->times.calls[i], out);
        bytes_put_u8(out, '\n');
    }
}

void mpi_tables_put_paths(const struct mpi_suspects *mpi, struct bytes *out)
{
    bytes_put_text(out, TIME_COLUMNS ",node,file,line,function\n");
    for (uint32_t i = 0; i < mpi->times.stacks_count; i++) {
        put_time(&mpi->times.stacks[i], out);
        bytes_putf(out, ",%u", mpi->times.stacks[i].node);
        put_place(mpi, mpi->times.stacks[i].node, out);
        bytes_put_u8(out, '\n');
    }
}

void mpi_tables_put_waits(const struct mpi_suspects *mpi, struct bytes *out)
{
    bytes_put_text(out, "wait_ns,count,longest_ns,rank,waits_for,why,call,file,line,function\n");
    for (uint32_t i = 0; i < mpi->waits.count; i++) {
        const struct mpi_wait_row *row = &mpi->waits.rows[i];
        bytes_putf(out, "%" PRIu64 ",%u,%" PRIu64 ",%u,%u,%s,%s", row->wait_ns, row->count, row->longest_ns,
                   row->rank, row->culprit, mpi_waits_kind_name(row->kind), mpi_call_name(row->call));
        put_place(mpi, row->node, out);
        bytes_put_u8(out, '\n');
    }
}

void mpi_tables_put_messages(const struct mpi_suspects *mpi, struct bytes *out)
{
    bytes_put_text(out, "from,to,count,size_bytes\n");
    for (uint32_t i = 0; i < mpi->times.cells_count; i++) {
        const struct mpi_cell *cell = &mpi->times.cells[i];
        bytes_putf(out, "%u,%u,%" PRIu64 ",%" PRIu64 "\n", cell->from, cell->to, cell->count,
                   cell->size_bytes);
    }
}

void mpi_tables_put_ranks(const struct mpi_suspects *mpi, struct bytes *out)
{
    bytes_put_text(out, "rank,calls,mpi_ns,pickling_ns,sent_bytes,received_bytes\n");
    for (uint32_t i = 0; i < mpi->times.ranks_count; i++) {
        const struct mpi_rank_row *row = &mpi->times.ranks[i];
        bytes_putf(out, "%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", row->rank,
                   row->calls, row->mpi_ns, row->python_ns, row->sent_bytes, row->received_bytes);
    }
}

/* ---- JSON ---- */

static void put_function(struct json *json, const struct mpi_suspects *mpi, uint32_t node)
{
    struct bytes name = {0};
    labels_words(mpi->recording, mpi->recording->nodes[node].code, &name);
    json_key(json, "function");
    json_text(json, name.failed ? "" : (const char *)name.data, name.failed ? 0 : name.size);
    json_put_unsigned(json, "line", mpi->recording->nodes[node].line);
    json_put_unsigned(json, "node", node);
    bytes_clear(&name);
}

static void put_times(struct json *json, const struct mpi_suspects *mpi, const char *key,
                      const struct mpi_time_row *rows, uint32_t count, bool has_stacks)
{
    json_begin_list(json, key);
    for (uint32_t i = 0; i < count; i++) {
        json_begin_row(json);
        json_put_string(json, "call", mpi_call_name(rows[i].call));
        json_put_unsigned(json, "count", rows[i].count);
        json_put_unsigned(json, "total_ns", rows[i].total_ns);
        json_put_unsigned(json, "ranks", rows[i].ranks);
        json_put_unsigned(json, "min_ns", rows[i].least_ns);
        json_put_unsigned(json, "max_ns", rows[i].most_ns);
        json_put_unsigned(json, "max_rank", rows[i].most_rank);
        json_put_unsigned(json, "sent_bytes", rows[i].sent_bytes);
        json_put_unsigned(json, "received_bytes", rows[i].received_bytes);
        if (has_stacks)
            put_function(json, mpi, rows[i].node);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_waits(struct json *json, const struct mpi_suspects *mpi)
{
    const struct mpi_waits *waits = &mpi->waits;
    json_put_unsigned(json, "clock_error_ns", waits->error_ns);
    json_put_unsigned(json, "wait_ns", waits->total_ns);
    json_put_unsigned(json, "ranks_with_unknown_clock", waits->unknown_clocks);
    json_put_unsigned(json, "unmatched_messages", waits->unmatched);
    json_put_unsigned(json, "incomplete_collectives", waits->incomplete);
    json_begin_list(json, "waits");
    for (uint32_t i = 0; i < waits->count; i++) {
        json_begin_row(json);
        json_put_unsigned(json, "wait_ns", waits->rows[i].wait_ns);
        json_put_unsigned(json, "count", waits->rows[i].count);
        json_put_unsigned(json, "longest_ns", waits->rows[i].longest_ns);
        json_put_unsigned(json, "rank", waits->rows[i].rank);
        json_put_unsigned(json, "waits_for", waits->rows[i].culprit);
        json_put_string(json, "why", mpi_waits_kind_name(waits->rows[i].kind));
        json_put_string(json, "call", mpi_call_name(waits->rows[i].call));
        put_function(json, mpi, waits->rows[i].node);
        json_end_object(json);
    }
    json_end_array(json);
    json_begin_list(json, "late");
    for (uint32_t i = 0; i < waits->late_count; i++) {
        json_begin_row(json);
        json_put_unsigned(json, "rank", waits->late[i].rank);
        json_put_string(json, "call", mpi_call_name(waits->late[i].call));
        json_put_unsigned(json, "took_part", waits->late[i].took_part);
        json_put_unsigned(json, "was_last", waits->late[i].was_last);
        json_put_unsigned(json, "caused_ns", waits->late[i].caused_ns);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_ranks(struct json *json, const struct mpi_times *times)
{
    json_begin_list(json, "ranks");
    for (uint32_t i = 0; i < times->ranks_count; i++) {
        json_begin_row(json);
        json_put_unsigned(json, "rank", times->ranks[i].rank);
        json_put_unsigned(json, "calls", times->ranks[i].calls);
        json_put_unsigned(json, "mpi_ns", times->ranks[i].mpi_ns);
        json_put_unsigned(json, "pickling_ns", times->ranks[i].python_ns);
        json_put_unsigned(json, "sent_bytes", times->ranks[i].sent_bytes);
        json_put_unsigned(json, "received_bytes", times->ranks[i].received_bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

static void put_cells(struct json *json, const struct mpi_times *times)
{
    json_begin_list(json, "messages");
    for (uint32_t i = 0; i < times->cells_count; i++) {
        json_begin_row(json);
        json_put_unsigned(json, "from", times->cells[i].from);
        json_put_unsigned(json, "to", times->cells[i].to);
        json_put_unsigned(json, "count", times->cells[i].count);
        json_put_unsigned(json, "size_bytes", times->cells[i].size_bytes);
        json_end_object(json);
    }
    json_end_array(json);
}

void mpi_tables_put_json(const struct mpi_suspects *mpi, struct json *json)
{
    const struct mpi_times *times = &mpi->times;
    json_put_unsigned(json, "mpi_ns", times->total_ns);
    json_put_unsigned(json, "pickling_ns", times->python_ns);
    put_times(json, mpi, "calls", times->calls, times->calls_count, false);
    put_times(json, mpi, "paths", times->stacks, times->stacks_count, true);
    put_waits(json, mpi);
    put_ranks(json, times);
    put_cells(json, times);
}
