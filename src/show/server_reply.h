/*
 * server_reply: a request → what is sent back: the rules of the page's server, apart from sockets and clocks.
 *
 * Whoever has the token in the path may look at the recordings that are open, and nobody else: a request must name
 * this machine as its host (else a foreign page whose name was pointed here could ask), and a page that asks must be
 * our own. Where the site lets its own user in, a process of that user's needs no token. Nothing in a request names a file.
 */
#ifndef SONDE_SHOW_SERVER_REPLY_H
#define SONDE_SHOW_SERVER_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "show/server_request.h"

struct opened;

#define SERVER_REPLY_POLICY_MAX 1024

/* A part of the recording's own bytes. */
struct server_piece {
    struct bytes data; /* from the offset on that was asked for */
    uint64_t size;     /* of all there is */
    const char *run;   /* which run it is of: visible characters */
    bool is_live;      /* more will come */
};

struct server_site {
    const char *token; /* the first part of every path */
    const char
        *host; /* a name or address beyond this machine that the server listens at; NULL = loopback only */
    struct bytes page;                    /* owned by the caller, as all here */
    struct opened *opened;                /* what may be asked about */
    char policy[SERVER_REPLY_POLICY_MAX]; /* of the page, for a header; filled by server_reply_prepare */
    /* Before a question is answered: time to see whether there is more. */
    void (*refresh)(void *context);
    /* For those who want to have all of it. Both may be NULL. */
    int (*piece)(void *context, uint64_t from, struct server_piece *piece);
    void *context;
};

/* What to do with the connection once the reply is sent. */
enum server_next { SERVER_CLOSE, SERVER_KEEP, SERVER_STREAM };

/* Finds the page's content security policy. */
void server_reply_prepare(struct server_site *site);
enum server_next server_reply_make(struct server_site *site, const struct server_request *request,
                                   struct bytes *out);
/* A reply to what was no request, or one too many; the connection is to be closed. */
void server_reply_refuse(struct server_site *site, int status, struct bytes *out);

#endif
