/*
 * ppk_reader: ParaProf's packed profiles (.ppk) → a recording (import/tau_profile.h says what becomes of the rows): all ranks and
 * threads of a run in one file. It is a stream of Java's: numbers have their highest byte first, texts a size of two bytes.
 * ParaProf compresses it as gzip does; whoever reads the file has undone that.
 *
 * Of several metrics the first that is a time is read; without one the file is refused.
 */
#ifndef SONDE_IMPORT_PPK_READER_H
#define SONDE_IMPORT_PPK_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;

bool ppk_reader_recognises(const void *data, size_t size);
int ppk_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                    struct err *err);

#endif
