/*
 * marks_file: the files of --marks: which functions' calls are named ranges, and what the ranges are called
 * (docs/marks.md). JSON and TOML are read here, so that a mistake is told before the program runs; a Python file with a list
 * `functions_desc` is read by the program itself, because its names may be functions.
 */
#ifndef SONDE_CLI_MARKS_FILE_H
#define SONDE_CLI_MARKS_FILE_H

struct bytes;
struct err;

/* Appends the file's marks to the settings of a session. */
int marks_file_read(const char *path, struct bytes *settings, struct err *err);

#endif
