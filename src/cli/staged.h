/*
 * staged: a file that appears whole or not at all. The bytes go to a temporary name beside it, which takes the
 * place of whatever was there only at staged_commit. Standard output ("-") and what is no plain file (a
 * device, a pipe, a link) are written straight away instead. A zeroed struct is closed.
 */
#ifndef SONDE_CLI_STAGED_H
#define SONDE_CLI_STAGED_H

#include <stddef.h>

struct err;

struct staged {
    const char *path; /* borrowed */
    char *temporary;  /* NULL = written directly */
    int fd;
};

int staged_open(struct staged *staged, const char *path, struct err *err);
/* A writer_sink; the context is the struct staged. */
int staged_append(void *context, const void *data, size_t size, struct err *err);
/* Both close it; commit removes the temporary file too when it fails. */
int staged_commit(struct staged *staged, struct err *err);
void staged_discard(struct staged *staged);

#endif
