/*
 * names: what a code object is called: its text read from its memory as UTF-8.
 *
 * Every length found in that memory is held against a limit, every read may fail; nothing is allocated.
 */
#ifndef SONDE_PYTHON_NAMES_H
#define SONDE_PYTHON_NAMES_H

#include "python/layouts.h"

#include <sys/types.h>

/* The parts of a code object that name it: addresses of a str (0 where the version has none), and of the
 * bytes object that lines_find decodes. */
struct names_code {
    uint64_t name;
    uint64_t qualname;
    uint64_t filename;
    uint64_t lines;
    int32_t first_line;
    uint32_t instructions_bytes;
};

/* False where it cannot be read or is no code object. `code_type` as for layouts_check. */
bool names_read_code(const struct layout *layout, const struct memory *memory, uint64_t code_type,
                     uint64_t code, struct names_code *out);
/* A str as UTF-8; bytes of a path that were no UTF-8 come back as they were. What does not fit is left off at
 * the end of a character. Gives the number of bytes written (no zero byte is added), -1 where it cannot be
 * read. */
ssize_t names_text(const struct layout *layout, const struct memory *memory, uint64_t text, char *out,
                   size_t capacity);
/* The size of a bytes object and, where it fits, its bytes; -1 where it cannot be read. */
ssize_t names_bytes(const struct layout *layout, const struct memory *memory, uint64_t object, void *out,
                    size_t capacity);

#endif
