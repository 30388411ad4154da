/*
 * runtime_search: what of CPython can be found in the data of a process without symbols: its version, its
 * runtime structure, its types. Everything is recognised by what it points to. Slow (tens of milliseconds), and
 * done only where symbols do not tell.
 */
#ifndef SONDE_COLLECT_OUTSIDE_RUNTIME_SEARCH_H
#define SONDE_COLLECT_OUTSIDE_RUNTIME_SEARCH_H

#include "collect/outside/target_python.h"

/* The mappings of one file, and the zeroed data behind them. */
struct runtime_search {
    const struct target_image *image;
    size_t first, count; /* of the image's mappings */
};

/* As text in memory says ("3.12.1 (main, ..."); 0 = nothing such. Written by the interpreter when it starts. */
uint32_t runtime_search_version(const struct runtime_search *search);
/* _PyRuntime: by its published mark, or by a list of interpreters as `layout` describes it; 0 = none. */
uint64_t runtime_search_published(const struct runtime_search *search);
uint64_t runtime_search_interpreters(const struct runtime_search *search, const struct layout *layout);
/* A type of this name; 0 = none. */
uint64_t runtime_search_type(const struct runtime_search *search, const struct layout *layout,
                             const char *name);

#endif
