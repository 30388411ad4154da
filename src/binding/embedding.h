/* embedding: a recording with the text of the sources that ran, as `sonde trace` keeps them unless told otherwise. */
#ifndef SONDE_BINDING_EMBEDDING_H
#define SONDE_BINDING_EMBEDDING_H

#include <stddef.h>

struct bytes;
struct err;

/* Appends to `out` the recording that `data` are, and the texts of its files below the working directory. */
int embedding_add(const void *data, size_t size, struct bytes *out, struct err *err);

#endif
