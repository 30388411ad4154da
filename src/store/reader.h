/*
 * reader: bytes of a .sonde file → struct recording. The bytes are untrusted: every id, size and count is
 * checked here, and what comes out obeys the invariants of recording.h.
 *
 * A file cut anywhere gives everything before the cut chunk. A chunk whose checksum is wrong is skipped and
 * counted; data that name ids which are therefore unknown are skipped and counted as orphaned. Only a file
 * that is not a .sonde file at all, or of a newer major version, is an error.
 */
#ifndef SONDE_STORE_READER_H
#define SONDE_STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct recording;

/* Whether the bytes begin as a .sonde file does (8 bytes are enough). */
bool reader_recognises(const void *data, size_t size);

/* Fills `recording` (must be empty). `name` is for messages. */
int reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                struct err *err);
/* Only definitions and sources, without looking into chunks of data. What is wrong in there is not noticed. */
int reader_read_definitions(const void *data, size_t size, const char *name, struct recording *recording,
                            struct err *err);

#endif
