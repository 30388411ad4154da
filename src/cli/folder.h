/*
 * folder: the recordings in a folder, newest first, recognised by content. Files that cannot be read, hidden
 * ones and everything that is no plain file are passed over, but for folders of runs with several ranks
 * (cli/run_folder.h), each of which is one recording. A zeroed struct is an empty list; it owns its paths.
 */
#ifndef SONDE_CLI_FOLDER_H
#define SONDE_CLI_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct format;

struct folder_entry {
    char *path;          /* "DIR/NAME"; "NAME" in the working directory */
    char *first;         /* of a run's folder the file of its first rank; else NULL */
    uint32_t ranks;      /* files of ranks in it */
    int64_t modified_ns; /* of a run: the newest file */
    uint64_t size_bytes; /* of a run: all files */
    const struct format *format;
};

struct folder {
    struct folder_entry *entries;
    size_t count;
    char *spoilt; /* one of the files that are called .sonde and are no recording; NULL = there are none */
    size_t spoilt_count;
};

/* At most `limit` recordings (0 = all); with a small limit only the newest files are opened. No recordings is
 * not an error. */
int folder_read(const char *path, size_t limit, struct folder *folder, struct err *err);
void folder_clear(struct folder *folder);

bool folder_is(const char *path); /* whether the path names a folder */
/* The format of one file, by content; NULL when it is no recording or cannot be read. */
const struct format *folder_sniff(const char *path);

#endif
