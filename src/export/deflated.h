/* deflated: bytes compressed as zlib does it, which both PNG and PDF ask for. */
#ifndef SONDE_EXPORT_DEFLATED_H
#define SONDE_EXPORT_DEFLATED_H

#include <stddef.h>
#include <stdint.h>

struct bytes;

/* Appends a zlib stream. Failure is that of `out`. */
void deflated_put(struct bytes *out, const void *data, size_t size);
/* CRC-32 as PNG has it, of the bytes after those that gave `before` (0 = none). */
uint32_t deflated_checksum(uint32_t before, const void *data, size_t size);

#endif
