#include "cli/http_get.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"

#define HEAD_BYTES_MAX ((size_t)16 << 10)
#define BODY_BYTES_MAX ((size_t)16 << 20)
#define PATIENCE_S     10 /* for the other side to do anything */
#define END            "\r\n\r\n"

/* ---- the head ---- */

/* "Name: VALUE" of a line; NULL when it has another name. */
static const char *value_of(const char *line, const char *name)
{
    size_t size = strlen(name);
    if (strncasecmp(line, name, size) != 0 || line[size] != ':')
        return NULL;
    line += size + 1;
    return line + strspn(line, " \t");
}

static void read_line(const char *line, struct http_get_head *head)
{
    const char *value;
    if ((value = value_of(line, "Content-Length")))
        head->body_bytes = strtoull(value, NULL, 10);
    else if ((value = value_of(line, "X-Sonde-Size")))
        head->size_bytes = strtoull(value, NULL, 10);
    else if ((value = value_of(line, "X-Sonde-Live")))
        head->is_live = *value == '1';
    else if ((value = value_of(line, "X-Sonde-Run")))
        snprintf(head->run, sizeof head->run, "%.*s", (int)strcspn(value, "\r\n"), value);
}

int http_get_read_head(const char *text, size_t size, struct http_get_head *head)
{
    char copy[HEAD_BYTES_MAX + 1];
    *head = (struct http_get_head){0};
    const char *end = memmem(text, size, END, strlen(END));
    if (!end)
        return size > HEAD_BYTES_MAX ? -1 : 0;
    size_t head_bytes = (size_t)(end - text) + strlen(END);
    if (head_bytes > HEAD_BYTES_MAX)
        return -1;
    memcpy(copy, text, head_bytes);
    copy[head_bytes] = '\0';
    if (strlen(copy) != head_bytes || sscanf(copy, "HTTP/1.%*1[01] %3d ", &head->status) != 1)
        return -1;
    for (const char *line = strchr(copy, '\n'); line; line = strchr(line, '\n'))
        read_line(++line, head);
    return head->body_bytes <= BODY_BYTES_MAX ? (int)head_bytes : -1;
}

/* ---- the connection ---- */

static int connect_to(const struct http_get_place *place)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(place->port)};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(place->port)};
    bool is_six = inet_pton(AF_INET6, place->number, &six.sin6_addr) == 1;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    if (!is_six && inet_pton(AF_INET, place->number, &four.sin_addr) != 1)
        return -1;
    int fd = socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const struct sockaddr *address = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    if (connect(fd, address, is_six ? sizeof six : sizeof four) == 0)
        return fd;
    close(fd);
    return -1;
}

static int ask(int fd, const struct http_get_place *place, const char *path, struct err *err)
{
    struct bytes request = {0};
    bool is_six = strchr(place->host, ':') != NULL;
    bytes_putf(&request, "GET %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nConnection: close\r\n\r\n", path,
               is_six ? "[" : "", place->host, is_six ? "]" : "", place->port);
    bool sent =
        !request.failed && send(fd, request.data, request.size, MSG_NOSIGNAL) == (ssize_t)request.size;
    bytes_clear(&request);
    return sent ? 0 : err_set(err, "%s took no request", place->host);
}

static int take_more(int fd, struct bytes *in, struct err *err)
{
    char piece[65536];
    ssize_t got = recv(fd, piece, sizeof piece, 0);
    if (got < 0 && errno == EINTR)
        return 0;
    if (got <= 0)
        return err_set(err, "the connection was cut off");
    bytes_put(in, piece, (size_t)got);
    return in->failed ? err_set(err, "out of memory") : 0;
}

static int take_head(int fd, struct http_get_head *head, struct bytes *in, struct err *err)
{
    int size = 0;
    while (size == 0) {
        if (take_more(fd, in, err) < 0)
            return -1;
        size = http_get_read_head((char *)in->data, in->size, head);
    }
    if (size < 0)
        return err_set(err, "what answers does not speak HTTP");
    in->size -= (size_t)size;
    memmove(in->data, in->data + size, in->size);
    return 0;
}

int http_get_begin(const struct http_get_place *place, const char *path, struct http_get_head *head,
                   struct bytes *in, struct err *err)
{
    *head = (struct http_get_head){0};
    bytes_reset(in);
    int fd = connect_to(place);
    if (fd < 0)
        return err_set_errno(err, "nobody is at %s, port %u", place->host, place->port);
    if (ask(fd, place, path, err) == 0 && take_head(fd, head, in, err) == 0)
        return fd;
    close(fd);
    return -1;
}

int http_get_body(int fd, const struct http_get_head *head, struct bytes *in, struct err *err)
{
    while (in->size < head->body_bytes)
        if (take_more(fd, in, err) < 0)
            return -1;
    return in->size == head->body_bytes ? 0 : err_set(err, "more came than was announced");
}
