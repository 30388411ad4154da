#include "export/xml_text.h"

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

/* XML does not have U+FFFE and U+FFFF at all. */
void xml_text_put(struct bytes *out, const char *text, size_t size)
{
    for (const char *at = text, *end = text + size; at < end; at++) {
        if (*at == '<' || *at == '>' || *at == '&' || *at == '"')
            bytes_putf(out, "&#%d;", *at);
        else if (end - at > 2 && memcmp(at, "\xef\xbf", 2) == 0 && (uint8_t)at[2] >= 0xbe) {
            bytes_put_text(out, "\xef\xbf\xbd");
            at += 2;
        } else
            bytes_put_u8(out, (uint8_t)*at);
    }
}
