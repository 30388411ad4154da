#include "python/value_text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void value_text_put_bytes(struct value_text *text, const char *bytes, size_t size)
{
    if (text->cut || size > text->limit - text->size) {
        text->cut = true;
        return;
    }
    memcpy(text->out + text->size, bytes, size);
    text->size += size;
}

void value_text_put(struct value_text *text, const char *words)
{
    value_text_put_bytes(text, words, strlen(words));
}

void value_text_putf(struct value_text *text, const char *format, ...)
{
    char words[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    value_text_put_bytes(text, words, size < (int)sizeof words ? (size_t)size : sizeof words - 1);
}

/* ---- characters ---- */

/* What str.isprintable says, but for letters that newer versions of Unicode have added: controls, separators
 * but the space, invisible marks, surrogates, private and unassigned planes. */
static bool is_printable(uint32_t character)
{
    static const uint32_t hidden[][2] = {
        {0x0, 0x1f},        {0x7f, 0xa0},          {0xad, 0xad},     {0x378, 0x379},   {0x600, 0x605},
        {0x61c, 0x61c},     {0x6dd, 0x6dd},        {0x70f, 0x70f},   {0x1680, 0x1680}, {0x180e, 0x180e},
        {0x2000, 0x200f},   {0x2028, 0x202f},      {0x205f, 0x206f}, {0x3000, 0x3000}, {0xd800, 0xf8ff},
        {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},      {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0x1fffe, 0x1ffff},
        {0x323b0, 0xe00ff}, {0xe01f0, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (character >= hidden[i][0] && character <= hidden[i][1])
            return false;
    return true;
}

static void put_utf8(struct value_text *text, uint32_t character)
{
    char out[4];
    unsigned more = character < 0x80 ? 0 : character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    static const unsigned char marks[] = {0, 0xc0, 0xe0, 0xf0};
    for (unsigned i = more; i > 0; i--, character >>= 6)
        out[i] = (char)(0x80 | (character & 0x3f));
    out[0] = (char)(marks[more] | character);
    value_text_put_bytes(text, out, more + 1);
}

void value_text_put_character(struct value_text *text, uint32_t character, char quote, bool byte)
{
    static const char escaped[] = "\t\n\r", letters[] = "tnr";
    const char *found = character ? memchr(escaped, (int)character, 3) : NULL;
    if (character > 0x7f)
        found = NULL;
    if (found)
        value_text_putf(text, "\\%c", letters[found - escaped]);
    else if (character == '\\' || character == (unsigned char)quote)
        value_text_putf(text, "\\%c", (char)character);
    else if (byte ? character >= 0x20 && character < 0x7f : is_printable(character))
        put_utf8(text, character);
    else
        value_text_putf(text,
                        character > 0xffff ? "\\U%08x"
                        : character > 0xff ? "\\u%04x"
                                           : "\\x%02x",
                        character);
}

/* ---- numbers ---- */

/* The fewest digits that give the number back, and the power of ten of the first. */
static int shortest(double number, char *digits, int *exponent)
{
    char words[48];
    for (int precision = 0; precision <= 17; precision++) {
        snprintf(words, sizeof words, "%.*e", precision, number);
        if (strtod(words, NULL) == number || precision == 17)
            break;
    }
    int count = 0;
    const char *at = words;
    for (; *at && *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    *exponent = *at ? atoi(at + 1) : 0;
    return count;
}

static void put_plain(struct value_text *text, const char *digits, int count, int exponent, bool whole_dot)
{
    if (exponent < 0) {
        value_text_putf(text, "0.%.*s%.*s", -exponent - 1, "000", count, digits);
        return;
    }
    for (int i = 0; i < count || i <= exponent; i++) {
        if (i == exponent + 1)
            value_text_put(text, ".");
        value_text_putf(text, "%c", i < count ? digits[i] : '0');
    }
    if (count <= exponent + 1 && whole_dot)
        value_text_put(text, ".0");
}

static void put_magnitude(struct value_text *text, double number, bool whole_dot)
{
    char digits[24];
    int exponent;
    if (isnan(number) || isinf(number)) {
        value_text_put(text, isnan(number) ? "nan" : "inf");
        return;
    }
    int count = shortest(number, digits, &exponent);
    if (exponent >= -4 && exponent < 16)
        put_plain(text, digits, count, exponent, whole_dot);
    else
        value_text_putf(text, "%c%s%.*se%c%02d", digits[0], count > 1 ? "." : "", count - 1, digits + 1,
                        exponent < 0 ? '-' : '+', abs(exponent));
}

void value_text_put_float(struct value_text *text, double number, bool whole_dot)
{
    if (signbit(number) && !isnan(number))
        value_text_put(text, "-");
    put_magnitude(text, fabs(number), whole_dot);
}

void value_text_put_complex(struct value_text *text, double real, double imaginary)
{
    bool both = real != 0 || signbit(real);
    if (both) {
        value_text_put(text, "(");
        value_text_put_float(text, real, false);
        if (!signbit(imaginary) || isnan(imaginary))
            value_text_put(text, "+");
    }
    value_text_put_float(text, imaginary, false);
    value_text_put(text, both ? "j)" : "j");
}

bool value_text_put_int(struct value_text *text, uint32_t *digits, size_t count, bool negative)
{
    enum { BASE = 1000000000, PARTS = VALUE_TEXT_DIGITS + VALUE_TEXT_DIGITS / 128 + 1 };
    uint32_t parts[PARTS];
    size_t used = 0;
    if (count > VALUE_TEXT_DIGITS)
        return false;
    while (count) {
        uint64_t rest = 0;
        for (size_t i = count; i-- > 0;) {
            rest = rest << 30 | digits[i];
            digits[i] = (uint32_t)(rest / BASE);
            rest %= BASE;
        }
        parts[used++] = (uint32_t)rest;
        while (count && !digits[count - 1])
            count--;
    }
    value_text_put(text, negative ? "-" : "");
    value_text_putf(text, "%u", used ? parts[used - 1] : 0);
    for (size_t i = used ? used - 1 : 0; i-- > 0;)
        value_text_putf(text, "%09u", parts[i]);
    return true;
}
