/*
 * lprof_writer: line times as a .lprof file that every release of line_profiler reads: a pickled LineStats with hits and
 * total times in nanoseconds. Self times, extremes and threads have no place in it.
 */
#ifndef SONDE_EXPORT_LPROF_WRITER_H
#define SONDE_EXPORT_LPROF_WRITER_H

struct bytes;
struct err;
struct line_table;
struct recording;

/* `table`: all owners together. */
int lprof_writer_write(const struct recording *recording, const struct line_table *table, struct bytes *out,
                       struct err *err);

#endif
