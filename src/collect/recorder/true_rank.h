/*
 * true_rank: until the program has initialised MPI its rank is a guess from the environment. Whoever drains what the
 * program's MPI says tells it here: the processes of the file get the true rank, "rank", "ranks" and "rank_from" among
 * its metas are replaced, and where the guess was wrong a note says so. The file itself is renamed by whoever made it
 * when it is closed (writer_rank is then the true one).
 */
#ifndef SONDE_COLLECT_RECORDER_TRUE_RANK_H
#define SONDE_COLLECT_RECORDER_TRUE_RANK_H

#include <stdint.h>

struct writer;

/* Rank and size of MPI_COMM_WORLD, once MPI_Init has returned; to be told once for each process that initialises MPI. A
 * world of one process beside a guess is a child's that uses MPI on its own, or the program's library is not the launcher's:
 * it does not count, and a note says so. */
void true_rank_tell(struct writer *writer, uint32_t rank, uint32_t size);

#endif
