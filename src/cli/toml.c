#include "cli/toml.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

#define NESTING_MAX 64
#define VALUES_MAX  1024

struct parser {
    const char *at, *end;
    const char *name;
    unsigned line, table_line;
    struct err *err;
    struct bytes table, key, values; /* texts, each ended by NUL, one after another */
    size_t table_depth, key_depth, value_count;
};

static int fail(struct parser *parser, const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(parser->err, "%s:%u: %s", parser->name, parser->line, text);
}

static int peek(const struct parser *parser)
{
    return parser->at < parser->end ? (unsigned char)*parser->at : -1;
}

static bool skip_text(struct parser *parser, const char *text)
{
    size_t size = strlen(text);
    if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, text, size) != 0)
        return false;
    parser->at += size;
    return true;
}

static void skip_blanks(struct parser *parser)
{
    while (peek(parser) == ' ' || peek(parser) == '\t')
        parser->at++;
}

static void skip_comment(struct parser *parser)
{
    if (peek(parser) == '#')
        while (peek(parser) != -1 && peek(parser) != '\n')
            parser->at++;
}

/* Blanks, comments and ends of lines. */
static void skip_lines(struct parser *parser)
{
    for (;;) {
        skip_blanks(parser);
        skip_comment(parser);
        if (peek(parser) == '\r')
            parser->at++;
        else if (peek(parser) == '\n')
            parser->at++, parser->line++;
        else
            return;
    }
}

static int expect_line_end(struct parser *parser)
{
    skip_blanks(parser);
    skip_comment(parser);
    skip_text(parser, "\r");
    if (peek(parser) != -1 && peek(parser) != '\n')
        return fail(parser, "the line goes on after its value; a string needs quotes");
    return 0;
}

/* Strings. */

static void put_code_point(struct bytes *out, uint32_t code)
{
    if (code < 0x80) {
        bytes_put_u8(out, (uint8_t)code);
        return;
    }
    unsigned extra = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xc0, 0xe0, 0xf0};
    bytes_put_u8(out, (uint8_t)(lead[extra] | code >> (6 * extra)));
    while (extra--)
        bytes_put_u8(out, (uint8_t)(0x80 | (code >> (6 * extra) & 0x3f)));
}

static int read_code_point(struct parser *parser, unsigned digits, struct bytes *out)
{
    uint32_t code = 0;
    for (; digits; digits--, parser->at++) {
        static const char hex[] = "0123456789abcdef";
        int letter = peek(parser);
        const char *found = letter > 0 ? strchr(hex, letter | (letter >= 'A' ? 0x20 : 0)) : NULL;
        if (!found)
            return fail(parser, "a \\u or \\U escape needs hexadecimal digits");
        code = code << 4 | (uint32_t)(found - hex);
    }
    if (code == 0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return fail(parser, "an escape names no character");
    put_code_point(out, code);
    return 0;
}

/* Behind a backslash. */
static int read_escape(struct parser *parser, bool several_lines, struct bytes *out)
{
    static const char names[] = "btnfre\"\\", meanings[] = "\b\t\n\f\r\033\"\\";
    int letter = peek(parser);
    const char *found = letter > 0 ? strchr(names, letter) : NULL;
    if (several_lines && (letter == '\n' || letter == '\r' || letter == ' ' || letter == '\t')) {
        while (peek(parser) == ' ' || peek(parser) == '\t' || peek(parser) == '\r' || peek(parser) == '\n')
            parser->line += *parser->at++ == '\n';
        return 0;
    }
    parser->at += letter != -1;
    if (letter == 'u' || letter == 'U')
        return read_code_point(parser, letter == 'u' ? 4 : 8, out);
    if (!found)
        return fail(parser, "unknown escape in a string; in 'single quotes' a backslash is only itself");
    bytes_put_u8(out, (uint8_t)meanings[found - names]);
    return 0;
}

/* At a quote: one line ("..." or '...') or several (three quotes). Appends the text and a NUL. */
static int read_string(struct parser *parser, struct bytes *out)
{
    char quote = *parser->at;
    char mark[4] = {quote, quote, quote, '\0'};
    bool several_lines = skip_text(parser, mark);
    unsigned start = parser->line;
    if (!several_lines) {
        parser->at++;
        mark[1] = '\0';
    } else if (!skip_text(parser, "\n") ? skip_text(parser, "\r\n") : true) {
        parser->line++;
    }
    while (!skip_text(parser, mark)) {
        int letter = peek(parser);
        if (letter == -1 || (letter == '\n' && !several_lines)) {
            parser->line = start;
            return fail(parser, "a string does not end; it needs a closing %s", mark);
        }
        parser->at++;
        parser->line += letter == '\n';
        if (letter == '\0')
            return fail(parser, "a string holds a NUL byte");
        if (letter == '\\' && quote == '"') {
            if (read_escape(parser, several_lines, out) != 0)
                return -1;
        } else {
            bytes_put_u8(out, (uint8_t)letter);
        }
    }
    for (int extra = 0; several_lines && extra < 2 && peek(parser) == quote; extra++) {
        parser->at++; /* up to two quotes before the closing three belong to the text */
        bytes_put_u8(out, (uint8_t)quote);
    }
    bytes_put_u8(out, 0);
    return 0;
}

/* Keys. */

static bool is_bare(int letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
}

/* "a.b.'c d'": the parts go to `out`, their number to `depth`. */
static int read_key(struct parser *parser, struct bytes *out, size_t *depth)
{
    bytes_reset(out);
    *depth = 0;
    do {
        skip_blanks(parser);
        const char *start = parser->at;
        if (peek(parser) == '"' || peek(parser) == '\'') {
            if (read_string(parser, out) != 0)
                return -1;
        } else {
            while (is_bare(peek(parser)))
                parser->at++;
            if (parser->at == start)
                return fail(parser, "a key or a [table] is expected here");
            bytes_put(out, start, (size_t)(parser->at - start));
            bytes_put_u8(out, 0);
        }
        ++*depth;
        skip_blanks(parser);
    } while (skip_text(parser, "."));
    return 0;
}

static int read_table(struct parser *parser)
{
    bool array = skip_text(parser, "[[");
    parser->table_line = parser->line;
    if (!array)
        parser->at++;
    if (read_key(parser, &parser->table, &parser->table_depth) != 0)
        return -1;
    if (!skip_text(parser, array ? "]]" : "]"))
        return fail(parser, "a table's name does not end with ']'");
    return expect_line_end(parser);
}

/* Values. */

static int read_value(struct parser *parser, unsigned nesting, enum toml_kind *kind);

static bool is_word(const char *start, size_t size, const char *word)
{
    return size == strlen(word) && memcmp(start, word, size) == 0;
}

static bool is_boolean(const char *start, size_t size)
{
    return is_word(start, size, "true") || is_word(start, size, "false");
}

static bool is_number(const char *start, size_t size)
{
    size_t sign = *start == '+' || *start == '-';
    return strchr("+-0123456789", *start) || is_word(start + sign, size - sign, "inf") ||
           is_word(start + sign, size - sign, "nan");
}

/* A day and a time may have a blank between them: 1979-05-27 07:32:00. */
static bool is_day(const char *start, size_t size)
{
    return size == 10 && start[4] == '-' && start[7] == '-';
}

static void skip_word(struct parser *parser)
{
    while (is_bare(peek(parser)) || (peek(parser) > 0 && strchr(".+:", peek(parser))))
        parser->at++;
}

/* A word without quotes: a boolean, a number, or a time. */
static int read_word(struct parser *parser, enum toml_kind *kind)
{
    const char *start = parser->at;
    skip_word(parser);
    size_t size = (size_t)(parser->at - start);
    if (size == 0)
        return fail(parser, "a value is expected here");
    if (!is_boolean(start, size) && !is_number(start, size))
        return fail(parser, "'%.*s' is no value; a string needs quotes", size < 40 ? (int)size : 40, start);
    bool day = is_day(start, size);
    if (day && parser->end - parser->at > 1 && *parser->at == ' ' && is_bare(parser->at[1])) {
        parser->at++;
        skip_word(parser);
    }
    bool time = day || memchr(start, ':', size);
    *kind = time ? TOML_OTHER : is_boolean(start, size) ? TOML_BOOLEAN : TOML_NUMBER;
    for (size_t index = 0; index < size; index++)
        if (start[index] != '_')
            bytes_put_u8(&parser->values, (uint8_t)start[index]);
    bytes_put_u8(&parser->values, 0);
    return 0;
}

static int read_array(struct parser *parser, unsigned nesting, enum toml_kind *kind)
{
    unsigned start = parser->line;
    *kind = TOML_ARRAY;
    parser->at++;
    for (skip_lines(parser); !skip_text(parser, "]"); skip_lines(parser)) {
        enum toml_kind item;
        if (peek(parser) == -1) {
            parser->line = start;
            return fail(parser, "an array does not end; it needs a closing ]");
        }
        if (read_value(parser, nesting + 1, &item) != 0)
            return -1;
        if (item == TOML_ARRAY || item == TOML_OTHER)
            *kind = TOML_OTHER;
        skip_lines(parser);
        if (!skip_text(parser, ",") && peek(parser) != ']' && peek(parser) != -1)
            return fail(parser, "',' or ']' is expected in an array");
    }
    return 0;
}

static int read_inline_table(struct parser *parser, unsigned nesting, enum toml_kind *kind)
{
    *kind = TOML_OTHER;
    parser->at++;
    for (skip_lines(parser); !skip_text(parser, "}"); skip_lines(parser)) {
        struct bytes key = {0};
        size_t depth;
        enum toml_kind item;
        int result = read_key(parser, &key, &depth);
        bytes_clear(&key);
        if (result != 0)
            return -1;
        if (!skip_text(parser, "="))
            return fail(parser, "'=' is expected after a key");
        skip_blanks(parser);
        if (read_value(parser, nesting + 1, &item) != 0)
            return -1;
        skip_lines(parser);
        if (!skip_text(parser, ",") && peek(parser) != '}')
            return fail(parser, "',' or '}' is expected in a table");
    }
    return 0;
}

static int read_value(struct parser *parser, unsigned nesting, enum toml_kind *kind)
{
    if (nesting > NESTING_MAX)
        return fail(parser, "values are nested more than %d deep", NESTING_MAX);
    *kind = TOML_STRING;
    int letter = peek(parser);
    if (letter == '[')
        return read_array(parser, nesting, kind);
    if (letter == '{')
        return read_inline_table(parser, nesting, kind);
    parser->value_count++;
    return letter == '"' || letter == '\'' ? read_string(parser, &parser->values) : read_word(parser, kind);
}

/* Pointers to `count` texts that lie one after another. */
static void point_at(const struct bytes *texts, size_t count, const char **pointers)
{
    const char *text = (const char *)texts->data;
    for (size_t index = 0; index < count; index++) {
        pointers[index] = text;
        text += strlen(text) + 1;
    }
}

static int visit_item(struct parser *parser, unsigned line, enum toml_kind kind, toml_visit *visit,
                      void *context)
{
    const char *path[TOML_DEPTH_MAX], *values[VALUES_MAX];
    size_t depth = parser->table_depth + parser->key_depth;
    if (parser->table.failed || parser->key.failed || parser->values.failed)
        return fail(parser, "out of memory");
    if (depth > TOML_DEPTH_MAX)
        return 0;
    bool told = kind != TOML_OTHER && parser->value_count <= VALUES_MAX;
    size_t count = told ? parser->value_count : 0;
    point_at(&parser->table, parser->table_depth, path);
    point_at(&parser->key, parser->key_depth, path + parser->table_depth);
    point_at(&parser->values, count, values);
    struct toml_item item = {path, depth, line, parser->table_line, told ? kind : TOML_OTHER, values, count};
    return visit(context, &item, parser->err);
}

static int read_pair(struct parser *parser, toml_visit *visit, void *context)
{
    unsigned line = parser->line;
    enum toml_kind kind;
    if (read_key(parser, &parser->key, &parser->key_depth) != 0)
        return -1;
    if (!skip_text(parser, "="))
        return fail(parser, "'=' is expected after a key");
    skip_blanks(parser);
    bytes_reset(&parser->values);
    parser->value_count = 0;
    if (read_value(parser, 0, &kind) != 0 || expect_line_end(parser) != 0)
        return -1;
    return visit_item(parser, line, kind, visit, context);
}

int toml_read(const char *text, size_t size, const char *name, toml_visit *visit, void *context,
              struct err *err)
{
    struct parser parser = {.at = text, .end = text + size, .name = name, .line = 1, .err = err};
    if (size > TOML_BYTES_MAX)
        return err_set(err, "%s: larger than the limit of %d bytes", name, TOML_BYTES_MAX);
    skip_text(&parser, "\xef\xbb\xbf");
    int result = 0;
    for (skip_lines(&parser); result == 0 && peek(&parser) != -1; skip_lines(&parser))
        result = peek(&parser) == '[' ? read_table(&parser) : read_pair(&parser, visit, context);
    bytes_clear(&parser.table);
    bytes_clear(&parser.key);
    bytes_clear(&parser.values);
    return result;
}
