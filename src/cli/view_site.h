/*
 * view_site: recordings as a site that a server serves: the page, the token that guards it, the files behind it, and
 * whom to tell when they grow.
 *
 * A zeroed struct is empty. It owns all of it; the server is the caller's, and must not outlive it.
 */
#ifndef SONDE_CLI_VIEW_SITE_H
#define SONDE_CLI_VIEW_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/view_files.h"
#include "show/server_reply.h"

struct err;
struct server;

#define VIEW_SITE_TOKEN_SIZE 65

struct view_site {
    struct view_files files;
    struct server_site site;
    char token[VIEW_SITE_TOKEN_SIZE];
    uint64_t rest_until_ns;
};

/* Makes the page and the token: the one of SONDE_TOKEN when it is to be `shared`, else random. `host` is where it will be
 * served. */
int view_site_open(struct view_site *site, const char *host, bool shared, struct err *err);
void view_site_close(struct view_site *site);

bool view_site_is_loopback(const char *host);
/* "http://HOST:PORT/"; the token is not in it. */
#define VIEW_SITE_URL_MAX 320
void view_site_url(const char *host, uint16_t port, char url[VIEW_SITE_URL_MAX]);

/* Reads what is new in the files and tells the pages. What takes long is done seldom, unless it must be `now`. */
void view_site_look(struct view_site *site, struct server *server, bool now);
void view_site_tell(struct server *server, uint32_t number, enum view_change change);

/* Whether the text can be a token: 16 to 64 letters, digits, - and _. */
bool view_site_is_token(const char *text);

#endif
