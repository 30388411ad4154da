/* info_modules: how many native addresses of a recording lie in each file, and how many of them have names. */
#ifndef SONDE_SHOW_INFO_MODULES_H
#define SONDE_SHOW_INFO_MODULES_H

#include <stdint.h>

struct recording;

struct info_module {
    const char *path, *build_id; /* of the recording */
    uint32_t addresses, named;
};

/* Files that addresses lie in. A zeroed struct is empty; it owns its rows. */
struct info_modules {
    struct info_module *rows;
    uint32_t count;
    uint32_t addresses, named; /* in all of them */
};

/* Empty, too, when memory ran out. */
struct info_modules info_modules_of(const struct recording *recording);
void info_modules_clear(struct info_modules *modules);

#endif
