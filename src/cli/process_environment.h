/*
 * process_environment: the environment that another process was started with, as the kernel shows it to its owner. What
 * it has changed since is not seen. A zeroed struct is an empty environment; it owns its bytes.
 */
#ifndef SONDE_CLI_PROCESS_ENVIRONMENT_H
#define SONDE_CLI_PROCESS_ENVIRONMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct process_environment {
    struct bytes block; /* "NAME=value" and a zero byte, each, and one more zero byte */
};

/* False when it cannot be read: the process is gone, or another user's. */
bool process_environment_read(struct process_environment *environment, uint32_t pid);
void process_environment_clear(struct process_environment *environment);

/* A rank_lookup: `environment` is a struct process_environment. */
const char *process_environment_find(const void *environment, const char *name);

#endif
