#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void separate(struct json *json)
{
    if (json->comma)
        bytes_put_u8(json->out, ',');
    if (json->newline)
        bytes_put_u8(json->out, '\n');
    json->newline = false;
}

static void begin(struct json *json, char bracket)
{
    separate(json);
    bytes_put_u8(json->out, (uint8_t)bracket);
    json->comma = false;
}

static void end(struct json *json, char bracket)
{
    json->comma = false;
    separate(json);
    bytes_put_u8(json->out, (uint8_t)bracket);
    json->comma = true;
}

static void word(struct json *json, const char *text)
{
    separate(json);
    bytes_put_text(json->out, text);
    json->comma = true;
}

/* Size of the UTF-8 sequence that `at` begins with; 0 when it is none (surrogates, overlong, cut). */
static size_t sequence_size(const uint8_t *at, size_t left)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80   ? 1
                  : at[0] < 0xc2 ? 0
                  : at[0] < 0xe0 ? 2
                  : at[0] < 0xf0 ? 3
                  : at[0] < 0xf5 ? 4
                                 : 0;
    if (size <= 1 || size > left)
        return size > left ? 0 : size;
    uint32_t value = at[0] & (0xffu >> (size + 1));
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (at[i] & 0x3f);
    }
    bool surrogate = value >= 0xd800 && value < 0xe000;
    return value < least[size] || value > 0x10ffff || surrogate ? 0 : size;
}

static void put_escaped(struct bytes *out, uint8_t byte)
{
    static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof named; i += 2) {
        if ((uint8_t)named[i] == byte) {
            const char escape[2] = {'\\', named[i + 1]};
            bytes_put(out, escape, 2);
            return;
        }
    }
    bytes_putf(out, "\\u%04x", byte);
}

static bool is_plain(uint8_t byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

static void put_text(struct bytes *out, const uint8_t *at, size_t left)
{
    bytes_put_u8(out, '"');
    while (left) {
        size_t plain = 0;
        while (plain < left && is_plain(at[plain]))
            plain++;
        bytes_put(out, at, plain);
        at += plain;
        left -= plain;
        if (!left)
            break;
        size_t size = sequence_size(at, left);
        if (size > 1)
            bytes_put(out, at, size);
        else if (size == 1)
            put_escaped(out, at[0]);
        else
            bytes_put(out, "\xef\xbf\xbd", 3);
        at += size ? size : 1;
        left -= size ? size : 1;
    }
    bytes_put_u8(out, '"');
}

void json_begin_object(struct json *json)
{
    begin(json, '{');
}

void json_end_object(struct json *json)
{
    end(json, '}');
}

void json_begin_array(struct json *json)
{
    begin(json, '[');
}

void json_end_array(struct json *json)
{
    end(json, ']');
}

void json_key(struct json *json, const char *key)
{
    json_string(json, key);
    bytes_put_u8(json->out, ':');
    json->comma = false;
}

void json_text(struct json *json, const char *text, size_t size)
{
    separate(json);
    put_text(json->out, (const uint8_t *)text, size);
    json->comma = true;
}

void json_string(struct json *json, const char *text)
{
    if (text)
        json_text(json, text, strlen(text));
    else
        json_null(json);
}

/* By hand: reports hold millions of numbers, and printf is slow. */
static void put_digits(struct json *json, uint64_t value, bool negative)
{
    char text[24], *at = text + sizeof text;
    *--at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    if (negative)
        *--at = '-';
    word(json, at);
}

void json_unsigned(struct json *json, uint64_t value)
{
    put_digits(json, value, false);
}

void json_signed(struct json *json, int64_t value)
{
    put_digits(json, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void json_real(struct json *json, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", value);
    word(json, isfinite(value) ? text : "null");
}

void json_bool(struct json *json, bool value)
{
    word(json, value ? "true" : "false");
}

void json_null(struct json *json)
{
    word(json, "null");
}

void json_line(struct json *json)
{
    json->newline = true;
}
