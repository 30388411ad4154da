/* sonde view: recordings in a browser. */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/page_file.h"
#include "cli/view_files.h"
#include "export/page_writer.h"
#include "export/stream.h"
#include "show/server.h"
#include "show/server_reply.h"

#define PORT        8642
#define TOKEN_BYTES 16
#define LOOK_NS     500000000u
#define REST        10 /* times as long as catching up took, before it is done again */

struct values {
    const char *output, *host;
    int64_t port;
    bool browser;
};

static const struct values defaults = {.host = "127.0.0.1", .port = -1, .browser = true};

/* All that lives as long as the page is served. */
struct viewing {
    struct view_files files;
    struct server_site site;
    char token[2 * TOKEN_BYTES + 1];
    uint64_t rest_until_ns;
};

static int make_token(char *token, struct err *err)
{
    uint8_t random[TOKEN_BYTES];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return err_set_errno(err, "no random numbers for the page's address");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return 0;
}

static bool is_loopback(const char *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

/* ---- following ---- */

static void tell_change(struct server *server, uint32_t number, enum view_change change)
{
    char data[64];
    snprintf(data, sizeof data, "{\"recording\":%u,\"live\":%s}", number,
             change == VIEW_ENDED ? "false" : "true");
    server_tell(server, change == VIEW_ENDED ? "ended" : "grown", data);
}

static void look(void *context, struct server *server)
{
    struct viewing *viewing = context;
    uint64_t begin = clock_monotonic_ns();
    if (begin < viewing->rest_until_ns)
        return;
    for (uint32_t i = 0; i < viewing->files.opened.count; i++) {
        struct err err = {0};
        enum view_change change = view_files_look(&viewing->files, i, &err);
        if (change == VIEW_FAILED)
            message_detail("%s", err.text);
        else if (change != VIEW_SAME)
            tell_change(server, i, change);
        if (change == VIEW_ENDED)
            message_note("%s: the recording has ended", viewing->files.files[i].path);
    }
    uint64_t end = clock_monotonic_ns();
    viewing->rest_until_ns = end + REST * (end - begin);
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

static void announce(const struct values *values, const struct viewing *viewing, uint16_t port)
{
    char url[256], host[64] = "localhost";
    bool is_six = strchr(values->host, ':') != NULL;
    snprintf(url, sizeof url, "http://%s%s%s:%u/%s/", is_six ? "[" : "", values->host, is_six ? "]" : "",
             port, viewing->token);
    printf("%s\n", url);
    fflush(stdout);
    if (!is_loopback(values->host))
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

static int prepare(struct viewing *viewing, const struct values *values, struct err *err)
{
    struct stream stream = {0};
    if (make_token(viewing->token, err) < 0 || page_writer_write_served(&stream, err) < 0) {
        stream_clear(&stream);
        return -1;
    }
    viewing->site = (struct server_site){.token = viewing->token,
                                         .host = is_loopback(values->host) ? NULL : values->host,
                                         .page = stream.out,
                                         .opened = &viewing->files.opened};
    server_reply_prepare(&viewing->site);
    return 0;
}

static int serve(struct viewing *viewing, const struct values *values, struct err *err)
{
    if (prepare(viewing, values, err) < 0)
        return -1;
    const struct server_options options = {.site = &viewing->site,
                                           .host = values->host,
                                           .port = (uint16_t)(values->port < 0 ? PORT : values->port),
                                           .other_ports = values->port < 0,
                                           .period_ns = LOOK_NS,
                                           .look = look,
                                           .context = viewing};
    struct server *server = server_open(&options, err);
    if (!server)
        return -1;
    announce(values, viewing, server_port(server));
    int result = server_run(server, err);
    server_close(server);
    return result;
}

static int view(const struct values *values, const struct input_paths *paths, struct err *err)
{
    if (values->output)
        return page_file_write(values->output, paths, err);
    struct viewing *viewing = calloc(1, sizeof *viewing);
    if (!viewing)
        return err_set(err, "out of memory");
    int result = view_files_open(&viewing->files, paths, err);
    if (result == 0)
        result = serve(viewing, values, err);
    bytes_clear(&viewing->site.page);
    view_files_close(&viewing->files);
    free(viewing);
    return result;
}

static int run(void *given, int argc, char **argv)
{
    const struct values *values = given;
    struct input_paths paths = {0};
    struct err err = {0};
    if (values->port < -1 || values->port == 0 || values->port > UINT16_MAX)
        return message_fail(&(struct err){"--port must be between 1 and 65535"});
    int result = input_expand(argc, argv, &paths, &err);
    if (result == 0)
        result = view(values, &paths, &err);
    input_clear(&paths);
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
    {"browser", 0, OPTION_FLAG, NULL, FIELD(browser), NULL, "Do not open a browser."},
    {NULL},
};

const struct command command_view = {
    .name = "view",
    .group = "Look",
    .summary = "Look at recordings in a browser",
    .arguments = "[FILE...]",
    .description = "Serves a page that shows the recordings: flame graph, table, call graph, source, "
                   "timeline; several are "
                   "compared. FILE is of any format that sonde reads, or a folder of recordings; otherwise "
                   "it is the newest "
                   "recording here. One that is still being written is followed.\n\n"
                   "The page's address holds a random token: without it nothing is shown. Only this machine "
                   "can reach it; from "
                   "elsewhere go through ssh, as it prints. Only the files that were named can be seen.\n\n"
                   "With -o the page is written to a file instead, which needs neither sonde nor a network "
                   "to be opened.",
    .examples = "sonde view\tthe newest recording\n"
                "sonde view before.sonde after.sonde\tcompares the two\n"
                "sonde view -o run.html run.sonde\ta file to send to somebody\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .run = run,
};
