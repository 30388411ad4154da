/*
 * mprof_reader: memory_profiler's .dat file (`mprof run`): memory over time as text, one record in a line.
 *
 *   CMDLINE command          MEM MiB time          CHLD number MiB time
 *   FUNC name MiB time MiB time [level]            times are seconds since 1970
 *
 * MEM becomes the counter "rss" of the program, CHLD that of a process below it, FUNC a region with the memory at its
 * begin and end. Times count from the earliest; the meta "epoch_ns" says when that was. Several processes may have
 * written into the file at once, and it may be cut: lines that make no sense are left out and counted.
 */
#ifndef SONDE_IMPORT_MPROF_READER_H
#define SONDE_IMPORT_MPROF_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

/* Whether it begins with such a line. */
bool mprof_reader_recognises(const void *data, size_t size);
int mprof_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                      struct err *err);

#endif
