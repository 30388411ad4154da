/*
 * mpi_drain: an MPI area's content → records of the file, again and again: communicators, clocks, messages and collectives as they
 * come, totals by what has been added to them. The area may be written to meanwhile, and is not trusted: rows that make no
 * sense are passed over and counted.
 */
#ifndef SONDE_COLLECT_RECORDER_MPI_DRAIN_H
#define SONDE_COLLECT_RECORDER_MPI_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct mpi_area;
struct mpi_drain;
struct writer;

/* NULL when memory ran out or the area's header makes no sense for a mapping of so many bytes. The area stays the
 * caller's and must outlive the drain. */
struct mpi_drain *mpi_drain_new(struct mpi_area *area, uint64_t bytes, struct writer *writer,
                                uint32_t process);
void mpi_drain_free(struct mpi_drain *drain);

/* Takes what is in the rings, and now and then the totals. True when the rings were rather full. */
bool mpi_drain_step(struct mpi_drain *drain, const struct clock_rate *rate);
/* The last step: everything is written, threads end, losses are noted. */
void mpi_drain_finish(struct mpi_drain *drain, const struct clock_rate *rate, uint64_t end_ticks);

#endif
