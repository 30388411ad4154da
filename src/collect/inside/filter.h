/* filter: which functions are recorded. Decided once for each function, when it is first met. */
#ifndef SONDE_COLLECT_INSIDE_FILTER_H
#define SONDE_COLLECT_INSIDE_FILTER_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct filter {
    regex_t include, exclude;
    bool has_include, has_exclude;
    bool exclude_library;
    char library[4096]; /* the standard library's folder, with a slash; "" = unknown */
    char package[4096]; /* that of sonde's own modules, likewise */
};

/* 0, or -1 with words (a bad expression). NULL = no expression. */
int filter_init(struct filter *filter, const char *include, const char *exclude, bool exclude_library,
                char *why, size_t why_bytes);
void filter_clear(struct filter *filter);

/* Whether the file belongs to the standard library, to site-packages, to sonde or to the interpreter itself. */
bool filter_is_library(const struct filter *filter, const char *file);
/* Whether the function is recorded. `home`: the file whose library it may be. Expressions are tried on "module.qualname"
 * and on "file:qualname". */
bool filter_takes(const struct filter *filter, const char *home, const char *file, const char *module,
                  const char *qualname);

#endif
