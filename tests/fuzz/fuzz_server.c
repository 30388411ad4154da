/*
 * The page's server on any bytes: a request in pieces is the same request, its parts lie inside it, every reply has a
 * status and says its size, and without the token there is neither page nor answer.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/opened.h"
#include "show/server_reply.h"
#include "show/server_request.h"

#define TOKEN "0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct opened opened;

static void require(bool fact)
{
    if (!fact)
        abort();
}

static void check_inside(struct server_text text, const char *data, size_t size)
{
    require(!text.data || (text.data >= data && text.data + text.size <= data + size));
}

static void check_reply(struct server_site *site, const struct server_request *request)
{
    struct bytes out = {0};
    int status = 0;
    enum server_next next = server_reply_make(site, request, &out);
    bytes_put_u8(&out, 0);
    require(!out.failed && sscanf((char *)out.data, "HTTP/1.1 %d ", &status) == 1);
    require(strstr((char *)out.data, "\r\n\r\n") && strstr((char *)out.data, "nosniff"));
    require(next == SERVER_STREAM || strstr((char *)out.data, "\r\nContent-Length: "));
    bool has_token =
        request->path.size > strlen(TOKEN) && memcmp(request->path.data, "/" TOKEN, strlen("/" TOKEN)) == 0;
    require(status != 200 || (has_token && request->host.data));
    bytes_clear(&out);
}

/* However much of it has come: the same, or not yet all. */
static void check_pieces(const char *text, size_t size, int state)
{
    struct server_request request;
    for (size_t part = size / 2; part < size; part += 1 + size / 8) {
        int early = server_request_read(text, part, &request);
        require(early == SERVER_REQUEST_PART || early == state);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct server_request request;
    const char *text = (const char *)data;
    struct server_site site = {.token = TOKEN, .host = size % 2 ? "0.0.0.0" : NULL, .opened = &opened};
    if (opened.count == 0)
        require(opened_add(&opened, "x", "main;work 5\n", 12, NULL) == 0);
    int state = server_request_read(text, size, &request);
    require(state == SERVER_REQUEST_PART || state == SERVER_REQUEST_WHOLE || (state >= 400 && state < 600));
    if (state == SERVER_REQUEST_WHOLE) {
        require(request.size_bytes <= size && request.body.size <= SERVER_REQUEST_BODY_MAX);
        check_inside(request.method, text, size);
        check_inside(request.path, text, size);
        check_inside(request.host, text, size);
        check_inside(request.origin, text, size);
        check_inside(request.body, text, size);
        check_reply(&site, &request);
    }
    check_pieces(text, size, state);
    return 0;
}
