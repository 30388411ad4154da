/* gzipped: files that gzip has compressed are read as what is in them, whatever the format: .ppk is always so. */
#ifndef SONDE_CLI_GZIPPED_H
#define SONDE_CLI_GZIPPED_H

#include <stddef.h>

struct bytes;
struct err;

/* Replaces the bytes by what is in them if they are such; else nothing is done. At most `max` bytes may come out. */
int gzipped_expand(struct bytes *bytes, const char *name, size_t max, struct err *err);

#endif
