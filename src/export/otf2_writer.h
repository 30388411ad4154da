/*
 * otf2_writer: a trace as an OTF2 archive, for Vampir, Pipit and otf2-print: a location for each thread, a group of locations for
 * each process, regions for functions, for the program's own regions and for calls of MPI, messages and collectives. Times are
 * those of the run's first rank (analyse/rank_clocks.h), in nanoseconds.
 *
 * Made of what has a begin and an end: the calls of a timeline, regions, messages and collectives; a recording without any is refused.
 * What overlaps without lying inside (regions of tasks that take turns) ends with what it began in, because a location is one stack.
 * The library (export/otf2_library.h) writes the files itself.
 */
#ifndef SONDE_EXPORT_OTF2_WRITER_H
#define SONDE_EXPORT_OTF2_WRITER_H

struct err;
struct recording;

/* Into the folder, which is there and empty: traces.otf2, traces.def, traces/. */
int otf2_writer_write(const struct recording *recording, const char *folder, struct err *err);

#endif
