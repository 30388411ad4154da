#include "collect/agent/asyncio_table.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent/own_calls.h"
#include "collect/agent/own_memory.h"
#include "collect/agent/own_stack.h"
#include "python/asyncio.h"
#include "unwind/elf_image.h"

enum { LIBRARIES_MAX = 16384, PATH_BYTES = 4096, PAGE_BYTES = 4096 };

/* A page at a time: the next one may not be mapped. */
static bool read_path(const struct memory *memory, uint64_t at, char out[PATH_BYTES])
{
    for (size_t used = 0; used < PATH_BYTES;) {
        size_t size = PAGE_BYTES - (at + used) % PAGE_BYTES;
        if (size > PATH_BYTES - used)
            size = PATH_BYTES - used;
        if (!memory_read(memory, at + used, out + used, size))
            return false;
        if (memchr(out + used, '\0', size))
            return true;
        used += size;
    }
    return false;
}

static bool may_have_it(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, "_asyncio.", 9) == 0 || strstr(name, "python");
}

static uint64_t find_in_bytes(const void *data, size_t size)
{
    struct elf_image image;
    return elf_image_init(&image, data, size, NULL) == 0 ? elf_image_section(&image, ASYNCIO_SECTION) : 0;
}

static uint64_t find_in(const char *path, uint64_t bias)
{
    int fd = own_calls_open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    void *data = size > 0 ? own_memory_map_file(fd, (size_t)size, false) : NULL;
    if (fd >= 0)
        own_calls_close(fd);
    if (!data)
        return 0;
    uint64_t address = find_in_bytes(data, (size_t)size);
    own_memory_unmap(data, (size_t)size);
    return address ? address + bias : 0;
}

uint64_t asyncio_table_find(void)
{
    struct memory memory = memory_own();
    uint64_t list = (uint64_t)dlsym(RTLD_DEFAULT, "_r_debug"), at = 0, found = 0;
    if (list)
        memory_read_word(&memory, list + offsetof(struct r_debug, r_map), &at);
    for (uint32_t count = 0; at && !found && count < LIBRARIES_MAX; count++) {
        struct link_map map;
        char path[PATH_BYTES];
        if (!memory_read(&memory, at, &map, sizeof map))
            break;
        if (!count) /* the program itself has no name there */
            found = find_in("/proc/self/exe", map.l_addr);
        else if (read_path(&memory, (uint64_t)map.l_name, path) && may_have_it(path))
            found = find_in(path, map.l_addr);
        at = (uint64_t)map.l_next;
    }
    return found;
}
