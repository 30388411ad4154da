/*
 * writer_mpi: the writer's part for what the ranks of a run say to one another, and for their clocks. What writer.h says of
 * definitions and failure holds here.
 */
#ifndef SONDE_STORE_WRITER_MPI_H
#define SONDE_STORE_WRITER_MPI_H

#include <stdint.h>

#include "store/recording.h"

struct writer;

uint32_t writer_mpi_communicator(struct writer *writer,
                                 const struct communicator *communicator); /* equal ones: equal id */
void writer_mpi_clock(struct writer *writer, const struct clock_row *row);
void writer_mpi_message(struct writer *writer, const struct message_row *row);
void writer_mpi_collective(struct writer *writer, const struct collective_row *row);
void writer_mpi_total(struct writer *writer, const struct mpi_total_row *row); /* adds to earlier rows */

#endif
