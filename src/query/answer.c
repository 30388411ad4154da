#include "query/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define ALIGNMENT 8u

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

static void *put_array(struct answer *answer, const char *name, const char *type, size_t item_bytes,
                       size_t count)
{
    struct json *json = &answer->index_json;
    pad(&answer->arrays, 0);
    json_key(json, name);
    json_begin_array(json);
    json_string(json, type);
    json_unsigned(json, answer->arrays.size);
    json_unsigned(json, count);
    json_end_array(json);
    size_t size = count * item_bytes;
    if (!bytes_reserve(&answer->arrays, size + ALIGNMENT))
        return NULL;
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
    bytes_put_u32(out, ANSWER_MAGIC);
    bytes_put_u32(out, (uint32_t)head.size);
    bytes_put(out, head.data, head.size);
    bytes_put(out, answer->arrays.data, answer->arrays.size);
    bool failed =
        answer->values.failed || answer->index.failed || answer->arrays.failed || head.failed || out->failed;
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
    bytes_put_u32(out, ANSWER_MAGIC);
    bytes_put_u32(out, (uint32_t)head.size);
    bytes_put(out, head.data, head.size);
    bytes_clear(&head);
}
