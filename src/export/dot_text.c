#include "export/dot_text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define WRAP_WIDTH       32
#define QUOTED_BYTES_MAX 12000 /* of one name when escaped: leaves room for the rest of a label */

/* Bytes of the UTF-8 character at `text`; 0 when it is none. */
static size_t character_size(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead, low, high; /* low..high: allowed second byte */
        size_t size;
    } rows[] = {
        {0xff, 0xe0, 0xa0, 0xbf, 3}, {0xff, 0xed, 0x80, 0x9f, 3}, {0xf0, 0xe0, 0x80, 0xbf, 3},
        {0xff, 0xf0, 0x90, 0xbf, 4}, {0xff, 0xf4, 0x80, 0x8f, 4}, {0xfc, 0xf0, 0x80, 0xbf, 4},
        {0xe0, 0xc0, 0x80, 0xbf, 2},
    };
    if (text[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && text[0] >= 0xc2; i++) {
        if ((text[0] & rows[i].mask) != rows[i].lead)
            continue;
        if (text[1] < rows[i].low || text[1] > rows[i].high)
            return 0;
        for (size_t j = 2; j < rows[i].size; j++)
            if ((text[j] & 0xc0) != 0x80)
                return 0;
        return rows[i].size;
    }
    return 0;
}

/* How many bytes the character takes once quoted. */
static size_t quoted_size(unsigned char first, size_t size)
{
    return first == '&' ? 5 : first == '"' || first == '\\' ? 2 : first < ' ' ? 6 : size ? size : 3;
}

static void put_character(struct bytes *out, const unsigned char *at, size_t size)
{
    if (!size)
        bytes_put_text(out, "\xef\xbf\xbd");
    else if (*at == '\n' || *at == '\t' || *at == '\r')
        bytes_putf(out, "\\%c", *at == '\n' ? 'n' : *at == '\t' ? 't' : 'r');
    else if (*at < ' ' || *at == 0x7f)
        bytes_putf(out, "\\x%02x", *at);
    else
        bytes_put(out, at, size);
}

void dot_text_put_visible(struct bytes *out, const char *text, size_t max_characters)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t characters = 0, quoted = 0;

    while (*at) {
        size_t size = character_size(at);
        quoted += quoted_size(*at, size);
        if (++characters >= max_characters && at[size ? size : 1]) {
            bytes_put_text(out, "\xe2\x80\xa6");
            return;
        }
        if (quoted > QUOTED_BYTES_MAX) {
            bytes_put_text(out, "\xe2\x80\xa6");
            return;
        }
        put_character(out, at, size);
        at += size ? size : 1;
    }
}

/* Appends what is outside paired brackets; a bracket without its partner is kept, and one behind a dot: Python's
 * "f.<lambda>" has no arguments. */
static void put_outside(struct bytes *out, const char *text, size_t size, char open, char close)
{
    size_t depth = 0, opened_at[64];

    for (size_t i = 0; i < size; i++) {
        if (text[i] == open && (!i || text[i - 1] != '.') && depth < sizeof opened_at / sizeof opened_at[0])
            opened_at[depth++] = out->size;
        bytes_put_u8(out, (uint8_t)text[i]);
        if (text[i] == close && depth && !out->failed)
            out->size = opened_at[--depth];
    }
}

void dot_text_put_stripped(struct bytes *out, const char *name)
{
    static const char word[] = "const";
    struct bytes plain = {0};
    size_t start = out->size;

    put_outside(&plain, name, strlen(name), '(', ')');
    size_t size = plain.size, tail = sizeof word - 1;
    if (size > tail && memcmp(plain.data + size - tail, word, tail) == 0 &&
        isspace(plain.data[size - tail - 1])) {
        size -= tail;
        while (size && isspace(plain.data[size - 1]))
            size--;
    }
    put_outside(out, (const char *)plain.data, size, '<', '>');
    /* <module>, <lambda> and <built-in method ...> are names, not template arguments. */
    if (out->size == start)
        bytes_put_text(out, name);
    bytes_clear(&plain);
}

/* Bytes of the first `characters` characters, at most. */
static size_t prefix_size(const char *text, size_t characters)
{
    size_t size = 0;

    while (text[size]) {
        bool begins = (text[size] & 0xc0) != 0x80;
        if (begins && characters-- == 0)
            break;
        size++;
    }
    return size;
}

/* Where to end the first line: behind the last good separator that fits, else behind the next bad one. */
static size_t line_size(const char *text)
{
    static const char *const separators[] = {" :/,", ".-", "_"};
    size_t fits = prefix_size(text, WRAP_WIDTH);

    for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++)
        for (size_t size = fits; size > WRAP_WIDTH / 4; size--)
            if (strchr(separators[i], text[size - 1]) && !strchr(separators[i], text[size]))
                return size;
    fits += strcspn(text + fits, " :/,.-_");
    return text[fits] ? fits + 1 : fits;
}

void dot_text_put_wrapped(struct bytes *out, const char *name)
{
    while (name[prefix_size(name, WRAP_WIDTH)]) {
        size_t size = line_size(name);
        bytes_put(out, name, size - (name[size - 1] == ' '));
        name += size;
        if (*name)
            bytes_put_u8(out, '\n');
    }
    bytes_put_text(out, name);
}

void dot_text_put_quoted(struct bytes *out, const char *text, size_t size)
{
    bytes_put_u8(out, '"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n')
            bytes_put_text(out, "\\n");
        else if (text[i] == '&') /* graphviz decodes HTML entities even in plain labels */
            bytes_put_text(out, "&amp;");
        else {
            if (text[i] == '"' || text[i] == '\\')
                bytes_put_u8(out, '\\');
            bytes_put_u8(out, (uint8_t)text[i]);
        }
    }
    bytes_put_u8(out, '"');
}
