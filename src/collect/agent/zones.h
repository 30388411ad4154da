/*
 * zones: this process's side of its event area: what libraries and programs find as `sonde_zones` (include/sonde/zones.h).
 *
 * The area is opened, and announced, when the first name is asked for; a forked child opens one of its own, with the same names
 * under the same ids. Each thread writes into a ring of its own without a lock. Async-signal-safe. A full ring is not waited
 * for: a region for whose begin and end there is no room is left out, both, and counted; room for the ends of what is open is
 * kept free.
 */
#ifndef SONDE_COLLECT_AGENT_ZONES_H
#define SONDE_COLLECT_AGENT_ZONES_H

#include <stdint.h>

struct session;

/* From now on events are recorded for that session. `python` is read when the area is opened. */
void zones_begin(const struct session *session, const uint32_t *python);
/* Who is told, from now on, of every begin and end of a region and every mark (enum event_kind), by its name: in the thread
 * that says it, whatever else that is doing. */
void zones_watch(void (*passed)(uint32_t kind, uint32_t name));
/* In the child of a fork, before anything else happens there. */
void zones_after_fork(void);

#endif
