/*
 * crew: the processes of `mpirun -n K sonde ...`, which share one command's work and can send messages to one another.
 *
 * MPI itself is in a child process, one for each MPI (src/mpi/mpi_relay.c): sonde is not linked to it, works where there is
 * none, and nothing of it can disturb a process that is profiled. Without an MPI launcher a crew has one member.
 *
 * Messages of one member to another arrive in the order in which they were sent. A message is bytes, or a failure of
 * its sender: so a member that fails still sends what the others wait for, and nobody hangs. The struct owns the socket
 * and the child.
 */
#ifndef SONDE_CLI_CREW_H
#define SONDE_CLI_CREW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bytes;
struct err;

struct crew {
    uint32_t rank, size; /* size 1 = alone */
    int socket;          /* -1 = none */
    pid_t relay;
};

/* Where a launcher has started several processes, but there is no MPI for sonde to use, it says so and returns false in all
 * but the first, which then is alone: they have nothing to do. */
bool crew_join(struct crew *crew);
/* Waits until the others leave, too. */
void crew_leave(struct crew *crew);

/* Sends the failure in `err` when it is set, else the message. Sending is not the place where failures are told. */
void crew_send(struct crew *crew, uint32_t to, const struct bytes *message, const struct err *err);
/* Puts the next message behind what `message` has. -1 with err replaced: the sender failed, or the crew is no more. */
int crew_receive(struct crew *crew, uint32_t from, struct bytes *message, struct err *err);

#endif
