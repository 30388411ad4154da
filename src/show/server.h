/*
 * server: serves the page and answers its questions over HTTP, in one thread: sockets, time limits, and nothing else;
 * what is answered is said in show/server_reply.
 *
 * Why not a library: the one at hand brings TLS, which cannot be linked statically, for a port that only this machine
 * reaches; and what it does besides (limits, slow clients, events) had to be said here anyway.
 *
 * A connection holds one request and one reply at a time, so memory is bounded by their number. The server owns its
 * sockets; the site is the caller's and must outlive it.
 */
#ifndef SONDE_SHOW_SERVER_H
#define SONDE_SHOW_SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct server;
struct server_site;

#define SERVER_PORTS_TRIED 100

struct server_options {
    struct server_site *site;
    const char *host; /* an address or a name of this machine */
    uint16_t port;
    bool other_ports;   /* when it is taken, those after it are tried */
    bool own_user;      /* processes of our own user on this machine need no token */
    bool deaf;          /* signals do not end it: whoever started it does */
    uint64_t period_ns; /* of `look`; 0 = never */
    int wake;           /* an eventfd that calls for `look` at once; 0 = none */
    void (*look)(void *context, struct server *server);
    void *context; /* for it */
};

/* From here on SIGINT, SIGTERM and SIGHUP wait for server_run, which they end, unless it is deaf. */
struct server *server_open(const struct server_options *options, struct err *err);
uint16_t server_port(const struct server *server);
/* Sends an event to every page that listens. `data` is one line. */
void server_tell(struct server *server, const char *event, const char *data);
/* How many pages listen. */
uint32_t server_listeners(const struct server *server);
/* Ends server_run, from `look`. */
void server_end(struct server *server);
/* Serves until such a signal, or server_end. */
int server_run(struct server *server, struct err *err);
void server_close(struct server *server);

#endif
