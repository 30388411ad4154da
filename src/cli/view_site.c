#include "cli/view_site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/message.h"
#include "export/page_writer.h"
#include "export/stream.h"
#include "show/server.h"

#define RANDOM_BYTES 16
#define TOKEN_MIN    16
#define REST         10 /* times as long as catching up took, before it is done again */

bool view_site_is_token(const char *text)
{
    size_t size = strlen(text);
    return size >= TOKEN_MIN && size < VIEW_SITE_TOKEN_SIZE &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == size;
}

static int make_token(char *token, bool shared, struct err *err)
{
    uint8_t random[RANDOM_BYTES];
    const char *given = shared ? getenv("SONDE_TOKEN") : NULL;
    if (given && *given) {
        if (!view_site_is_token(given))
            return err_set(err, "SONDE_TOKEN must be 16 to 64 letters, digits, - or _");
        strcpy(token, given);
        return 0;
    }
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_set_errno(err, "no random numbers for the page's address");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

bool view_site_is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

void view_site_url(const char *host, uint16_t port, char url[VIEW_SITE_URL_MAX])
{
    bool is_six = strchr(host, ':') != NULL;
    snprintf(url, VIEW_SITE_URL_MAX, "http://%s%.255s%s:%u/", is_six ? "[" : "", host, is_six ? "]" : "",
             port);
}

int view_site_open(struct view_site *site, const char *host, bool shared, struct err *err)
{
    struct stream stream = {0};
    if (make_token(site->token, shared, err) < 0 || page_writer_write_served(&stream, err) < 0) {
        stream_clear(&stream);
        return -1;
    }
    site->site = (struct server_site){.token = site->token,
                                      .host = view_site_is_loopback(host) ? NULL : host,
                                      .page = stream.out,
                                      .opened = &site->files.opened};
    server_reply_prepare(&site->site);
    return 0;
}

void view_site_close(struct view_site *site)
{
    bytes_clear(&site->site.page);
    view_files_close(&site->files);
}

void view_site_tell(struct server *server, uint32_t number, enum view_change change)
{
    char data[64];
    snprintf(data, sizeof data, "{\"recording\":%u,\"live\":%s}", number,
             change == VIEW_ENDED ? "false" : "true");
    server_tell(server, change == VIEW_ENDED ? "ended" : "grown", data);
}

void view_site_look(struct view_site *site, struct server *server, bool now)
{
    uint64_t begin_ns = clock_monotonic_ns();
    if (begin_ns < site->rest_until_ns && !now)
        return;
    for (uint32_t i = 0; i < site->files.opened.count; i++) {
        struct err err = {0};
        enum view_change change = view_files_look(&site->files, i, &err);
        if (change == VIEW_FAILED)
            message_detail("%s", err.text);
        else if (change != VIEW_SAME)
            view_site_tell(server, i, change);
        if (change == VIEW_ENDED)
            message_note("%s: the recording has ended", site->files.files[i].path);
    }
    uint64_t end_ns = clock_monotonic_ns();
    site->rest_until_ns = end_ns + REST * (end_ns - begin_ns);
}
