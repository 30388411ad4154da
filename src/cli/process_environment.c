#include "cli/process_environment.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENVIRONMENT_BYTES_MAX (8u << 20)

bool process_environment_read(struct process_environment *environment, uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/environ", pid);
    if (bytes_read_file(&environment->block, path, ENVIRONMENT_BYTES_MAX, NULL) < 0)
        return false;
    bytes_put(&environment->block, "\0", 2); /* a process may have cut its last variable */
    return !environment->block.failed;
}

void process_environment_clear(struct process_environment *environment)
{
    bytes_clear(&environment->block);
}

const char *process_environment_find(const void *given, const char *name)
{
    const struct process_environment *environment = given;
    const char *at = (const char *)environment->block.data, *end = at + environment->block.size;
    size_t size = strlen(name);
    while (at < end) {
        if (strncmp(at, name, size) == 0 && at[size] == '=')
            return at + size + 1;
        at += strlen(at) + 1;
    }
    return NULL;
}
