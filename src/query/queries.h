/*
 * queries: the table of what a page can ask. One row and one file for each; docs/queries.md says what each gives.
 *
 * The same code answers in the program (the page's server) and in the page (WebAssembly): bytes in, arrays out, no
 * files, no clocks, no globals.
 */
#ifndef SONDE_QUERY_QUERIES_H
#define SONDE_QUERY_QUERIES_H

#include <stddef.h>

struct answer;
struct bytes;
struct err;
struct opened;
struct opened_recording;
struct request;

/* Puts values and arrays into the begun answer. `row` is the recording that the request names. */
typedef int query_function(struct opened *opened, struct opened_recording *row, const struct request *request,
                           struct answer *answer, struct err *err);

#define QUERIES_DECLARE(name)                                                                                \
    int name(struct opened *opened, struct opened_recording *row, const struct request *request,             \
             struct answer *answer, struct err *err)
QUERIES_DECLARE(activity_query);
QUERIES_DECLARE(codes_query);
QUERIES_DECLARE(compare_query);
QUERIES_DECLARE(functions_query);
QUERIES_DECLARE(graph_query);
QUERIES_DECLARE(groups_query);
QUERIES_DECLARE(lines_query);
QUERIES_DECLARE(memory_query);
QUERIES_DECLARE(mpi_query);
QUERIES_DECLARE(mpi_query_messages);
QUERIES_DECLARE(order_query);
QUERIES_DECLARE(rank_query);
QUERIES_DECLARE(rank_query_function);
QUERIES_DECLARE(rank_matrix_query);
QUERIES_DECLARE(rank_matrix_query_bars);
QUERIES_DECLARE(recordings_query);
QUERIES_DECLARE(series_query);
QUERIES_DECLARE(share_query);
QUERIES_DECLARE(stacks_query);
QUERIES_DECLARE(summary_query);
QUERIES_DECLARE(threads_query);
QUERIES_DECLARE(time_query);
QUERIES_DECLARE(time_query_regions);
QUERIES_DECLARE(region_query);
QUERIES_DECLARE(region_query_marks);

/* Appends the answer to the request (JSON text) to `out`; whatever is wrong becomes an answer that says so. */
void queries_ask(struct opened *opened, const char *json, size_t size, struct bytes *out);

#endif
