/*
 * lprof_reader: .lprof files of line_profiler and kernprof, all releases, → a recording with line times.
 *
 * The file is a pickled LineStats with timings {(file, first line, name): [(line, hits, ticks), ...]} and the length
 * of a tick in seconds. The times include callees, and nothing else is known: self_ns, min_ns and max_ns are 0. A
 * function that never ran has one row, for its first line, with no hits.
 *
 * Metas set: "mode" = "lprof".
 */
#ifndef SONDE_IMPORT_LPROF_READER_H
#define SONDE_IMPORT_LPROF_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

/* Whether the bytes are a pickle that begins by naming LineStats; the first 128 are enough. */
bool lprof_reader_recognises(const void *data, size_t size);

/* Fills `recording` (must be empty). `name` is for messages. */
int lprof_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                      struct err *err);

#endif
