/*
 * cython_source: lines of C that Cython made → lines of the .pyx file. Cython says them in comments in front of
 * each statement ("mesh.pyx":12), so the C file must still be where it was compiled. Files are read once. A
 * zeroed struct has read none; it owns what it read.
 */
#ifndef SONDE_SYMBOLS_CYTHON_SOURCE_H
#define SONDE_SYMBOLS_CYTHON_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

struct cython_source {
    struct cython_file *files;
    size_t count;
    struct strings paths; /* of .pyx files */
};

/* Whether Cython made a function of that name from one of the user's. */
bool cython_source_is_function(const char *symbol);

/* The place in the .pyx file; NULL when there is none. The path stays valid until the next call. */
const char *cython_source_find(struct cython_source *source, const char *c_file, uint32_t c_line,
                               uint32_t *line);
void cython_source_clear(struct cython_source *source);

#endif
