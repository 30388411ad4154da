/* demangle: C++ and Rust symbols as their authors wrote them; and what compilers append to names, cut off. */
#ifndef SONDE_SYMBOLS_DEMANGLE_H
#define SONDE_SYMBOLS_DEMANGLE_H

/* A readable name, to be freed by the caller; NULL when memory ran out. A name that is not mangled is copied.
 * Suffixes of parts and clones (.cold, .part.0, .constprop.1) are left out: they are one function. */
char *demangle_new(const char *symbol);

#endif
