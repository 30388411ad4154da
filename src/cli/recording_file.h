/*
 * recording_file: the .sonde file that a run writes as it goes.
 *
 * A write that fails (a full disk, a quota) is told when it happens, once; nothing more is written then, and the file
 * is cut back to its last whole chunk, so that it can be read. A zeroed struct with `fd` below 0 is valid and empty. It
 * owns the path and the descriptor.
 */
#ifndef SONDE_CLI_RECORDING_FILE_H
#define SONDE_CLI_RECORDING_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct recording_file {
    char *path;
    int fd;
    uint64_t whole_bytes; /* in chunks that are there to the last byte */
    bool failed;          /* a write has; told already */
};

/* A sink for writer_options; the context is the file. */
int recording_file_append(void *context, const void *data, size_t size, struct err *err);
/* A device or a pipe (-o /dev/null) is neither ours to remove nor to be read again. */
bool recording_file_is_plain(const struct recording_file *file);
/* From the file system; the descriptor stays. */
void recording_file_remove(const struct recording_file *file);
void recording_file_close(struct recording_file *file);

#endif
