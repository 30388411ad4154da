/*
 * counters: CPU time and memory of each recorded process over time, read from outside, so that the program pays nothing.
 *
 * A process is looked at every COUNTERS_INTERVAL_NS, more often at first; after COUNTERS_OCTAVE looks half as often, and
 * so on: a series grows with the logarithm of the time (a day: 10,000 points). One look, with waking up for it, takes about 60 us: three
 * system calls, of which one asks for the most that was ever resident, so that no peak hides between two looks.
 *
 * A zeroed struct with `writer` set is ready. It owns its rows and their descriptors; the writer is borrowed.
 */
#ifndef SONDE_COLLECT_RECORDER_COUNTERS_H
#define SONDE_COLLECT_RECORDER_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct writer;

#define COUNTERS_INTERVAL_NS 80000000u
#define COUNTERS_OCTAVE      1024

/* What memory is: all that is resident, with pages shared among processes divided among them, or those of one process
 * alone. */
enum counters_memory { COUNTERS_RSS, COUNTERS_PSS, COUNTERS_USS };

struct counters_process;

struct counters {
    struct writer *writer;
    enum counters_memory memory;
    uint64_t interval_ns; /* between two looks, always; 0 = as above */
    struct counters_process *rows;
    size_t count, capacity;
};

/* Follows a process, `id` in the file, from first_ns on. What cannot be read of it is left out. */
void counters_add(struct counters *counters, uint32_t pid, uint32_t id, uint64_t first_ns);
/* Looks a last time, if it still can, and lets go. A process that has ended tells its CPU time until it is waited for. */
void counters_end(struct counters *counters, uint32_t pid);
/* Looks at those whose time has come. */
void counters_look(struct counters *counters, uint64_t now_ns);
/* Gives the writer what was seen. */
void counters_write(struct counters *counters);
/* When to look next; UINT64_MAX = never. */
uint64_t counters_next_ns(const struct counters *counters);
void counters_clear(struct counters *counters);

/* Whether that memory of the process can be read; says why not. */
int counters_check(uint32_t pid, enum counters_memory memory, struct err *err);

#endif
