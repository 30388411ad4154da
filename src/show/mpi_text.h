/*
 * mpi_text: what ranks did with one another, as tables for people: time by call and by stack, who waited for whom, and the messages from
 * each rank to each other one.
 */
#ifndef SONDE_SHOW_MPI_TEXT_H
#define SONDE_SHOW_MPI_TEXT_H

#include <stdint.h>

struct bytes;
struct mpi_suspects;
struct terminal;

enum mpi_table {
    MPI_TABLE_ALL,
    MPI_TABLE_CALLS,
    MPI_TABLE_PATHS,
    MPI_TABLE_WAITS,
    MPI_TABLE_MESSAGES,
    MPI_TABLE_RANKS
};

/* One table, or all of them with a heading; each has at most `limit` rows (0 = no limit). */
void mpi_text_put(const struct mpi_suspects *mpi, const struct terminal *terminal, enum mpi_table table,
                  uint32_t limit, struct bytes *out);

#endif
