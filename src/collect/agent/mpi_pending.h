/*
 * mpi_pending: what one call begins and another ends: requests, from the call that posted them to the one that waited, tested
 * or freed them. Whatever is posted is told once, by the call that ends it; what there is no room for (mpi_requests) is
 * counted as lost.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_PENDING_H
#define SONDE_COLLECT_AGENT_MPI_PENDING_H

#include <stdbool.h>

#include "collect/agent/mpi_requests.h"

struct mpi_event;
struct mpi_made;

/* It goes on: remembers it by the request that the call has made. The communicator may be NULL. */
void mpi_pending_post(struct mpi_made *made, const struct mpi_event *event,
                      const struct mpi_communicator *communicator);
/* The two halves of it, for who has more to say of the request, or another key. */
struct mpi_request mpi_pending_request(const struct mpi_event *event,
                                       const struct mpi_communicator *communicator);
void mpi_pending_remember(struct mpi_requests *requests, mpi_word key, const struct mpi_request *request);

/* Before a call that ends some of several: requests are gone afterwards, so their handles are kept, and statuses asked for
 * in any case; `several` = a status for each. */
void mpi_pending_before(struct mpi_made *made, unsigned status_at, bool several);

/* The call has been made, and has not failed. */
void mpi_pending_after_one(struct mpi_made *made); /* Wait, Test; the others likewise */
void mpi_pending_after_all(struct mpi_made *made);
void mpi_pending_after_any(struct mpi_made *made);
void mpi_pending_after_some(struct mpi_made *made);
void mpi_pending_after_start(struct mpi_made *made);
void mpi_pending_after_start_all(struct mpi_made *made);
void mpi_pending_after_free(struct mpi_made *made);

#endif
