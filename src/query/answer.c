#include "query/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define ALIGNMENT 8u
#define HEAD_ROOM 4096u /* with the 8 bytes before it */

void answer_begin(struct answer *answer)
{
    answer_clear(answer);
    answer->json = (struct json){.out = &answer->values};
    answer->index_json = (struct json){.out = &answer->index};
    json_begin_object(&answer->json);
    json_begin_object(&answer->index_json);
}

static void pad(struct bytes *bytes, char with)
{
    while (!bytes->failed && bytes->size % ALIGNMENT)
        bytes_put_u8(bytes, (uint8_t)with);
}

bool answer_reserve(struct answer *answer, size_t size_bytes)
{
    struct bytes *arrays = &answer->arrays;
    size_t room = arrays->size ? 0 : HEAD_ROOM;
    if (!bytes_reserve(arrays, room + size_bytes + ALIGNMENT))
        return false;
    arrays->size += room;
    return true;
}

static void *put_array(struct answer *answer, const char *name, const char *type, size_t item_bytes,
                       size_t count)
{
    struct json *json = &answer->index_json;
    size_t size = count * item_bytes;
    if (!answer_reserve(answer, size + ALIGNMENT))
        return NULL;
    pad(&answer->arrays, 0);
    json_key(json, name);
    json_begin_array(json);
    json_string(json, type);
    json_unsigned(json, answer->arrays.size - HEAD_ROOM);
    json_unsigned(json, count);
    json_end_array(json);
    void *place = answer->arrays.data + answer->arrays.size;
    memset(place, 0, size);
    answer->arrays.size += size;
    return place;
}

double *answer_reals(struct answer *answer, const char *name, size_t count)
{
    return put_array(answer, name, "f64", sizeof(double), count);
}

uint32_t *answer_numbers(struct answer *answer, const char *name, size_t count)
{
    return put_array(answer, name, "u32", sizeof(uint32_t), count);
}

uint8_t *answer_small(struct answer *answer, const char *name, size_t count)
{
    return put_array(answer, name, "u8", 1, count);
}

void answer_texts(struct answer *answer, const char *name, const struct bytes *text, const uint32_t *ends,
                  size_t count)
{
    char name_at[64];
    snprintf(name_at, sizeof name_at, "%s_at", name);
    uint8_t *bytes = answer_small(answer, name, text->size);
    if (bytes && text->size)
        memcpy(bytes, text->data, text->size);
    uint32_t *at = answer_numbers(answer, name_at, count + 1);
    if (at && count)
        memcpy(at + 1, ends, count * sizeof *ends);
}

void answer_put_share(struct answer *answer, const char *key, double part, double whole)
{
    json_key(&answer->json, key);
    if (whole > 0)
        json_real(&answer->json, part / whole);
    else
        json_null(&answer->json);
}

static void put_prefix(struct bytes *out, size_t head_size)
{
    bytes_put_u32(out, ANSWER_MAGIC);
    bytes_put_u32(out, (uint32_t)head_size);
}

/* The head goes into the room before the arrays, and spaces between them. */
static void take_arrays(struct answer *answer, const struct bytes *head, struct bytes *out)
{
    size_t size = answer->arrays.size;
    bytes_clear(out);
    *out = answer->arrays;
    answer->arrays = (struct bytes){0};
    out->size = 0;
    put_prefix(out, HEAD_ROOM - 8);
    bytes_put(out, head->data, head->size);
    memset(out->data + out->size, ' ', HEAD_ROOM - out->size);
    out->size = size;
}

static void put_copy(const struct answer *answer, const struct bytes *head, struct bytes *out)
{
    put_prefix(out, head->size);
    bytes_put(out, head->data, head->size);
    if (answer->arrays.size)
        bytes_put(out, answer->arrays.data + HEAD_ROOM, answer->arrays.size - HEAD_ROOM);
}

/* Offsets in the index count from the first array; the page adds where that lies, which is known from the head's
 * size. */
int answer_end(struct answer *answer, struct bytes *out, struct err *err)
{
    json_end_object(&answer->json);
    json_end_object(&answer->index_json);
    struct bytes head = {0};
    bytes_put_text(&head, "{\"values\":");
    bytes_put(&head, answer->values.data, answer->values.size);
    bytes_put_text(&head, ",\"arrays\":");
    bytes_put(&head, answer->index.data, answer->index.size);
    bytes_put_text(&head, "}");
    pad(&head, ' ');
    bool failed = answer->values.failed || answer->index.failed || answer->arrays.failed || head.failed;
    if (!failed && !out->size && answer->arrays.size && head.size + 8 <= HEAD_ROOM)
        take_arrays(answer, &head, out);
    else if (!failed)
        put_copy(answer, &head, out);
    failed |= out->failed;
    bytes_clear(&head);
    return failed ? err_set(err, "not enough memory for the answer") : 0;
}

void answer_clear(struct answer *answer)
{
    bytes_clear(&answer->values);
    bytes_clear(&answer->index);
    bytes_clear(&answer->arrays);
    *answer = (struct answer){0};
}

void answer_put_error(const char *text, struct bytes *out)
{
    struct bytes head = {0};
    struct json json = {.out = &head};
    json_begin_object(&json);
    json_key(&json, "error");
    json_string(&json, text);
    json_end_object(&json);
    pad(&head, ' ');
    put_prefix(out, head.size);
    bytes_put(out, head.data, head.size);
    bytes_clear(&head);
}
