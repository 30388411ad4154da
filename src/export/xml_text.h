/* xml_text: text that is UTF-8 without control characters, escaped for XML. */
#ifndef SONDE_EXPORT_XML_TEXT_H
#define SONDE_EXPORT_XML_TEXT_H

#include <stddef.h>

struct bytes;

void xml_text_put(struct bytes *out, const char *text, size_t size);

#endif
