/*
 * view_files: the files that `sonde view` was given, opened for the page and followed while they are written.
 *
 * Owns what it holds; a zeroed struct is empty. No other file is ever read.
 */
#ifndef SONDE_CLI_VIEW_FILES_H
#define SONDE_CLI_VIEW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "query/opened.h"

struct err;
struct input_paths;

struct view_file {
    const char *path; /* borrowed */
    dev_t device;
    ino_t number;
    off_t size_bytes; /* that were read */
};

struct view_files {
    struct opened opened;
    struct view_file files[OPENED_MAX];
    /* Whether somebody still writes them; NULL = who does holds the file's lock (output_create). */
    bool (*is_being_made)(void *context);
    void *context;
};

/* A file that is there but is no recording is an error. The paths must outlive the struct. */
int view_files_open(struct view_files *files, const struct input_paths *paths, struct err *err);
void view_files_close(struct view_files *files);

enum view_change { VIEW_SAME, VIEW_GROWN, VIEW_ENDED, VIEW_FAILED };
/* Reads what is new in file `number`. VIEW_FAILED leaves what was known, and says why. */
enum view_change view_files_look(struct view_files *files, uint32_t number, struct err *err);
/* Takes in what a file has beyond what was read of it. */
int view_files_catch_up(struct opened_recording *row, struct view_file *file, int fd, struct err *err);

#endif
