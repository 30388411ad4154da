/* info_text: what is inside a recording, for people: metadata, processes, threads, chunks, losses, damage. */
#ifndef SONDE_SHOW_INFO_TEXT_H
#define SONDE_SHOW_INFO_TEXT_H

#include <stdbool.h>

struct bytes;
struct recording;

/* `name` is the file's, for the heading. With `each_chunk` every chunk gets a line. */
void info_text_put(const struct recording *recording, const char *name, bool each_chunk, struct bytes *out);

#endif
