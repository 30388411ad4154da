#include "base/json_reader.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64 /* characters */

void json_reader_clear(struct json_reader *reader)
{
    bytes_clear(&reader->text);
    *reader = (struct json_reader){0};
}

bool json_reader_is(const struct json_reader *reader, const char *text)
{
    return reader->text.size == strlen(text) && memcmp(reader->text.data, text, reader->text.size) == 0;
}

static void skip_blanks(struct json_reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

static bool take(struct json_reader *reader, char wanted)
{
    if (reader->at == reader->end || *reader->at != wanted)
        return false;
    reader->at++;
    return true;
}

static bool in_object(const struct json_reader *reader)
{
    return reader->depth && reader->objects >> (reader->depth - 1) & 1;
}

/* ---- strings ---- */

/* Four hexadecimal digits; -1 when they are not there. */
static int32_t take_hex(struct json_reader *reader)
{
    int32_t value = 0;
    if (reader->end - reader->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = *reader->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

static void put_character(struct bytes *out, uint32_t value)
{
    if (value < 0x80) {
        bytes_put_u8(out, (uint8_t)value);
    } else if (value < 0x800) {
        bytes_put_u8(out, (uint8_t)(0xc0 | value >> 6));
        bytes_put_u8(out, (uint8_t)(0x80 | (value & 0x3f)));
    } else {
        if (value < 0x10000) {
            bytes_put_u8(out, (uint8_t)(0xe0 | value >> 12));
        } else {
            bytes_put_u8(out, (uint8_t)(0xf0 | value >> 18));
            bytes_put_u8(out, (uint8_t)(0x80 | (value >> 12 & 0x3f)));
        }
        bytes_put_u8(out, (uint8_t)(0x80 | (value >> 6 & 0x3f)));
        bytes_put_u8(out, (uint8_t)(0x80 | (value & 0x3f)));
    }
}

/* After "\u": characters beyond 16 bits are written as two. */
static bool take_unicode(struct json_reader *reader)
{
    int32_t value = take_hex(reader);
    if (value < 0)
        return false;
    if (value >= 0xd800 && value < 0xdc00 && reader->end - reader->at >= 6 && reader->at[0] == '\\' &&
        reader->at[1] == 'u') {
        const char *before = reader->at;
        reader->at += 2;
        int32_t low = take_hex(reader);
        if (low >= 0xdc00 && low < 0xe000)
            value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
        else
            reader->at = before;
    }
    put_character(&reader->text, value >= 0xd800 && value < 0xe000 ? 0xfffd : (uint32_t)value);
    return true;
}

static bool take_escape(struct json_reader *reader)
{
    static const char named[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    if (reader->at == reader->end)
        return false;
    char c = *reader->at++;
    if (c == 'u')
        return take_unicode(reader);
    for (size_t i = 0; i + 1 < sizeof named; i += 2) {
        if (named[i] == c) {
            bytes_put_u8(&reader->text, (uint8_t)named[i + 1]);
            return true;
        }
    }
    return false;
}

static bool take_string(struct json_reader *reader)
{
    bytes_reset(&reader->text);
    if (!take(reader, '"'))
        return false;
    for (;;) {
        const char *start = reader->at;
        while (reader->at < reader->end && *reader->at != '"' && *reader->at != '\\' &&
               (unsigned char)*reader->at >= ' ')
            reader->at++;
        bytes_put(&reader->text, start, (size_t)(reader->at - start));
        if (take(reader, '"'))
            return !reader->text.failed;
        if (!take(reader, '\\') || !take_escape(reader))
            return false;
    }
}

/* ---- other values ---- */

static size_t take_digits(struct json_reader *reader)
{
    const char *start = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9')
        reader->at++;
    return (size_t)(reader->at - start);
}

static bool take_fraction(struct json_reader *reader)
{
    if (take(reader, '.') && !take_digits(reader))
        return false;
    if (!take(reader, 'e') && !take(reader, 'E'))
        return true;
    if (!take(reader, '+'))
        take(reader, '-');
    return take_digits(reader) > 0;
}

static bool take_number(struct json_reader *reader)
{
    char text[NUMBER_MAX + 1];
    const char *start = reader->at;
    bool negative = take(reader, '-');
    const char *first = reader->at;
    size_t digits = take_digits(reader);
    if (!digits || (digits > 1 && *first == '0'))
        return false;
    bool whole = reader->at == reader->end || (*reader->at != '.' && (*reader->at | 32) != 'e');
    if (whole && digits < 16) { /* nearly all of them: exact in a double, and strtod is slow */
        uint64_t value = 0;
        for (size_t i = 0; i < digits; i++)
            value = value * 10 + (uint64_t)(first[i] - '0');
        reader->number = negative ? -(double)value : (double)value;
        return true;
    }
    if (!take_fraction(reader) || reader->at - start > NUMBER_MAX)
        return false;
    memcpy(text, start, (size_t)(reader->at - start));
    text[reader->at - start] = '\0';
    reader->number = strtod(text, NULL);
    return true;
}

static bool take_word(struct json_reader *reader, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(reader->end - reader->at) < size || memcmp(reader->at, word, size) != 0)
        return false;
    reader->at += size;
    return true;
}

static enum json_token open_nested(struct json_reader *reader, bool object)
{
    if (reader->depth == JSON_READER_DEPTH)
        return JSON_WRONG;
    uint64_t bit = UINT64_C(1) << reader->depth++;
    reader->objects = object ? reader->objects | bit : reader->objects & ~bit;
    return object ? JSON_OBJECT : JSON_ARRAY;
}

static enum json_token take_value(struct json_reader *reader)
{
    if (take(reader, '{'))
        return open_nested(reader, true);
    if (take(reader, '['))
        return open_nested(reader, false);
    switch (reader->at < reader->end ? *reader->at : '\0') {
    case '"':
        return take_string(reader) ? JSON_STRING : JSON_WRONG;
    case 't':
        return take_word(reader, "true") ? JSON_TRUE : JSON_WRONG;
    case 'f':
        return take_word(reader, "false") ? JSON_FALSE : JSON_WRONG;
    case 'n':
        return take_word(reader, "null") ? JSON_NULL : JSON_WRONG;
    default:
        return take_number(reader) ? JSON_NUMBER : JSON_WRONG;
    }
}

static enum json_token take_key(struct json_reader *reader)
{
    if (!take_string(reader))
        return JSON_WRONG;
    skip_blanks(reader);
    return take(reader, ':') ? JSON_KEY : JSON_WRONG;
}

static enum json_token next(struct json_reader *reader)
{
    bool first = reader->last == JSON_OBJECT || reader->last == JSON_ARRAY;
    skip_blanks(reader);
    if (reader->depth == 0) {
        bool begun = reader->last != JSON_WRONG;
        return !begun ? take_value(reader) : reader->at == reader->end ? JSON_END : JSON_WRONG;
    }
    if (reader->last == JSON_KEY)
        return take_value(reader);
    bool object = in_object(reader);
    if (take(reader, object ? '}' : ']')) {
        reader->depth--;
        return object ? JSON_OBJECT_END : JSON_ARRAY_END;
    }
    if (!first && !take(reader, ','))
        return JSON_WRONG;
    skip_blanks(reader);
    return object ? take_key(reader) : take_value(reader);
}

enum json_token json_reader_next(struct json_reader *reader)
{
    enum json_token token = next(reader);
    if (token == JSON_WRONG) { /* at the end, and nested: nothing can follow */
        reader->at = reader->end;
        reader->depth = 1;
        reader->objects = 0;
        reader->last = JSON_NULL;
        return JSON_WRONG;
    }
    return reader->last = token;
}

bool json_reader_skip(struct json_reader *reader)
{
    enum json_token token = reader->last == JSON_KEY ? json_reader_next(reader) : reader->last;
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return token != JSON_WRONG;
    unsigned outside = reader->depth - 1;
    while (token != JSON_WRONG && reader->depth > outside)
        token = json_reader_next(reader);
    return token != JSON_WRONG;
}
