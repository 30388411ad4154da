/*
 * native_watch: tells when libraries were loaded or unloaded, by looking at the loader's list without its lock (the
 * sampler must not wait for a thread of the program, nor be taken for one). The list may change under our eyes:
 * every read survives that, and what was seen wrongly is put right by the next look.
 */
#ifndef SONDE_COLLECT_AGENT_NATIVE_WATCH_H
#define SONDE_COLLECT_AGENT_NATIVE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* A zeroed one sees nothing. */
struct native_watch {
    uint64_t list;  /* address of the loader's r_debug; 0 = not found */
    uint64_t last;  /* address of the last link_map seen */
    uint64_t sum;   /* of all that were seen */
    uint32_t looks; /* since the whole list was last gone through */
};

void native_watch_init(struct native_watch *watch);
/* Whether something has changed since the last look. Cheap: one read, now and then the whole list. */
bool native_watch_changed(struct native_watch *watch);

#endif
