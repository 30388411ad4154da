#include "show/server_reply.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "query/opened.h"
#include "query/queries.h"

#define HOST_MAX 256

struct reply {
    int status;
    const char *type;
    const void *body;
    size_t size;
    bool keep_alive;
    bool head_only;
    bool streams;
    const char *extra; /* header lines */
};

static const char *reason(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 308:
        return "Permanent Redirect";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 413:
        return "Content Too Large";
    case 421:
        return "Misdirected Request";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    default:
        return "HTTP Version Not Supported";
    }
}

/* The policy of the page's own is also sent as a header, where it can forbid frames, too. */
void server_reply_prepare(struct server_site *site)
{
    static const char mark[] = "http-equiv=\"Content-Security-Policy\" content=\"";
    struct bytes *page = &site->page;
    site->policy[0] = '\0';
    const char *begin = page->size ? memmem(page->data, page->size, mark, strlen(mark)) : NULL;
    if (!begin)
        return;
    begin += strlen(mark);
    size_t left = page->size - (size_t)(begin - (const char *)page->data);
    const char *end = memchr(begin, '"', left);
    if (end && (size_t)(end - begin) < sizeof site->policy) {
        memcpy(site->policy, begin, (size_t)(end - begin));
        site->policy[end - begin] = '\0';
    }
}

static void put_reply(const struct server_site *site, const struct reply *reply, struct bytes *out)
{
    bytes_putf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", reply->status, reason(reply->status),
               reply->type);
    if (!reply->streams)
        bytes_putf(out, "Content-Length: %zu\r\n", reply->size);
    bytes_putf(out,
               "Content-Security-Policy: %s; frame-ancestors 'none'\r\n"
               "X-Content-Type-Options: nosniff\r\n"
               "X-Frame-Options: DENY\r\n"
               "Referrer-Policy: no-referrer\r\n"
               "Cross-Origin-Resource-Policy: same-origin\r\n"
               "Cross-Origin-Opener-Policy: same-origin\r\n"
               "Cache-Control: no-store\r\n"
               "%sConnection: %s\r\n\r\n",
               site->policy[0] ? site->policy : "default-src 'none'", reply->extra ? reply->extra : "",
               reply->keep_alive ? "keep-alive" : "close");
    if (!reply->head_only)
        bytes_put(out, reply->body, reply->size);
}

static void put_words(const struct server_site *site, int status, bool keep_alive, const char *extra,
                      const char *words, struct bytes *out)
{
    const struct reply reply = {.status = status,
                                .type = "text/plain; charset=utf-8",
                                .body = words,
                                .size = strlen(words),
                                .keep_alive = keep_alive,
                                .extra = extra};
    put_reply(site, &reply, out);
}

/* ---- who may ask ---- */

/* "localhost:8642" → "localhost"; false when it is no host. */
static bool host_name(struct server_text host, char name[HOST_MAX])
{
    size_t size = host.size;
    while (size && host.data[size - 1] >= '0' && host.data[size - 1] <= '9')
        size--;
    size = size && host.data[size - 1] == ':' ? size - 1 : host.size;
    if (!host.data || size == 0 || size >= HOST_MAX)
        return false;
    memcpy(name, host.data, size);
    name[size] = '\0';
    return strlen(name) == size;
}

static bool is_loopback(const char *name)
{
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 || strcmp(name, "[::1]") == 0;
}

/* A foreign name can be made to lead here, an address cannot. */
static bool is_address(const char *name)
{
    struct in6_addr place;
    char inner[HOST_MAX];
    size_t size = strlen(name);
    if (inet_pton(AF_INET, name, &place) == 1)
        return true;
    if (size < 3 || name[0] != '[' || name[size - 1] != ']')
        return false;
    memcpy(inner, name + 1, size - 2);
    inner[size - 2] = '\0';
    return inet_pton(AF_INET6, inner, &place) == 1;
}

static bool is_own_name(const char *name)
{
    char own[HOST_MAX] = "";
    if (gethostname(own, sizeof own - 1) != 0 || !own[0])
        return false;
    size_t size = strcspn(own, ".");
    return strcasecmp(name, own) == 0 || (strncasecmp(name, own, size) == 0 && strlen(name) == size);
}

/* Ports are not compared: a tunnel may begin at another. */
static bool is_our_host(const struct server_site *site, struct server_text host)
{
    char name[HOST_MAX];
    if (!host_name(host, name))
        return false;
    if (is_loopback(name))
        return true;
    return site->host && (strcasecmp(name, site->host) == 0 || is_address(name) || is_own_name(name));
}

/* Programs send neither of these; a browser says which page asks. */
static bool is_our_page(const struct server_request *request)
{
    static const char scheme[] = "http://";
    const struct server_text *origin = &request->origin;
    size_t before = strlen(scheme);
    if (request->fetch_site.data && !server_request_is(request->fetch_site, "same-origin") &&
        !server_request_is(request->fetch_site, "none"))
        return false;
    return !origin->data ||
           (origin->size == before + request->host.size && memcmp(origin->data, scheme, before) == 0 &&
            memcmp(origin->data + before, request->host.data, request->host.size) == 0);
}

/* In a time that does not tell how much of it was right. What is behind the token is left in `rest`. */
static bool has_token(const struct server_site *site, struct server_text path, struct server_text *rest)
{
    size_t size = strlen(site->token);
    if (path.size < size + 1)
        return false;
    unsigned char difference = 0;
    for (size_t i = 0; i < size; i++)
        difference |= (unsigned char)(path.data[i + 1] ^ site->token[i]);
    *rest = (struct server_text){path.data + size + 1, path.size - size - 1};
    return difference == 0 && (rest->size == 0 || rest->data[0] == '/');
}

/* ---- what is answered ---- */

struct place {
    const char *path, *method;
    enum server_next (*answer)(struct server_site *, const struct server_request *, struct bytes *);
};

static enum server_next next(const struct server_request *request)
{
    return request->keep_alive ? SERVER_KEEP : SERVER_CLOSE;
}

static enum server_next give_page(struct server_site *site, const struct server_request *request,
                                  struct bytes *out)
{
    const struct reply reply = {.status = 200,
                                .type = "text/html; charset=utf-8",
                                .body = site->page.data,
                                .size = site->page.size,
                                .keep_alive = request->keep_alive,
                                .head_only = server_request_is(request->method, "HEAD")};
    put_reply(site, &reply, out);
    return next(request);
}

static enum server_next give_answer(struct server_site *site, const struct server_request *request,
                                    struct bytes *out)
{
    struct bytes answer = {0};
    if (site->refresh)
        site->refresh(site->context);
    queries_ask(site->opened, request->body.data, request->body.size, &answer);
    const struct reply reply = {.status = 200,
                                .type = "application/octet-stream",
                                .body = answer.data,
                                .size = answer.size,
                                .keep_alive = request->keep_alive};
    put_reply(site, &reply, out);
    bytes_clear(&answer);
    return next(request);
}

static enum server_next give_events(struct server_site *site, const struct server_request *request,
                                    struct bytes *out)
{
    (void)request;
    static const char patience[] =
        "retry: 500\n\n"; /* milliseconds until a page that was cut off comes back */
    const struct reply reply = {.status = 200,
                                .type = "text/event-stream",
                                .body = patience,
                                .size = strlen(patience),
                                .streams = true,
                                .keep_alive = true};
    put_reply(site, &reply, out);
    return SERVER_STREAM;
}

static enum server_next refuse(struct server_site *site, const struct server_request *request, int status,
                               const char *words, struct bytes *out)
{
    put_words(site, status, request->keep_alive, NULL, words, out);
    return next(request);
}

/* "…?from=123"; 0 when it is not said. */
static uint64_t offset_of(struct server_text path)
{
    static const char mark[] = "?from=";
    const char *at = memmem(path.data, path.size, mark, strlen(mark));
    uint64_t offset = 0;
    for (at = at ? at + strlen(mark) : NULL; at && at < path.data + path.size; at++) {
        if (*at < '0' || *at > '9')
            return 0;
        offset = offset > UINT64_MAX / 100 ? UINT64_MAX : offset * 10 + (uint64_t)(*at - '0');
    }
    return offset;
}

static enum server_next give_piece(struct server_site *site, const struct server_request *request,
                                   struct bytes *out)
{
    struct server_piece piece = {0};
    struct bytes extra = {0};
    if (!site->piece || site->piece(site->context, offset_of(request->path), &piece) < 0) {
        bytes_clear(&piece.data);
        return refuse(site, request, 404, "there is nothing here\n", out);
    }
    bytes_putf(&extra, "X-Sonde-Run: %s\r\nX-Sonde-Size: %" PRIu64 "\r\nX-Sonde-Live: %d\r\n", piece.run,
               piece.size, piece.is_live);
    bytes_put_u8(&extra, 0);
    const struct reply reply = {.status = 200,
                                .type = "application/octet-stream",
                                .body = piece.data.data,
                                .size = piece.data.size,
                                .keep_alive = request->keep_alive,
                                .extra = extra.failed ? NULL : (char *)extra.data};
    put_reply(site, &reply, out);
    bytes_clear(&extra);
    bytes_clear(&piece.data);
    return next(request);
}

static const struct place places[] = {
    {"/", "GET", give_page},         {"/", "HEAD", give_page},          {"/ask", "POST", give_answer},
    {"/events", "GET", give_events}, {"/recording", "GET", give_piece},
};

static enum server_next answer_at(struct server_site *site, const struct server_request *request,
                                  struct server_text path, struct bytes *out)
{
    const char *allowed = NULL;
    const char *query = memchr(path.data, '?', path.size);
    if (query)
        path.size = (size_t)(query - path.data);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!server_request_is(path, places[i].path))
            continue;
        if (server_request_is(request->method, places[i].method))
            return places[i].answer(site, request, out);
        allowed = strcmp(places[i].path, "/ask") == 0 ? "Allow: POST\r\n" : "Allow: GET\r\n";
    }
    if (!allowed)
        return refuse(site, request, 404, "there is nothing here\n", out);
    put_words(site, 405, request->keep_alive, allowed, "not that way\n", out);
    return next(request);
}

/* The page asks relative to its own address, which must end as a folder does. */
static enum server_next redirect(struct server_site *site, const struct server_request *request,
                                 struct bytes *out)
{
    struct bytes extra = {0};
    bytes_putf(&extra, "Location: /%s/\r\n", site->token);
    bytes_put_u8(&extra, 0);
    put_words(site, 308, request->keep_alive, extra.failed ? NULL : (char *)extra.data, "", out);
    bytes_clear(&extra);
    return next(request);
}

enum server_next server_reply_make(struct server_site *site, const struct server_request *request,
                                   struct bytes *out)
{
    struct server_text rest;
    if (!is_our_host(site, request->host))
        return refuse(site, request, 421, "this server answers to the address that sonde printed\n", out);
    if (!has_token(site, request->path, &rest)) {
        if (!request->is_own_user)
            return refuse(site, request, 403, "the address that sonde printed has a token in it\n", out);
        rest = request->path;
    }
    if (!is_our_page(request))
        return refuse(site, request, 403, "other pages may not ask\n", out);
    if (rest.size)
        return answer_at(site, request, rest, out);
    return redirect(site, request, out);
}

void server_reply_refuse(struct server_site *site, int status, struct bytes *out)
{
    put_words(site, status, false, NULL, "sonde cannot answer this\n", out);
}
