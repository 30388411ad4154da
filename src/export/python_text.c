#include "export/python_text.h"

#include <stdbool.h>

#include "base/bytes.h"

/* Bytes of the UTF-8 sequence at `at`, 0 when it is none. Surrogates count: Python reads them back. */
static size_t sequence_size(const uint8_t *at, size_t left)
{
    if (at[0] < 0x80)
        return 1;
    size_t size = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
    return overlong || (at[0] == 0xf4 && at[1] > 0x8f) ? 0 : size;
}

void python_text_put(struct bytes *out, char type, const char *text, size_t size)
{
    bytes_put_u8(out, (uint8_t)type);
    size_t size_at = out->size;
    bytes_put_u32(out, 0);
    const uint8_t *at = (const uint8_t *)text, *end = at + size;
    while (at < end) {
        size_t whole = sequence_size(at, (size_t)(end - at));
        if (whole) {
            bytes_put(out, at, whole);
        } else {
            const uint8_t escaped[3] = {0xed, (uint8_t)(0xb0 | *at >> 6), (uint8_t)(0x80 | (*at & 0x3f))};
            bytes_put(out, escaped, sizeof escaped);
        }
        at += whole ? whole : 1;
    }
    if (out->failed)
        return;
    uint32_t written = (uint32_t)(out->size - size_at - 4);
    for (int i = 0; i < 4; i++)
        out->data[size_at + (size_t)i] = (uint8_t)(written >> (8 * i));
}
