/*
 * relay_frame: what sonde and mpi_relay, its child, say to each other over a socket: a frame, then `size_bytes` of payload where
 * the operation has one. Both are on the same machine, so numbers are as the machine has them.
 */
#ifndef SONDE_MPI_RELAY_FRAME_H
#define SONDE_MPI_RELAY_FRAME_H

#include <stdint.h>

enum relay_operation {
    RELAY_READY =
        1, /* from the relay, once: `peer` is the own rank, `size_bytes` the number of ranks; no payload */
    RELAY_SEND,     /* to the relay: the payload goes to `peer` */
    RELAY_RECEIVE,  /* to the relay: the next message of `peer` is wanted; no payload */
    RELAY_RECEIVED, /* from the relay: that message */
    RELAY_LEAVE,    /* to the relay: no more will come; it ends when all others have left, too */
};

struct relay_frame {
    uint32_t operation; /* enum relay_operation */
    uint32_t peer;      /* rank */
    uint64_t size_bytes;
};

#endif
