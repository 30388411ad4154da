/*
 * native_symbols: what the native addresses of a recording are called, by the files that they lie in.
 *
 * A file is believed only when its build id is the recorded one (or, where it has none, its size). The recording is
 * borrowed and may grow. A zeroed struct is valid and empty.
 */
#ifndef SONDE_CLI_NATIVE_SYMBOLS_H
#define SONDE_CLI_NATIVE_SYMBOLS_H

#include "symbols/symbols.h"

struct code_address;
struct err;
struct recording;

struct native_symbols {
    const struct recording *recording;
    struct symbols *symbols;
    uint32_t *numbers; /* in `symbols` of the recording's modules, plus 1; 0 = not asked yet */
    uint32_t capacity;
};

/* `folders` as for symbols_new. */
int native_symbols_init(struct native_symbols *names, const struct recording *recording,
                        const char *const *folders, size_t folder_count, struct err *err);
void native_symbols_clear(struct native_symbols *names);

/* The number of a module in `symbols`; UINT32_MAX when memory ran out. */
uint32_t native_symbols_module(struct native_symbols *names, uint32_t module);
/* As symbols_find. 0 when memory ran out. */
size_t native_symbols_find(struct native_symbols *names, const struct code_address *address,
                           struct symbols_frame frames[SYMBOLS_INLINE_MAX]);

#endif
