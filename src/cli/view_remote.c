#include "cli/view_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/message.h"

static const char *const words[] = {
    [REMOTE_WAITING] = "waiting for a program at %s",
    [REMOTE_LOST] = "not connected to %s, trying again",
    [REMOTE_ENDED] = "the run at %s has ended; waiting for the next",
    [REMOTE_REFUSED] =
        "%s asks for a token: give sonde view the whole address that the recorder printed, or --token",
    [REMOTE_FOREIGN] = "what answers at %s is no sonde that serves a run",
    [REMOTE_UNKNOWN] = "no machine has the name in %s",
};

static void describe(struct view_remote *view, struct opened_recording *row)
{
    enum remote_state state = view->known.state;
    const char *format = words[state];
    row->is_live = state != REMOTE_ENDED;
    row->state[0] = '\0';
    if (format)
        snprintf(row->state, sizeof row->state, format, view->name);
}

static int set_token(struct view_remote *view, const char *token, struct err *err)
{
    if (!token && !view->address.token[0])
        token = getenv("SONDE_TOKEN");
    if (!token || !*token)
        return 0;
    if (!view_site_is_token(token))
        return err_set(err, "a token is 16 to 64 letters, digits, - or _");
    strcpy(view->address.token, token);
    return 0;
}

int view_remote_open(struct view_remote *view, struct view_site *site, const struct host_address *address,
                     const char *token, struct err *err)
{
    *view = (struct view_remote){.address = *address, .site = site};
    bool is_six = strchr(address->host, ':') != NULL;
    snprintf(view->name, sizeof view->name, "%s%s%s:%u", is_six ? "[" : "", address->host, is_six ? "]" : "",
             address->port);
    view->file.path = view->name;
    if (set_token(view, token, err) < 0 || opened_add_live(&site->files.opened, view->name, err) < 0 ||
        remote_open(&view->remote, &view->address, err) < 0)
        return -1;
    describe(view, &site->files.opened.rows[0]);
    message_note("%s", site->files.opened.rows[0].state);
    return 0;
}

void view_remote_close(struct view_remote *view)
{
    remote_close(&view->remote);
}

/* Whether the recording has become another one or has more than before. */
static bool take_in(struct view_remote *view, struct opened_recording *row, struct remote_news news)
{
    struct err err = {0};
    struct stat status;
    if (news.run != view->known.run) {
        view->file.size_bytes = 0;
        if (opened_begin_again(row, &err) < 0)
            message_warn("%s", err.text);
    }
    if (fstat(view->remote.file, &status) != 0 || status.st_size <= view->file.size_bytes)
        return news.run != view->known.run;
    if (view_files_catch_up(row, &view->file, view->remote.file, &err) < 0)
        message_detail("%s", err.text);
    return true;
}

void view_remote_look(void *context, struct server *server)
{
    struct view_remote *view = context;
    struct opened_recording *row = &view->site->files.opened.rows[0];
    struct remote_news news =
        remote_look(&view->remote); /* before the bytes: of an ended run they are all there */
    bool changed = take_in(view, row, news);
    bool is_other = news.state != view->known.state;
    view->known = news;
    describe(view, row);
    if (is_other && row->state[0])
        message_note("%s", row->state);
    if (changed || is_other)
        view_site_tell(server, 0, news.state == REMOTE_ENDED ? VIEW_ENDED : VIEW_GROWN);
}
