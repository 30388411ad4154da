#include "cli/live_server.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/input.h"
#include "show/server.h"

#define LOOK_NS     250000000u
#define PIECE_BYTES ((size_t)4 << 20)
#define NICENESS    5 /* the program comes first */

struct living {
    const struct live_server_options *options;
    struct view_site site;
    struct server *server;
    int file; /* the recording, also when its name is gone */
    bool was_seen;
    uint64_t last_ns; /* when somebody took some of the whole recording */
};

static bool has_ended(const struct living *living)
{
    return __atomic_load_n(&living->options->board->ended, __ATOMIC_ACQUIRE);
}

static bool is_being_made(void *context)
{
    return !has_ended(context);
}

/* ---- what is asked ---- */

static int give_piece(void *context, uint64_t from, struct server_piece *piece)
{
    struct living *living = context;
    struct stat status;
    piece->is_live = !has_ended(living); /* before its size: the last of it is then not missed */
    piece->run = living->options->run;
    if (fstat(living->file, &status) != 0)
        return -1;
    piece->size = (uint64_t)status.st_size;
    size_t wanted = from < piece->size ? (size_t)(piece->size - from) : 0;
    wanted = wanted < PIECE_BYTES ? wanted : PIECE_BYTES;
    if (!bytes_reserve(&piece->data, wanted + 1))
        return -1;
    ssize_t got = wanted ? pread(living->file, piece->data.data, wanted, (off_t)from) : 0;
    if (got < 0)
        return -1;
    piece->data.size = (size_t)got;
    if (got > 0)
        living->last_ns = clock_monotonic_ns();
    return 0;
}

/* While nobody looks on, nothing is read. */
static void refresh(void *context)
{
    struct living *living = context;
    if (!server_listeners(living->server))
        view_site_look(&living->site, living->server, true);
}

/* ---- from time to time ---- */

static void count_viewers(struct living *living, uint32_t viewers)
{
    __atomic_store_n(&living->options->board->viewers, viewers, __ATOMIC_RELEASE);
    __atomic_add_fetch(&living->options->board->looks, 1, __ATOMIC_RELEASE);
    if (viewers && !living->was_seen)
        living->was_seen = write(living->options->news, "", 1) == 1;
}

/* A page that came back late must hear of it, too: so it is said again. */
static void take_leave(struct living *living, uint32_t viewers)
{
    uint64_t now_ns = clock_monotonic_ns();
    if (!living->last_ns)
        living->last_ns = now_ns;
    server_tell(living->server, "leaving", "{\"recording\":0}");
    if (!viewers || now_ns - living->last_ns > LIVE_SERVER_LAST_NS)
        server_end(living->server);
}

static void look(void *context, struct server *server)
{
    struct living *living = context;
    uint32_t viewers = server_listeners(server);
    bool ended = has_ended(living);
    count_viewers(living, viewers);
    if (viewers || ended)
        view_site_look(&living->site, server, ended);
    if (ended)
        take_leave(living, viewers);
}

/* ---- starting ---- */

static void stand_apart(const struct live_server_options *options, pid_t recorder)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "sonde-live");
    if (getppid() != recorder)
        _exit(0);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
    close(options->not_ours);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && nothing >= 0; fd++)
        dup2(nothing, fd);
    if (nice(NICENESS) < 0)
        return; /* then it is as the recorder is */
}

static int open_all(struct living *living, struct err *err)
{
    const struct live_server_options *options = living->options;
    char *words[] = {(char *)options->path};
    const struct input_paths paths = {words, 1};
    bool loopback = view_site_is_loopback(options->host);
    living->site.files.is_being_made = is_being_made;
    living->site.files.context = living;
    if (view_site_open(&living->site, options->host, true, err) < 0 ||
        view_files_open(&living->site.files, &paths, err) < 0)
        return -1;
    living->file = open(options->path, O_RDONLY | O_CLOEXEC);
    if (living->file < 0)
        return err_set_errno(err, "cannot read %s", options->path);
    living->site.site.refresh = refresh;
    living->site.site.piece = give_piece;
    living->site.site.context = living;
    const struct server_options serving = {.site = &living->site.site,
                                           .host = options->host,
                                           .port = options->port,
                                           .other_ports = options->other_ports,
                                           .own_user = loopback,
                                           .deaf = true,
                                           .period_ns = LOOK_NS,
                                           .wake = options->wake,
                                           .look = look,
                                           .context = living};
    living->server = server_open(&serving, err);
    return living->server ? 0 : -1;
}

void live_server_run(const struct live_server_options *options, int32_t recorder)
{
    struct live_server_start start = {0};
    struct living *living = calloc(1, sizeof *living);
    stand_apart(options, recorder);
    if (!living)
        _exit(1);
    living->options = options;
    if (open_all(living, &start.err) == 0)
        start.port = server_port(living->server);
    memcpy(start.token, living->site.token, sizeof start.token);
    if (write(options->news, &start, sizeof start) == (ssize_t)sizeof start && start.port)
        server_run(living->server, NULL);
    _exit(0);
}
