/*
 * view_remote: a run that is recorded elsewhere as the one recording of a page: what `sonde view HOST:PORT` shows.
 *
 * A zeroed struct is empty; it owns the copy. The site is the caller's.
 */
#ifndef SONDE_CLI_VIEW_REMOTE_H
#define SONDE_CLI_VIEW_REMOTE_H

#include "cli/remote.h"
#include "cli/view_site.h"

struct view_remote {
    struct host_address address;
    char name[300]; /* for people */
    struct remote remote;
    struct remote_news known;
    struct view_file file; /* how much of the copy was read */
    struct view_site *site;
};

/* Begins to wait for it; the site then has one recording, which is empty. `token` may be NULL. */
int view_remote_open(struct view_remote *view, struct view_site *site, const struct host_address *address,
                     const char *token, struct err *err);
void view_remote_close(struct view_remote *view);
/* For server_options.look: takes in what is new. The context is the struct. */
void view_remote_look(void *context, struct server *server);

#endif
