#include "show/server_request.h"

#include <string.h>
#include <strings.h>

#define METHOD_MAX 16
#define END        "\r\n\r\n"

/* What is left of the head. */
struct head {
    const char *at, *end;
};

bool server_request_is(struct server_text text, const char *word)
{
    return text.size == strlen(word) && text.data && memcmp(text.data, word, text.size) == 0;
}

static bool is_named(struct server_text name, const char *word)
{
    return name.size == strlen(word) && strncasecmp(name.data, word, name.size) == 0;
}

/* Up to the mark, which is passed over; without data when there is none. */
static struct server_text take_until(struct head *head, const char *mark)
{
    const char *found = memmem(head->at, (size_t)(head->end - head->at), mark, strlen(mark));
    if (!found)
        return (struct server_text){0};
    struct server_text text = {head->at, (size_t)(found - head->at)};
    head->at = found + strlen(mark);
    return text;
}

static bool is_visible(struct server_text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return text.size > 0;
}

static int read_first_line(struct head *head, struct server_request *request)
{
    struct server_text line = take_until(head, "\r\n");
    struct head words = {line.data, line.data + line.size};
    request->method = take_until(&words, " ");
    request->path = take_until(&words, " ");
    struct server_text version = {words.at, (size_t)(words.end - words.at)};
    if (!request->path.data || !is_visible(request->method) || request->method.size > METHOD_MAX ||
        !is_visible(request->path) || request->path.data[0] != '/')
        return 400;
    request->keep_alive = server_request_is(version, "HTTP/1.1");
    if (request->keep_alive || server_request_is(version, "HTTP/1.0"))
        return 0;
    return version.size > 5 && memcmp(version.data, "HTTP/", 5) == 0 ? 505 : 400;
}

static struct server_text trimmed(struct server_text text)
{
    while (text.size && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Said twice it is not clear what is meant, and others on the way may have understood it otherwise. */
static int set_once(struct server_text *field, struct server_text value)
{
    if (field->data)
        return 400;
    *field = value;
    return 0;
}

static int set_body_size(struct server_request *request, struct server_text digits)
{
    size_t size = 0;
    if (request->body.data || digits.size == 0)
        return 400;
    for (size_t i = 0; i < digits.size; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return 400;
        size = size > SERVER_REQUEST_BODY_MAX ? size : size * 10 + (size_t)(digits.data[i] - '0');
    }
    request->body = (struct server_text){digits.data, size};
    return size > SERVER_REQUEST_BODY_MAX ? 413 : 0;
}

static int read_field(struct server_text name, struct server_text value, struct server_request *request)
{
    if (is_named(name, "host"))
        return set_once(&request->host, value);
    if (is_named(name, "origin"))
        return set_once(&request->origin, value);
    if (is_named(name, "sec-fetch-site"))
        return set_once(&request->fetch_site, value);
    if (is_named(name, "content-length"))
        return set_body_size(request, value);
    if (is_named(name, "transfer-encoding"))
        return 501;
    if (is_named(name, "connection") && is_named(value, "close"))
        request->keep_alive = false;
    return 0;
}

static bool has_control(struct server_text text)
{
    for (size_t i = 0; i < text.size; i++)
        if (((unsigned char)text.data[i] < ' ' && text.data[i] != '\t') || text.data[i] == 127)
            return true;
    return false;
}

static int read_fields(struct head *head, struct server_request *request)
{
    int status = 0;
    while (head->at < head->end && !status) {
        struct server_text line = take_until(head, "\r\n");
        struct head parts = {line.data, line.data + line.size};
        struct server_text name = take_until(&parts, ":");
        struct server_text value = trimmed((struct server_text){parts.at, (size_t)(parts.end - parts.at)});
        if (!name.data || !is_visible(name) || has_control(value))
            return 400;
        status = read_field(name, value, request);
    }
    return status;
}

int server_request_read(const char *data, size_t size, struct server_request *request)
{
    *request = (struct server_request){0};
    size_t looked_at = size < SERVER_REQUEST_HEAD_MAX ? size : SERVER_REQUEST_HEAD_MAX;
    const char *end = size ? memmem(data, looked_at, END, strlen(END)) : NULL;
    if (!end)
        return size >= SERVER_REQUEST_HEAD_MAX ? 431 : SERVER_REQUEST_PART;
    struct head head = {data, end + 2};
    int status = read_first_line(&head, request);
    if (!status)
        status = read_fields(&head, request);
    if (status)
        return status;
    request->body.data = end + strlen(END);
    request->size_bytes = (size_t)(request->body.data - data) + request->body.size;
    return request->size_bytes <= size ? SERVER_REQUEST_WHOLE : SERVER_REQUEST_PART;
}
