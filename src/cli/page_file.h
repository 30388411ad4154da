/* page_file: the viewer as a file: with the recordings that were named in it, or bare. */
#ifndef SONDE_CLI_PAGE_FILE_H
#define SONDE_CLI_PAGE_FILE_H

struct err;
struct input_paths;

/* `path` may be "-". The recordings lie in the page as they are; what cannot be read is refused. NULL = none. */
int page_file_write(const char *path, const struct input_paths *paths, struct err *err);

#endif
