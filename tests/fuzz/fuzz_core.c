/* Any bytes as a core file: what is found in it can be read, by the search for Python too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collect/outside/core_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int fact)
{
    if (!fact)
        abort();
}

static void read_ends(const struct core_file *core)
{
    for (size_t i = 0; i < core->image.count && i < 64; i++) {
        const struct target_mapping *mapping = &core->image.mappings[i];
        unsigned char bytes[64];
        require(mapping->start < mapping->end && (i == 0 || mapping->start >= mapping[-1].start));
        memory_read(&core->image.memory, mapping->start, bytes, sizeof bytes);
        memory_read(&core->image.memory, mapping->end - 32, bytes, sizeof bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = {0};
    struct core_file core;
    if (core_file_init(&core, data, size, NULL, &err) < 0) {
        require(err_is_set(&err));
        return 0;
    }
    require(!err_is_set(&err));
    read_ends(&core);
    struct target_python python;
    require((target_python_find(&core.image, &python, &err) < 0) == err_is_set(&err));
    core_file_close(&core);
    return 0;
}
