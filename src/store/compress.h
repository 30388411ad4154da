/* compress: zstd for chunk payloads; the only file that knows the library. */
#ifndef SONDE_STORE_COMPRESS_H
#define SONDE_STORE_COMPRESS_H

#include <stddef.h>

/* A writer_compress. 0 when the result would not be smaller. */
size_t compress_zstd(const void *data, size_t size, void *out, size_t out_size);
/* Exactly out_size bytes must come out. 0 or -1. */
int compress_expand(const void *data, size_t size, void *out, size_t out_size);

#endif
