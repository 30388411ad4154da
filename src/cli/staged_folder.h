/*
 * staged_folder: a folder of files that appears whole or not at all: the counterpart of cli/staged.h for formats that are many
 * files. They go to a temporary folder beside it, which takes its name at staged_folder_commit. A folder that is there
 * already must be empty: what others wrote into it would be mixed with ours. A zeroed struct is closed.
 */
#ifndef SONDE_CLI_STAGED_FOLDER_H
#define SONDE_CLI_STAGED_FOLDER_H

#include <stddef.h>

struct err;

struct staged_folder {
    const char *path; /* borrowed */
    char *temporary;
    size_t files;
};

int staged_folder_open(struct staged_folder *folder, const char *path, struct err *err);
int staged_folder_add(struct staged_folder *folder, const char *name, const void *data, size_t size,
                      struct err *err);
/* Both close it; commit removes the temporary folder too when it fails. */
int staged_folder_commit(struct staged_folder *folder, struct err *err);
void staged_folder_discard(struct staged_folder *folder);

#endif
