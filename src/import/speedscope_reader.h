/*
 * speedscope_reader: speedscope's own file format (as py-spy, speedscope and many others write it) → samples, a thread
 * for each profile.
 *
 * Profiles may be sampled (stacks with weights) or evented (frames that open and close); units of time become
 * nanoseconds, of those without a unit each step is a millisecond. An empty stack is an idle thread.
 */
#ifndef SONDE_IMPORT_SPEEDSCOPE_READER_H
#define SONDE_IMPORT_SPEEDSCOPE_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

bool speedscope_reader_recognises(const void *data, size_t size);
int speedscope_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                           struct err *err);

#endif
