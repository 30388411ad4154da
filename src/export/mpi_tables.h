/* mpi_tables: what ranks did with one another, for other programs: one table as comma-separated values, or all as JSON. */
#ifndef SONDE_EXPORT_MPI_TABLES_H
#define SONDE_EXPORT_MPI_TABLES_H

struct bytes;
struct json;
struct mpi_suspects;

/* Fields of an object that is open. */
void mpi_tables_put_json(const struct mpi_suspects *mpi, struct json *json);

void mpi_tables_put_calls(const struct mpi_suspects *mpi, struct bytes *out);
void mpi_tables_put_paths(const struct mpi_suspects *mpi, struct bytes *out);
void mpi_tables_put_waits(const struct mpi_suspects *mpi, struct bytes *out);
void mpi_tables_put_messages(const struct mpi_suspects *mpi, struct bytes *out);
void mpi_tables_put_ranks(const struct mpi_suspects *mpi, struct bytes *out);

#endif
