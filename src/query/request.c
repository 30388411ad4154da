#include "query/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_reader.h"

enum field_type { FIELD_TEXT, FIELD_NUMBER, FIELD_LONG, FIELD_REAL, FIELD_BOOL, FIELD_SET };

struct field {
    const char *name;
    enum field_type type;
    size_t offset;
    size_t size; /* of a text */
};

#define TEXT(name)                                                                                           \
    {                                                                                                        \
#name, FIELD_TEXT, offsetof(struct request, name), sizeof((struct request *)0)->name                 \
    }

static const struct field fields[] = {
    TEXT(ask),
    TEXT(view),
    TEXT(text),
    TEXT(measure),
    TEXT(modules),
    TEXT(region),
    TEXT(ranks),
    TEXT(other_ranks),
    {"recording", FIELD_NUMBER, offsetof(struct request, recording), 0},
    {"other", FIELD_NUMBER, offsetof(struct request, other), 0},
    {"code", FIELD_NUMBER, offsetof(struct request, code), 0},
    {"file", FIELD_NUMBER, offsetof(struct request, file), 0},
    {"counter", FIELD_NUMBER, offsetof(struct request, counter), 0},
    {"columns", FIELD_NUMBER, offsetof(struct request, columns), 0},
    {"limit", FIELD_NUMBER, offsetof(struct request, limit), 0},
    {"first", FIELD_NUMBER, offsetof(struct request, first), 0},
    {"from_ns", FIELD_LONG, offsetof(struct request, from_ns), 0},
    {"to_ns", FIELD_LONG, offsetof(struct request, to_ns), 0},
    {"node_share", FIELD_REAL, offsetof(struct request, node_share), 0},
    {"edge_share", FIELD_REAL, offsetof(struct request, edge_share), 0},
    {"by_self", FIELD_BOOL, offsetof(struct request, by_self), 0},
    {"falling", FIELD_BOOL, offsetof(struct request, falling), 0},
    {"fold", FIELD_BOOL, offsetof(struct request, fold), 0},
    {"by_name", FIELD_BOOL, offsetof(struct request, by_name), 0},
    {"threads", FIELD_BOOL, offsetof(struct request, threads), 0},
    {"own", FIELD_BOOL, offsetof(struct request, own), 0},
    {"marks", FIELD_SET, offsetof(struct request, marks), 0},
    {"process", FIELD_NUMBER, offsetof(struct request, selection.process), 0},
    {"thread", FIELD_NUMBER, offsetof(struct request, selection.thread), 0},
    {"idle", FIELD_BOOL, offsetof(struct request, selection.idle), 0},
    {"gil", FIELD_BOOL, offsetof(struct request, selection.gil), 0},
    {"lines", FIELD_BOOL, offsetof(struct request, selection.lines), 0},
    {"begin_ns", FIELD_LONG, offsetof(struct request, selection.begin_ns), 0},
    {"end_ns", FIELD_LONG, offsetof(struct request, selection.end_ns), 0},
};

static const struct field *find_field(const struct json_reader *reader)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (json_reader_is(reader, fields[i].name))
            return &fields[i];
    return NULL;
}

static void request_set_clear(struct request_set *set)
{
    free(set->bits);
    *set = (struct request_set){0};
}

void request_clear(struct request *request)
{
    request_set_clear(&request->marks);
}

static bool put_number(const struct field *field, double number, char *place)
{
    double largest = field->type == FIELD_LONG ? 0x1p63 : (double)UINT32_MAX;
    if (isnan(number) || number < 0 || number > largest)
        return false;
    uint32_t small = field->type == FIELD_NUMBER ? (uint32_t)number : 0;
    uint64_t large = field->type == FIELD_LONG ? (uint64_t)number : 0;
    if (field->type == FIELD_NUMBER)
        memcpy(place, &small, sizeof small);
    else if (field->type == FIELD_LONG)
        memcpy(place, &large, sizeof large);
    else
        memcpy(place, &number, sizeof number);
    return true;
}

static int hex_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool put_set(const char *digits, size_t count, struct request_set *set)
{
    request_set_clear(set);
    set->bits = count % 2 || count / 2 > UINT32_MAX ? NULL : malloc(count / 2 + 1);
    if (!set->bits)
        return false;
    for (size_t i = 0; i < count; i += 2) {
        int high = hex_value(digits[i]), low = hex_value(digits[i + 1]);
        if (high < 0 || low < 0)
            return false;
        set->bits[set->size_bytes++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* False when the value does not fit the field. */
static bool put_value(const struct field *field, enum json_token token, const struct json_reader *reader,
                      struct request *request)
{
    char *place = (char *)request + field->offset;
    switch (field->type) {
    case FIELD_TEXT:
        if (token != JSON_STRING || reader->text.size >= field->size)
            return false;
        if (reader->text.size)
            memcpy(place, reader->text.data, reader->text.size);
        place[reader->text.size] = 0;
        return true;
    case FIELD_SET:
        return token == JSON_STRING &&
               put_set((const char *)reader->text.data, reader->text.size, (struct request_set *)place);
    case FIELD_BOOL:
        *(bool *)place = token == JSON_TRUE;
        return token == JSON_TRUE || token == JSON_FALSE;
    default:
        return token == JSON_NUMBER && put_number(field, reader->number, place);
    }
}

static int read_fields(struct json_reader *reader, struct request *request, struct err *err)
{
    if (json_reader_next(reader) != JSON_OBJECT)
        return err_set(err, "a request is a JSON object");
    enum json_token token;
    while ((token = json_reader_next(reader)) == JSON_KEY) {
        const struct field *field = find_field(reader);
        token = json_reader_next(reader);
        if (field && !put_value(field, token, reader, request))
            return err_set(err, "the request's \"%s\" has a value that it cannot have", field->name);
        if (!json_reader_skip(reader))
            break;
    }
    return token == JSON_OBJECT_END ? 0 : err_set(err, "the request is not JSON");
}

int request_read(const char *json, size_t size, struct request *request, struct err *err)
{
    *request = (struct request){0};
    struct json_reader reader = {.at = json, .end = json + size};
    int result = read_fields(&reader, request, err);
    if (result == 0)
        result = measure_find(request->measure, &request->selection.measure, err);
    json_reader_clear(&reader);
    return result;
}
