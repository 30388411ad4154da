/*
 * read_ahead: the memory of another process, where what a thread's last sample read is fetched in one system call
 * before the next: stacks change little from one sample to the next, so the thread is held for a shorter time.
 *
 * What was fetched is what was there at that moment; everything else is read when asked for. The thread must stand
 * still, or the reader must find out afterwards that it did not.
 */
#ifndef SONDE_COLLECT_OUTSIDE_READ_AHEAD_H
#define SONDE_COLLECT_OUTSIDE_READ_AHEAD_H

#include "python/memory.h"

enum { READ_AHEAD_RANGES = 1000, READ_AHEAD_BYTES = 256 * 1024 };

struct read_ahead_range {
    uint64_t address;
    uint32_t size;
    uint32_t at; /* in the fetched bytes */
};

/* What a thread's sample reads. A zeroed one is empty. */
struct read_ahead_list {
    uint32_t count;
    struct read_ahead_range ranges[READ_AHEAD_RANGES];
};

/* One for each process. Used by one thread. */
struct read_ahead {
    int pid;
    struct read_ahead_list *list; /* of the thread in work; NULL = none */
    struct read_ahead_list asked; /* by this sample */
    uint32_t fetched;             /* ranges of the list that were had */
    uint8_t bytes[READ_AHEAD_BYTES];
};

/* Its memory; the read_ahead must outlive it. */
struct memory read_ahead_memory(struct read_ahead *ahead);
/* Around one sample: fetches what the list says; then makes the list say what was asked for. */
void read_ahead_begin(struct read_ahead *ahead, struct read_ahead_list *list);
void read_ahead_end(struct read_ahead *ahead);

#endif
