/*
 * python_text: a text as Python's marshal and pickle write it: a type byte, four bytes with the size, UTF-8. Bytes that are
 * no UTF-8 (file names, Python 2) become lone surrogates, as os.fsdecode makes them, so that Python reads the text back.
 */
#ifndef SONDE_EXPORT_PYTHON_TEXT_H
#define SONDE_EXPORT_PYTHON_TEXT_H

#include <stddef.h>

struct bytes;

void python_text_put(struct bytes *out, char type, const char *text, size_t size);

#endif
