#include "cli/marks_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/json_reader.h"
#include "cli/toml.h"
#include "collect/agent/mark_template.h"

#define FILE_BYTES_MAX (1 << 20)

enum { FN, FILE_PART, NAME, MAKER, KEYS };
static const char *const keys[KEYS] = {"fn", "file", "name", "maker"};

struct reading {
    const char *path;
    struct bytes *out;
    struct bytes values[KEYS]; /* of the row at hand; empty = not given */
    unsigned row;              /* its number, from 1; 0 = none was met */
    unsigned table;            /* TOML: the line of its table */
    struct err *err;
};

static int fail(const struct reading *reading, const char *what)
{
    return err_set(reading->err, "%s: mark %u: %s", reading->path, reading->row, what);
}

/* ---- a row ---- */

static const char *value(const struct reading *reading, int key)
{
    return reading->values[key].size ? (const char *)reading->values[key].data : "";
}

static int check_name(const struct reading *reading)
{
    const char *at = value(reading, NAME);
    struct mark_piece piece;
    while ((piece = mark_template_next(&at)).kind != MARK_PIECE_END)
        if (piece.kind == MARK_PIECE_WRONG)
            return fail(reading, "in \"name\", braces hold {function}, {class}, an {argument} or an "
                                 "{argument.attribute}; a brace itself is written twice");
    return 0;
}

static int check_maker(const struct reading *reading)
{
    const char *maker = value(reading, MAKER), *colon = strchr(maker, ':');
    if (!*maker || (colon && colon != maker && colon[1]))
        return 0;
    return fail(reading, "\"maker\" is a function that gives the name, as \"module:function\"");
}

static int end_row(struct reading *reading)
{
    if (!reading->row)
        return 0;
    if (!value(reading, FN)[0])
        return fail(reading, "\"fn\", the name of a function, is missing");
    if (value(reading, NAME)[0] && value(reading, MAKER)[0])
        return fail(reading, "it has both \"name\" and \"maker\"");
    if (check_name(reading) < 0 || check_maker(reading) < 0)
        return -1;
    bool called = value(reading, MAKER)[0], named = value(reading, NAME)[0];
    bytes_putf(reading->out, "mark=%s%c%s%c%c%s\n", value(reading, FN), MARK_TEMPLATE_SEPARATOR,
               value(reading, FILE_PART), MARK_TEMPLATE_SEPARATOR,
               called ? MARK_NAME_CALLABLE : MARK_NAME_TEMPLATE,
               called  ? value(reading, MAKER)
               : named ? value(reading, NAME)
                       : "{function}");
    return 0;
}

static int begin_row(struct reading *reading)
{
    if (end_row(reading) < 0)
        return -1;
    for (int key = 0; key < KEYS; key++)
        bytes_reset(&reading->values[key]);
    reading->row++;
    return 0;
}

static int find_key(const struct reading *reading, const char *name, size_t bytes)
{
    for (int key = 0; key < KEYS; key++)
        if (strlen(keys[key]) == bytes && memcmp(keys[key], name, bytes) == 0)
            return key;
    return err_set(reading->err,
                   "%s: mark %u: a mark has \"fn\", \"file\", \"name\" and \"maker\", and no \"%.*s\"",
                   reading->path, reading->row, bytes < 40 ? (int)bytes : 40, name);
}

static int set_value(struct reading *reading, int key, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)text[i] < ' ')
            return fail(reading, "a text holds a line break or another control character");
    if (reading->values[key].size)
        return err_set(reading->err, "%s: mark %u: \"%s\" is given twice", reading->path, reading->row,
                       keys[key]);
    bytes_put(&reading->values[key], text, bytes);
    bytes_put_u8(&reading->values[key], 0);
    return 0;
}

/* ---- JSON ---- */

static int fail_json(const struct reading *reading)
{
    return err_set(
        reading->err,
        "%s: not what a marks file holds: {\"marks\": [{\"fn\": \"solve\", \"file\": \"sim/grid.py\", "
        "\"name\": \"solve {class}\"}, ...]}, or the list alone",
        reading->path);
}

static int read_json_row(struct reading *reading, struct json_reader *json)
{
    if (begin_row(reading) < 0)
        return -1;
    enum json_token token;
    while ((token = json_reader_next(json)) == JSON_KEY) {
        int key = find_key(reading, (const char *)json->text.data, json->text.size);
        if (key < 0)
            return -1;
        token = json_reader_next(json);
        if (token == JSON_NULL)
            continue;
        if (token != JSON_STRING)
            return token == JSON_WRONG ? fail_json(reading) : fail(reading, "its values are texts");
        if (set_value(reading, key, (const char *)json->text.data, json->text.size) < 0)
            return -1;
    }
    return token == JSON_OBJECT_END ? 0 : fail_json(reading);
}

/* Up to the list: the list alone, or {"marks": the list}. */
static bool find_list(struct json_reader *json)
{
    enum json_token token = json_reader_next(json);
    while (token == JSON_OBJECT || token == JSON_KEY) {
        bool wanted = token == JSON_KEY && json_reader_is(json, "marks");
        token = json_reader_next(json);
        if (wanted)
            break;
        if (token != JSON_KEY) {
            if (!json_reader_skip(json))
                return false;
            token = json_reader_next(json);
        }
    }
    return token == JSON_ARRAY;
}

static int read_json(struct reading *reading, const struct bytes *text)
{
    struct json_reader json = {.at = (const char *)text->data, .end = (const char *)text->data + text->size};
    int result = find_list(&json) ? 0 : fail_json(reading);
    enum json_token token = JSON_WRONG;
    while (result == 0 && (token = json_reader_next(&json)) == JSON_OBJECT)
        result = read_json_row(reading, &json);
    if (result == 0 && token != JSON_ARRAY_END)
        result = fail_json(reading);
    json_reader_clear(&json);
    return result;
}

/* ---- TOML ---- */

static int read_item(void *context, const struct toml_item *item, struct err *err)
{
    struct reading *reading = context;
    (void)err;
    if (item->depth != 2 || strcmp(item->path[0], "marks") != 0)
        return 0;
    if (reading->table != item->table_line && begin_row(reading) < 0)
        return -1;
    reading->table = item->table_line;
    int key = find_key(reading, item->path[1], strlen(item->path[1]));
    if (key < 0)
        return -1;
    if (item->kind != TOML_STRING)
        return fail(reading, "its values are texts");
    return set_value(reading, key, item->values[0], strlen(item->values[0]));
}

/* ---- all of it ---- */

static bool ends_with(const char *path, const char *suffix)
{
    size_t size = strlen(path), end = strlen(suffix);
    return size > end && strcmp(path + size - end, suffix) == 0;
}

static int put_script(const char *path, struct bytes *settings, struct err *err)
{
    char whole[PATH_MAX];
    if (access(path, R_OK) != 0 || !realpath(path, whole))
        return err_set_errno(err, "cannot read the marks file %s", path);
    bytes_putf(settings, "marks_script=%s\n", whole);
    return 0;
}

int marks_file_read(const char *path, struct bytes *settings, struct err *err)
{
    if (strchr(path, '\n'))
        return err_set(err, "the name of a marks file cannot hold a line break");
    if (ends_with(path, ".py"))
        return put_script(path, settings, err);
    bool json = ends_with(path, ".json");
    if (!json && !ends_with(path, ".toml"))
        return err_set(err, "%s: a marks file is .json, .toml, or .py with a list functions_desc", path);
    struct reading reading = {.path = path, .out = settings, .err = err};
    struct bytes text = {0};
    int result = bytes_read_file(&text, path, FILE_BYTES_MAX, err);
    if (result == 0)
        result = json ? read_json(&reading, &text)
                      : toml_read((const char *)text.data, text.size, path, read_item, &reading, err);
    if (result == 0)
        result = end_row(&reading);
    if (result == 0 && !reading.row)
        result = err_set(err, "%s: there is no mark in it; see docs/marks.md", path);
    for (int key = 0; key < KEYS; key++)
        bytes_clear(&reading.values[key]);
    bytes_clear(&text);
    return result;
}
