/*
 * decode_rows: what the readers of single rows share: the record that they are in, what became of a row, and the
 * readers of data, which decode.c calls by its table. Private to decode.
 */
#ifndef SONDE_STORE_DECODE_ROWS_H
#define SONDE_STORE_DECODE_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "store/decode.h"
#include "store/ids.h"

/* A table may have more columns than we know (a newer writer) or fewer (an older one), within reason. */
#define DECODE_ROWS_COLUMNS_MAX 64

/* One table record while its rows are read. */
struct rows {
    struct cursor cursor;
    uint64_t columns;
    uint64_t known;                             /* how many columns this version has */
    uint64_t key;                               /* the record's own: a thread, or the id of the next row */
    uint64_t previous[DECODE_ROWS_COLUMNS_MAX]; /* the row before, for difference columns */
    bool orphaned;                              /* the key itself was lost */
};

/* What became of a row. */
enum outcome { ROW_USED, ROW_ORPHANED, ROW_WRONG };

/* `values` hold the columns as the letters of the table say. */
typedef enum outcome row_reader(struct decode *decode, struct rows *rows, const uint64_t *values);

static inline enum outcome decode_rows_out_of_memory(struct decode *decode)
{
    decode->out_of_memory = true;
    return ROW_WRONG;
}

static inline uint32_t decode_rows_find(struct ids *ids, uint64_t file_id)
{
    return file_id == 0 ? 0 : ids_find(ids, (uint32_t)file_id);
}

static inline enum outcome decode_rows_added(struct decode *decode, uint32_t row)
{
    return row == UINT32_MAX ? decode_rows_out_of_memory(decode) : ROW_USED;
}

row_reader decode_data_meta;
row_reader decode_data_note;
row_reader decode_data_calls;
row_reader decode_data_line;
row_reader decode_data_sample;
row_reader decode_data_function;
row_reader decode_data_edge;
enum outcome decode_data_source(struct decode *decode, struct rows *rows); /* reads its text itself */
row_reader decode_data_series;
row_reader decode_data_region_event;
row_reader decode_data_mark;
row_reader decode_data_call_event;
row_reader decode_data_heap;
row_reader decode_data_heap_size;
row_reader decode_data_allocation;
row_reader decode_data_line_memory;
row_reader decode_mpi_clock;
row_reader decode_mpi_message;
row_reader decode_mpi_collective;
row_reader decode_mpi_total;

#endif
