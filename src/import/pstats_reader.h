/*
 * pstats_reader: .prof files of cProfile, profile, pstats.Stats.dump_stats and profiling.sampling, from any
 * Python version, → a recording with flat functions and edges (one row for each function and each pair).
 *
 * The file is a marshalled dict {(file, line, name): (primitive calls, calls, self s, total s, callers)} with
 * callers {(file, line, name): (calls, primitive calls, self s, total s)}: the two counts stand the other way
 * round there. The times are rounded to whole nanoseconds.
 *
 * Metas set: "mode" = "pstats"; "callers" = "counts" when the file gives only numbers of calls for its edges
 * (the `profile` module), whose times are then 0; "sampled" = "yes" when counts are samples (3.15).
 */
#ifndef SONDE_IMPORT_PSTATS_READER_H
#define SONDE_IMPORT_PSTATS_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

/* Whether the bytes begin as a .prof file does; the first 16 bytes are enough. */
bool pstats_reader_recognises(const void *data, size_t size);

/* Fills `recording` (must be empty). `name` is for messages. */
int pstats_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                       struct err *err);

#endif
