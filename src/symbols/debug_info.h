/*
 * debug_info: what libdw tells about one module: the function of an address by debug data (with inlined
 * frames) or by the symbol table. Built without libdw it opens nothing and says why.
 *
 * The sink gets texts that live only during the call.
 */
#ifndef SONDE_SYMBOLS_DEBUG_INFO_H
#define SONDE_SYMBOLS_DEBUG_INFO_H

#include <stdbool.h>
#include <stdint.h>

struct debug_info;
struct err;

/* `folders`: as in a search path, absolute, with ":" between; "" for none. */
struct debug_info *debug_info_open(const char *path, const char *folders, struct err *err);
void debug_info_close(struct debug_info *info);

struct debug_info_frame {
    const char *symbol; /* as in the file, mangled or not */
    const char *file;   /* NULL when not known */
    uint32_t line;
    bool is_inlined;
};
typedef void debug_info_sink(void *context, const struct debug_info_frame *frame);

/* The frames of the address, innermost first, into the sink. False when the address has no name. */
bool debug_info_find(struct debug_info *info, uint64_t address, debug_info_sink *sink, void *context);

/* Whether there is debug data (files and lines), not a symbol table alone. */
bool debug_info_has_lines(const struct debug_info *info);

/* NULL, or why nothing can be opened. */
const char *debug_info_unavailable(void);

#endif
