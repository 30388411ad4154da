#include "collect/outside/target_asyncio.h"

#include <string.h>

#include "python/asyncio.h"
#include "unwind/elf_file.h"

static bool may_have_it(const struct target_image *image, size_t index)
{
    const struct target_mapping *mapping = &image->mappings[index];
    const char *name = strrchr(mapping->path, '/');
    bool begins = name && (!index || strcmp(mapping[-1].path, mapping->path) != 0);
    return begins && (strncmp(name, "/_asyncio.", 10) == 0 || strstr(name, "python"));
}

static uint64_t find_in(const struct target_image *image, const struct target_mapping *mapping)
{
    struct elf_file file;
    uint64_t bias, address = 0;
    if (image->open(image->context, mapping, &file, NULL) < 0)
        return 0;
    if (target_python_bias(&file.image, mapping, &bias))
        address = elf_image_section(&file.image, ASYNCIO_SECTION);
    elf_file_close(&file);
    return address ? address + bias : 0;
}

uint64_t target_asyncio_find(const struct target_image *image)
{
    uint64_t found = 0;
    for (size_t i = 0; i < image->count && !found; i++)
        if (may_have_it(image, i))
            found = find_in(image, &image->mappings[i]);
    return found;
}
