/*
 * server_request: the bytes of an HTTP/1.x request → its parts. They come from whoever can reach the port: sizes are
 * limited, and what is not plainly right is refused. Texts point into the bytes.
 */
#ifndef SONDE_SHOW_SERVER_REQUEST_H
#define SONDE_SHOW_SERVER_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#define SERVER_REQUEST_HEAD_MAX ((size_t)16 << 10)
#define SERVER_REQUEST_BODY_MAX ((size_t)64 << 10)

struct server_text {
    const char *data; /* NULL = it was not there */
    size_t size;
};

struct server_request {
    struct server_text method, path; /* the path as it came: nothing is decoded */
    struct server_text host, origin, fetch_site;
    struct server_text body;
    bool keep_alive;
    bool is_own_user;  /* a process of our own user asks: said by whoever has the connection */
    size_t size_bytes; /* of all of it */
};

#define SERVER_REQUEST_PART  0 /* more bytes are needed */
#define SERVER_REQUEST_WHOLE 1

/* One of the above, or the HTTP status (400 and up) that tells what is wrong: then there is no going on. */
int server_request_read(const char *data, size_t size, struct server_request *request);

bool server_request_is(struct server_text text, const char *word);

#endif
