/*
 * page_writer: the page that looks at recordings, as one HTML file that needs nothing else. The recordings lie in it as
 * they are, in base64; without any it is the bare page, which opens what is dropped on it.
 */
#ifndef SONDE_EXPORT_PAGE_WRITER_H
#define SONDE_EXPORT_PAGE_WRITER_H

#include <stddef.h>

struct err;
struct stream;

struct page_writer_file {
    const char *name; /* for people */
    const void *data; /* in any format that sonde reads */
    size_t size;
};

int page_writer_write(const struct page_writer_file *files, size_t count, struct stream *stream,
                      struct err *err);
/* The page as a server gives it: it asks for everything. Appends to the stream. */
int page_writer_write_served(struct stream *stream, struct err *err);

#endif
