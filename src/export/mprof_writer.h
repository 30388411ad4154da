/*
 * mprof_writer: memory over time as memory_profiler's .dat file, which `mprof plot` and `mprof peak` read: MEM lines of the
 * program, CHLD lines of the processes below it, numbered by their process ids, FUNC lines of regions that know the memory at
 * their begin and end. CPU time and other counters have no place in it.
 */
#ifndef SONDE_EXPORT_MPROF_WRITER_H
#define SONDE_EXPORT_MPROF_WRITER_H

struct err;
struct recording;
struct stream;

/* Refuses a recording that has no memory over time; `name` is for that message. */
int mprof_writer_write(const struct recording *recording, const char *name, struct stream *stream,
                       struct err *err);

#endif
