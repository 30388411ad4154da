/* sonde view: recordings in a browser. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/page_file.h"
#include "cli/run_sums.h"
#include "cli/view_remote.h"
#include "cli/view_site.h"
#include "show/server.h"

#define PORT    8642
#define LOOK_NS 500000000u

struct values {
    const char *output, *host, *token;
    int64_t port;
    bool browser;
};

static const struct values defaults = {.host = "127.0.0.1", .port = -1, .browser = true};

/* All that lives as long as the page is served. */
struct viewing {
    const struct values *values;
    struct view_site site;
    struct view_remote remote; /* of a run that is recorded elsewhere */
};

static void look(void *context, struct server *server)
{
    struct viewing *viewing = context;
    view_site_look(&viewing->site, server, false);
}

/* ---- starting ---- */

/* Beside us, and silent: a browser that cannot start must not matter. */
static void open_browser(const char *url)
{
    extern char **environ;
    if (!getenv("DISPLAY") && !getenv("WAYLAND_DISPLAY"))
        return;
    char *const argv[] = {"xdg-open", (char *)url, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd <= 2; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
}

static void announce(const struct values *values, const char *token, uint16_t port)
{
    char url[VIEW_SITE_URL_MAX + VIEW_SITE_TOKEN_SIZE + 1], host[64] = "localhost";
    view_site_url(values->host, port, url);
    strcat(strcat(url, token), "/");
    printf("%s\n", url);
    fflush(stdout);
    if (!view_site_is_loopback(values->host))
        message_warn(
            "everybody who can reach %s and learns this address can see the recording and its source; "
            "a tunnel is safer (leave --host out)",
            values->host);
    if (values->port < 0 && port != PORT)
        message_note("port %d is taken, so it is %u", PORT, port);
    gethostname(host, sizeof host - 1);
    message_note("from another machine:  ssh -L %u:localhost:%u %s   and open the same address there", port,
                 port, host);
    message_note("Ctrl-C ends it");
    if (values->browser)
        open_browser(url);
}

static int serve(struct viewing *viewing, struct err *err)
{
    const struct values *values = viewing->values;
    bool is_remote = viewing->remote.site != NULL;
    const struct server_options options = {.site = &viewing->site.site,
                                           .host = values->host,
                                           .port = (uint16_t)(values->port < 0 ? PORT : values->port),
                                           .other_ports = values->port < 0,
                                           .period_ns = LOOK_NS,
                                           .wake = viewing->remote.remote.wake,
                                           .look = is_remote ? view_remote_look : look,
                                           .context = is_remote ? (void *)&viewing->remote : viewing};
    struct server *server = server_open(&options, err);
    if (!server)
        return -1;
    announce(values, viewing->site.token, server_port(server));
    int result = server_run(server, err);
    server_close(server);
    return result;
}

static int view_recordings(struct viewing *viewing, int argc, char **argv, struct err *err)
{
    struct run_sums sums = {0};
    struct input_paths paths = {0};
    const char *output = viewing->values->output;
    int result = run_sums_make(&sums, argc, argv, err);
    if (result == 0)
        result = input_expand(sums.count, sums.words, &paths, err);
    if (result == 0 && output)
        result = page_file_write(output, &paths, err);
    else if (result == 0)
        result = view_files_open(&viewing->site.files, &paths, err);
    if (result == 0 && !output)
        result = serve(viewing, err);
    input_clear(&paths);
    run_sums_clear(&sums);
    return result;
}

static int view_run(struct viewing *viewing, const struct host_address *address, struct err *err)
{
    if (viewing->values->output)
        return err_set(err,
                       "-o writes recordings that are there; a run that is recorded elsewhere is not yet");
    int result = view_remote_open(&viewing->remote, &viewing->site, address, viewing->values->token, err);
    if (result == 0)
        result = serve(viewing, err);
    view_remote_close(&viewing->remote);
    return result;
}

static int view(struct viewing *viewing, int argc, char **argv, struct err *err)
{
    struct host_address address;
    if (!viewing->values->output && view_site_open(&viewing->site, viewing->values->host, false, err) < 0)
        return -1;
    bool is_run = argc == 1 && access(argv[0], F_OK) != 0 && host_address_read(argv[0], &address);
    return is_run ? view_run(viewing, &address, err) : view_recordings(viewing, argc, argv, err);
}

static int run(void *given, int argc, char **argv)
{
    const struct values *values = given;
    struct err err = {0};
    if (values->port < -1 || values->port == 0 || values->port > UINT16_MAX)
        return message_fail(&(struct err){"--port must be between 1 and 65535"});
    struct viewing *viewing = calloc(1, sizeof *viewing);
    if (!viewing)
        return message_fail(&(struct err){"out of memory"});
    viewing->values = values;
    int result = view(viewing, argc, argv, &err);
    view_site_close(&viewing->site);
    free(viewing);
    return result < 0 ? message_fail(&err) : 0;
}

#define FIELD(name) offsetof(struct values, name)

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), NULL,
     "Write one HTML file with the recordings in it instead of serving a page."},
    {"port", 0, OPTION_NUMBER, "N", FIELD(port), NULL,
     "The port to serve at; otherwise 8642 or the next free one."},
    {"host", 0, OPTION_TEXT, "ADDRESS", FIELD(host), NULL,
     "The address to serve at, such as 0.0.0.0 for every network; otherwise 127.0.0.1, this machine alone."},
    {"token", 0, OPTION_TEXT, "TOKEN", FIELD(token), NULL,
     "Of a run that is recorded elsewhere: the token that its recorder printed; otherwise SONDE_TOKEN."},
    {"browser", 0, OPTION_FLAG, NULL, FIELD(browser), NULL, "Do not open a browser."},
    {NULL},
};

const struct command command_view = {
    .name = "view",
    .group = "Look",
    .summary = "Look at recordings in a browser",
    .arguments = "[FILE...]\nHOST:PORT",
    .description =
        "Serves a page that shows the recordings: flame graph, table, call graph, source, "
        "timeline; several are "
        "compared. FILE is of any format that sonde reads, a folder of recordings, or the folder of a run "
        "with many ranks, "
        "which is shown as one; otherwise "
        "it is the newest "
        "recording here. One that is still being written is followed.\n\n"
        "The page's address holds a random token: without it nothing is shown. Only this machine "
        "can reach it; from "
        "elsewhere go through ssh, as it prints. Only the files that were named can be seen.\n\n"
        "HOST:PORT (or :PORT on this machine) is a run under --live. It need not have begun: the page waits "
        "for it, follows it, and waits for the next one. A copy is made meanwhile, so that a slow "
        "network slows nobody.\n\n"
        "With -o the page is written to a file instead, which needs neither sonde nor a network "
        "to be opened.",
    .examples = "sonde view\tthe newest recording\n"
                "sonde view before.sonde after.sonde\tcompares the two\n"
                "sonde view node17:8086\twaits for sonde record --live=0.0.0.0:8086 on node17\n"
                "sonde view -o run.html run.sonde\ta file to send to somebody\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .run = run,
};
