/* dump_text: a dump as text, in the shape that py-spy's has: a paragraph for each thread, the innermost frame first. */
#ifndef SONDE_SHOW_DUMP_TEXT_H
#define SONDE_SHOW_DUMP_TEXT_H

#include <stdbool.h>

struct bytes;
struct dump;
struct terminal;

void dump_text_put(const struct dump *dump, const struct terminal *terminal, bool full_filenames,
                   struct bytes *out);

#endif
