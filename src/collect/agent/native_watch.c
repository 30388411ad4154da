#include "collect/agent/native_watch.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

#include "python/memory.h"

#define LIBRARIES_MAX 16384
#define LOOKS_MAX     512 /* a library that was unloaded is noticed after so many looks at the latest */

static bool read_next(const struct memory *memory, uint64_t map, uint64_t *next)
{
    return memory_read_word(memory, map + offsetof(struct link_map, l_next), next);
}

static void go_through(struct native_watch *watch, const struct memory *memory)
{
    uint64_t map = 0, sum = 0, next;
    watch->looks = 0;
    watch->last = 0;
    memory_read_word(memory, watch->list + offsetof(struct r_debug, r_map), &map);
    for (uint32_t count = 0; map && count < LIBRARIES_MAX && read_next(memory, map, &next); count++) {
        sum = (sum ^ map) * 0x9e3779b97f4a7c15u;
        watch->last = map;
        map = next;
    }
    watch->sum = sum;
}

void native_watch_init(struct native_watch *watch)
{
    *watch = (struct native_watch){.list = (uint64_t)dlsym(RTLD_DEFAULT, "_r_debug")};
    struct memory memory = memory_own();
    if (watch->list)
        go_through(watch, &memory);
}

bool native_watch_changed(struct native_watch *watch)
{
    struct memory memory = memory_own();
    uint64_t next = 0, before = watch->sum;
    if (!watch->list)
        return false;
    /* New libraries come at the end. */
    if (watch->last && read_next(&memory, watch->last, &next) && !next && ++watch->looks < LOOKS_MAX)
        return false;
    go_through(watch, &memory);
    return watch->sum != before;
}
