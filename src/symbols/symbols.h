/*
 * symbols: addresses of a recording → functions, files, lines, with the frames that were inlined. Works on
 * addresses as they are in the file (before loading) and on build ids, so it can run long after the program,
 * on another machine. Each module is opened once and each address resolved once.
 *
 * There is always a name: what nothing is known of is `libfoo.so.1+0x1200`, with the offset of its function's
 * first byte where that can be told, so that samples of one function stay together.
 *
 * The table owns all texts; they stay valid until symbols_free. Not for several threads at once.
 */
#ifndef SONDE_SYMBOLS_SYMBOLS_H
#define SONDE_SYMBOLS_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYMBOLS_INLINE_MAX 32

struct symbols;

/* One frame: the function, and the line in it (of the call, for all but the innermost). */
struct symbols_frame {
    const char *function; /* demangled, without arguments' names; never empty */
    const char *file;     /* "" when not known */
    uint32_t line;        /* 0 when not known */
    bool is_inlined;      /* into the next frame of the array */
    bool is_offset;       /* no name was found: `function` is module+offset */
};

/* Debug files are looked for in /usr/lib/debug, beside the module, and in these folders (by build id, by
 * name); so are the modules themselves where they are not at their path. */
struct symbols *symbols_new(const char *const *folders, size_t folder_count);
void symbols_free(struct symbols *symbols);

/* A module's number; the same for the same path and build id. The build id may be empty. UINT32_MAX when
 * memory ran out. */
uint32_t symbols_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
                        size_t build_id_size);

/* The size of the module's file, if known: what makes one without a build id another than the one wanted. */
void symbols_expect_size(struct symbols *symbols, uint32_t module, uint64_t size_bytes);

/* Frames of the address (in the module's file), innermost first; at least 1. */
size_t symbols_find(struct symbols *symbols, uint32_t module, uint64_t address,
                    struct symbols_frame frames[SYMBOLS_INLINE_MAX]);

/* What stands against better names for this module, in words; "" when nothing does. Known after its first
 * symbols_find. */
const char *symbols_problem(const struct symbols *symbols, uint32_t module);

/* Whether the module's file was found, so that an offset is that of a function. */
bool symbols_is_found(const struct symbols *symbols, uint32_t module);

/* Why this build cannot read debug data at all; NULL when it can. */
const char *symbols_unavailable(void);

#endif
