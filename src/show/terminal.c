#include "show/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
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

static size_t columns_of(const char *text, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++)
        count += !continues(text[i]);
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

void terminal_put_source(const char *text, size_t size, struct bytes *out)
{
    for (const char *end = text + size; text < end; text++) {
        const char *tab = memchr(text, '\t', (size_t)(end - text));
        put(text, (size_t)((tab ? tab : end) - text), out);
        if (!tab)
            return;
        bytes_put_u8(out, '\t');
        text = tab;
    }
}

void terminal_put(const char *text, struct bytes *out)
{
    put(text, strlen(text), out);
}

/* The next word, which keeps a number and its unit together ("69.0 ms"). */
static size_t word_size(const char *text)
{
    static const char *const units[] = {"ns", "µs", "ms", "s", "min"};
    size_t size = strcspn(text, " ");
    if (!size || text[size - 1] < '0' || text[size - 1] > '9' || !text[size])
        return size;
    const char *next = text + size + 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit_size = strlen(units[i]);
        if (strncmp(next, units[i], unit_size) == 0 && strchr(" ,.;:)", next[unit_size]))
            return size + 1 + strcspn(next, " ");
    }
    return size;
}

size_t terminal_columns(const char *text)
{
    return columns_of(text, strlen(text));
}

void terminal_wrap(const struct terminal *terminal, const char *text, unsigned used, unsigned indent,
                   struct bytes *out)
{
    size_t width = terminal->width ? terminal->width : TERMINAL_TEXT_WIDTH, at = used;
    for (bool first = true; *text; first = false) {
        size_t size = word_size(text), columns = columns_of(text, size);
        if (!first && at + 1 + columns > width) {
            bytes_putf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            bytes_put_u8(out, ' ');
            at++;
        }
        put(text, size, out);
        at += columns;
        text += size;
        text += strspn(text, " ");
    }
    bytes_put_u8(out, '\n');
}

/* Folders may go as long as what is left begins with one. */
static const char *without_folders(const char *label, size_t room)
{
    const char *at = label, *end = strchr(label, '(');
    for (const char *slash = strchr(label, '/'); slash && slash < end; slash = strchr(slash + 1, '/')) {
        if (columns_of(at, strlen(at)) + 1 <= room)
            break;
        at = slash;
    }
    return at;
}

/* Names without a place keep their beginning. */
static void fit_end(const char *label, size_t room, struct bytes *out)
{
    struct bytes compact = {0};
    if (label[0] == '{')
        labels_compact(label, &compact);
    else
        bytes_put_text(&compact, label);
    bytes_put_u8(&compact, '\0');
    const char *text = compact.failed ? label : (const char *)compact.data;
    bool fits = columns_of(text, strlen(text)) <= room;
    put(text, fits ? strlen(text) : (size_t)(skip(text, room - 1) - text), out);
    bytes_put_text(out, fits ? "" : "…");
    bytes_clear(&compact);
}

/* "f.py:1(Outer.method)" loses first its classes, then its folders, then its beginning. */
static void fit_place(const char *label, size_t room, struct bytes *out)
{
    const char *name = strchr(label, '(') + 1, *dot = strrchr(name, '.');
    struct bytes brief = {0};
    bytes_put(&brief, label, (size_t)(name - label));
    bytes_put_text(&brief, dot ? dot + 1 : name);
    bytes_put_u8(&brief, '\0');
    const char *at = without_folders(brief.failed ? label : (const char *)brief.data, room);
    size_t columns = columns_of(at, strlen(at));
    bool whole = columns <= room && at == (const char *)brief.data;
    bytes_put_text(out, whole ? "" : "…");
    terminal_put(!whole && columns + 1 > room ? skip(at, columns + 1 - room) : at, out);
    bytes_clear(&brief);
}

void terminal_fit(const struct terminal *terminal, const char *label, unsigned used, struct bytes *out)
{
    size_t room = terminal->width > used + SMALLEST_NAME ? terminal->width - used : SMALLEST_NAME;
    size_t columns = columns_of(label, strlen(label));
    if (!terminal->width || columns <= room) {
        terminal_put(label, out);
        return;
    }
    bool place = strchr(label, '(') && strchr(label, ':') && label[strlen(label) - 1] == ')';
    if (label[0] == '{' || !place) {
        fit_end(label, room, out);
        return;
    }
    fit_place(label, room, out);
}

/* ---- characters ---- */

static bool is_utf8_wanted(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < 3; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

/* The user's locale may not be installed (over ssh it is that of another machine); C.UTF-8 nearly always is. */
void terminal_choose_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (is_utf8_wanted() && strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        setlocale(LC_CTYPE, "C.UTF-8");
}

/* The fonts of the Linux console lack most of what we draw with. */
bool terminal_is_ascii(void)
{
    const char *term = getenv("TERM");
    return strcmp(nl_langinfo(CODESET), "UTF-8") != 0 || (term && strcmp(term, "linux") == 0);
}
