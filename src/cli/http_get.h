/*
 * http_get: asks a sonde that serves a run for a part of it, one connection for each question. Blocks, with limits of time
 * and size: what answers may be anything.
 */
#ifndef SONDE_CLI_HTTP_GET_H
#define SONDE_CLI_HTTP_GET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct err;

#define HTTP_GET_RUN_SIZE 64

struct http_get_place {
    const char *number; /* the address */
    const char *host;   /* as it was named */
    uint16_t port;
};

struct http_get_head {
    int status;
    size_t body_bytes;
    /* What sonde says of the run that it serves. */
    char run[HTTP_GET_RUN_SIZE]; /* "" = it is no sonde */
    uint64_t size_bytes;
    bool is_live;
};

/* A connection on which the head of the reply has come, or -1; `in` gets what came behind it. */
int http_get_begin(const struct http_get_place *place, const char *path, struct http_get_head *head,
                   struct bytes *in, struct err *err);
/* The rest of the body, behind what `in` has. */
int http_get_body(int fd, const struct http_get_head *head, struct bytes *in, struct err *err);

/* For http_get_begin: the head in the first bytes of a reply. Its size, 0 while it is not all there, -1 when it is none. */
int http_get_read_head(const char *text, size_t size, struct http_get_head *head);

#endif
