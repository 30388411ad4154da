/*
 * collapsed_reader: collapsed stacks ("frame;frame;leaf COUNT" lines, as py-spy's raw format, perf's and flame graph
 * tools' scripts write them) → samples of one thread.
 *
 * Frames worded as py-spy does, "name (file:line)", become functions in files, with their lines; all others are
 * names. The format has no times: samples follow one another, one millisecond each.
 */
#ifndef SONDE_IMPORT_COLLAPSED_READER_H
#define SONDE_IMPORT_COLLAPSED_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

/* Whether the first lines are such. */
bool collapsed_reader_recognises(const void *data, size_t size);
int collapsed_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                          struct err *err);

#endif
