#include "show/terminal.h"

#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

#define SMALLEST_NAME 12

void terminal_style(const struct terminal *terminal, enum terminal_style style, struct bytes *out)
{
    static const char *const codes[] = {"\033[0m", "\033[1m", "\033[2m", "\033[1;31m", "\033[33m"};
    if (terminal->color)
        bytes_put_text(out, codes[style]);
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t terminal_columns(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        count += !continues(*text);
    return count;
}

/* Where the text's first `columns` characters end. */
static const char *skip(const char *text, size_t columns)
{
    for (; *text; text++) {
        if (!continues(*text) && columns-- == 0)
            break;
    }
    return text;
}

static void put(const char *text, size_t size, struct bytes *out)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool c1 = byte == 0xc2 && i + 1 < size && (unsigned char)text[i + 1] < 0xa0;
        i += c1;
        bytes_put_u8(out, byte < 0x20 || byte == 0x7f || c1 ? '?' : byte);
    }
}

void terminal_put(const char *text, struct bytes *out)
{
    put(text, strlen(text), out);
}

void terminal_wrap(const struct terminal *terminal, const char *text, unsigned used, unsigned indent,
                   struct bytes *out)
{
    size_t width = terminal->width ? terminal->width : TERMINAL_TEXT_WIDTH, at = used;
    for (bool first = true; *text; first = false) {
        size_t size = strcspn(text, " ");
        char word[512];
        size_t kept = size < sizeof word ? size : sizeof word - 1;
        memcpy(word, text, kept);
        word[kept] = '\0';
        size_t columns = terminal_columns(word);
        if (!first && at + 1 + columns > width) {
            bytes_putf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            bytes_put_u8(out, ' ');
            at++;
        }
        terminal_put(word, out);
        at += columns;
        text += size;
        text += strspn(text, " ");
    }
    bytes_put_u8(out, '\n');
}

void terminal_fit(const struct terminal *terminal, const char *label, unsigned used, struct bytes *out)
{
    size_t room = terminal->width > used + SMALLEST_NAME ? terminal->width - used : SMALLEST_NAME;
    if (!terminal->width || terminal_columns(label) <= room) {
        terminal_put(label, out);
        return;
    }
    const char *end = strchr(label, '(');
    const char *at = label;
    for (const char *slash = label; label[0] != '{' && (slash = strchr(slash, '/')); slash++) {
        if (end && slash > end)
            break;
        at = slash;
        if (terminal_columns(at) + 1 <= room)
            break;
    }
    size_t left = room;
    if (at != label) {
        bytes_put_text(out, "…");
        left--;
    }
    if (terminal_columns(at) <= left) {
        terminal_put(at, out);
        return;
    }
    put(at, (size_t)(skip(at, left - 1) - at), out);
    bytes_put_text(out, "…");
}
