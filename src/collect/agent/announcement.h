/*
 * announcement: memory that a process shares with the recorder, and the message that tells of it. Nothing stays open in
 * the process. Async-signal-safe.
 */
#ifndef SONDE_COLLECT_AGENT_ANNOUNCEMENT_H
#define SONDE_COLLECT_AGENT_ANNOUNCEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/session.h"

/* A file or address-space limit of the target's is kept well away from: passing RLIMIT_FSIZE would kill it. */
uint64_t announcement_allowed_bytes(uint64_t wanted);
/* Zeroed memory and its descriptor; NULL when it cannot be had. */
void *announcement_map(uint64_t bytes, int *fd);
/* A message about this process as it is now. */
void announcement_init(struct session_hello *hello, enum session_message message);
/* Tells the recorder of the memory and closes the descriptor. -1 when there is no recorder any more. */
int announcement_tell(const struct session *session, int fd, struct session_hello *hello);
/* The same of memory whose size is in the message. NULL when there is no recorder any more: then the memory is gone, too. */
void *announcement_send(const struct session *session, void *memory, int fd, struct session_hello *hello);
/* Has the recorder write what it was told so far. False when it has not after so long. */
bool announcement_flush(const struct session *session, int patience_ms);
/* Tells it why this process is not recorded. */
void announcement_refuse(const struct session *session, const char *why);

#endif
