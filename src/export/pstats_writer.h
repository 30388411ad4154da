/*
 * pstats_writer: a table of functions → a .prof file, as cProfile would have written it.
 *
 * Only types of marshal version 2 are used, so pstats of every Python from 2.7 on, SnakeViz and gprof2dot
 * read it. pstats knows a function by (file, line, name) alone: functions that share these become one entry
 * with the sum of their numbers. Of what was sampled, the calls are the samples with the function on the stack.
 */
#ifndef SONDE_EXPORT_PSTATS_WRITER_H
#define SONDE_EXPORT_PSTATS_WRITER_H

struct bytes;
struct err;
struct functions;
struct recording;

/* Appends the file's bytes to `out`. */
int pstats_writer_write(const struct recording *recording, const struct functions *functions,
                        struct bytes *out, struct err *err);

#endif
