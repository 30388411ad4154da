/*
 * mpi_messages: what becomes of a call that sends or receives one message: it is told when it has ended, and handed to
 * mpi_pending when it goes on. What was probed first is one message with its receive.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_MESSAGES_H
#define SONDE_COLLECT_AGENT_MPI_MESSAGES_H

struct mpi_made;

/* The call has been made, and has not failed. */
void mpi_messages_after_send(struct mpi_made *made);
void mpi_messages_after_recv(struct mpi_made *made);
void mpi_messages_after_irecv(struct mpi_made *made);
void mpi_messages_after_init(struct mpi_made *made);     /* Send_init, Recv_init */
void mpi_messages_after_exchange(struct mpi_made *made); /* Sendrecv, Sendrecv_replace */
void mpi_messages_after_probe(struct mpi_made *made);
void mpi_messages_after_mrecv(struct mpi_made *made);
void mpi_messages_after_imrecv(struct mpi_made *made);

#endif
