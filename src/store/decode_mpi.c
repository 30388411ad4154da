/* The readers of rows about what ranks say to one another. */
#include "store/decode_rows.h"
#include "store/mpi_calls.h"
#include "store/recording.h"

/* So many columns at least, so that a hostile byte does not buy a whole row. */
#define COLUMNS_MIN 8

enum outcome decode_mpi_clock(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct clock_row row = {.local_ns = values[1],
                            .reference_ns = (int64_t)values[2],
                            .error_ns = values[3],
                            .process = decode_rows_find(&decode->processes, values[0])};
    if (rows->columns < 4)
        return ROW_WRONG;
    if (row.process == IDS_UNKNOWN || row.process == 0)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_clock(decode->recording, &row));
}

static uint8_t known_call(uint64_t call)
{
    return call < MPI_CALL_COUNT ? (uint8_t)call : (uint8_t)MPI_CALL_OTHER;
}

/* In the file nobody is 0. */
static uint32_t rank_of(uint64_t number)
{
    return (uint32_t)number - 1;
}

enum outcome decode_mpi_message(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct message_row row = {.time_ns = values[0],
                              .duration_ns = values[1],
                              .posted_ns = values[2] > values[0] ? 0 : values[0] - values[2],
                              .call = known_call(values[3]),
                              .received = values[4] == 1,
                              .size_bytes = values[5],
                              .thread = (uint32_t)rows->key,
                              .communicator = decode_rows_find(&decode->communicators, values[6]),
                              .peer = rank_of(values[7]),
                              .tag = (int32_t)values[8],
                              .node = decode_rows_find(&decode->nodes, values[9])};
    if (rows->columns < COLUMNS_MIN)
        return ROW_WRONG;
    if (row.node == IDS_UNKNOWN || row.communicator == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_message(decode->recording, &row));
}

enum outcome decode_mpi_collective(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct collective_row row = {.time_ns = values[0],
                                 .duration_ns = values[1],
                                 .posted_ns = values[2] > values[0] ? 0 : values[0] - values[2],
                                 .call = known_call(values[3]),
                                 .communicator = decode_rows_find(&decode->communicators, values[4]),
                                 .number = values[5],
                                 .sent_bytes = values[6],
                                 .received_bytes = values[7],
                                 .root = rank_of(values[8]),
                                 .node = decode_rows_find(&decode->nodes, values[9]),
                                 .thread = (uint32_t)rows->key};
    if (rows->columns < COLUMNS_MIN)
        return ROW_WRONG;
    if (row.node == IDS_UNKNOWN || row.communicator == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_collective(decode->recording, &row));
}

enum outcome decode_mpi_total(struct decode *decode, struct rows *rows, const uint64_t *values)
{
    struct mpi_total_row row = {.node = decode_rows_find(&decode->nodes, values[0]),
                                .call = known_call(values[1]),
                                .communicator = decode_rows_find(&decode->communicators, values[2]),
                                .peer = rank_of(values[3]),
                                .count = values[4],
                                .sent_bytes = values[5],
                                .received_bytes = values[6],
                                .total_ns = values[7],
                                .thread = (uint32_t)rows->key};
    if (rows->columns < COLUMNS_MIN)
        return ROW_WRONG;
    if (row.node == IDS_UNKNOWN || row.communicator == IDS_UNKNOWN || rows->orphaned)
        return ROW_ORPHANED;
    return decode_rows_added(decode, recording_add_mpi_total(decode->recording, &row));
}
