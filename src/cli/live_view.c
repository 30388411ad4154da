#include "cli/live_view.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rank.h"
#include "cli/host_address.h"
#include "cli/live_server.h"
#include "cli/message.h"

#define LOOPBACK   "127.0.0.1"
#define NEWS_NONE  (-1)
#define SILENCE_MS 15000 /* of a child that looks four times a second: it is stopped, or stuck */

/* ---- starting ---- */

static int read_place(const char *at, struct host_address *place, bool *is_chosen, struct err *err)
{
    *place = (struct host_address){.host = LOOPBACK, .port = LIVE_VIEW_PORT};
    *is_chosen = *at;
    if (!*at || (place->port = host_address_port(at)))
        return 0;
    return host_address_read(at, place) && !place->token[0]
               ? 0
               : err_set(err, "--live takes a port, or HOST:PORT; '%s' is neither", at);
}

/* The server needs a number. */
static int settle_place(struct host_address *place, uint32_t rank, struct err *err)
{
    char number[HOST_ADDRESS_NUMBER_SIZE];
    if (host_address_find(place->host, number, err) < 0)
        return -1;
    strcpy(place->host, number);
    if (rank != RANK_NONE && rank > (uint32_t)UINT16_MAX - place->port)
        return err_set(err, "--live: rank %u and port %u together are no port", rank, place->port);
    place->port = (uint16_t)(place->port + (rank == RANK_NONE ? 0 : rank));
    return 0;
}

static int open_channels(struct live_view *live, int news[2], struct err *err)
{
    void *board = mmap(NULL, sizeof *live->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    live->board = board == MAP_FAILED ? NULL : board;
    live->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (live->board && live->wake >= 0 && pipe2(news, O_CLOEXEC) == 0)
        return 0;
    return err_set_errno(err, "no memory to serve the run");
}

static int take_start(const struct live_view *live, struct live_server_start *start, struct err *err)
{
    ssize_t got;
    do
        got = read(live->news, start, sizeof *start);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof *start)
        return err_set(err, "the process that serves the run could not start");
    return start->port ? 0 : err_set(err, "--live: %s", start->err.text);
}

/* Of several ranks the first speaks for all. */
static void announce(const struct host_address *place, bool is_chosen, const struct live_server_start *start,
                     uint32_t rank)
{
    char url[VIEW_SITE_URL_MAX];
    view_site_url(place->host, start->port, url);
    if (!is_chosen && start->port != place->port)
        message_note("port %u is taken, so it is %u", place->port, start->port);
    if (rank != RANK_NONE && rank != 0) {
        message_detail("live at %s", url);
        return;
    }
    const char *others = rank == 0 ? ", other ranks at the ports above" : "";
    if (view_site_is_loopback(place->host))
        message_note("live at %s (sonde view :%u)%s", url, start->port, others);
    else
        message_warn("live at %s%s/%s; everybody who can reach it and learns this token can see the run and "
                     "its source",
                     url, start->token, others);
}

static int start(struct live_view *live, const struct live_view_subject *subject,
                 const struct host_address *place, bool is_chosen, struct err *err)
{
    int news[2] = {NEWS_NONE, NEWS_NONE};
    pid_t recorder = getpid();
    struct live_server_start started = {0};
    if (open_channels(live, news, err) < 0)
        return -1;
    const struct live_server_options options = {.host = place->host,
                                                .port = place->port,
                                                .other_ports = !is_chosen,
                                                .path = subject->path,
                                                .run = subject->run,
                                                .not_ours = subject->fd,
                                                .wake = live->wake,
                                                .news = news[1],
                                                .board = live->board};
    live->news = news[0];
    live->pid = fork();
    if (live->pid == 0)
        live_server_run(&options, recorder);
    close(news[1]);
    if (live->pid < 0)
        return err_set_errno(err, "cannot start a process");
    if (take_start(live, &started, err) < 0)
        return -1;
    announce(place, is_chosen, &started, subject->rank);
    return 0;
}

int live_view_open(struct live_view *live, const struct live_view_options *options,
                   const struct live_view_subject *subject, struct err *err)
{
    struct host_address place;
    bool is_chosen;
    if (!options->at)
        return options->wait ? err_set(err, "--live-wait needs --live") : 0;
    if (read_place(options->at, &place, &is_chosen, err) == 0 &&
        settle_place(&place, subject->rank, err) == 0 && start(live, subject, &place, is_chosen, err) == 0)
        return 0;
    live_view_close(live);
    return -1;
}

/* ---- waiting ---- */

/* Until the child has something to tell, or goes, or a signal asks us to end: its number. */
static int wait_for_news(const struct live_view *live, int signals, bool for_end)
{
    struct signalfd_siginfo info;
    char bytes[64];
    while (true) {
        struct pollfd polled[] = {{.fd = live->news, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        uint32_t looks = __atomic_load_n(&live->board->looks, __ATOMIC_ACQUIRE);
        int ready = poll(polled, 2, SILENCE_MS);
        if ((ready < 0 && errno != EINTR) || (ready == 0 && live->board->looks == looks))
            return 0;
        if (polled[1].revents & POLLIN && read(signals, &info, sizeof info) == (ssize_t)sizeof info)
            return (int)info.ssi_signo;
        if (polled[0].revents && (read(live->news, bytes, sizeof bytes) <= 0 || !for_end))
            return 0;
    }
}

/* Those that a person or a batch system sends to end us. */
static sigset_t block_signals(sigset_t *before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, before);
    return set;
}

static int wait_beside_signals(const struct live_view *live, bool for_end)
{
    sigset_t before, set = block_signals(&before);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    int number = fd >= 0 ? wait_for_news(live, fd, for_end) : 0;
    if (fd >= 0)
        close(fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return number;
}

int live_view_wait(struct live_view *live)
{
    if (!live->pid)
        return 0;
    sigset_t before;
    block_signals(&before); /* before it is said that Ctrl-C ends the waiting: else it would end us */
    message_note("the program starts when somebody looks; Ctrl-C ends it");
    int number = wait_beside_signals(live, false);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return number;
}

void live_view_linger(struct live_view *live)
{
    if (!live->pid)
        return;
    if (live_view_is_watched(live))
        message_note("the recording is given to those who look on, for up to 10 s; Ctrl-C ends it");
    wait_beside_signals(live, true);
}

/* ---- while it is recorded ---- */

bool live_view_is_watched(const struct live_view *live)
{
    return live->pid && __atomic_load_n(&live->board->viewers, __ATOMIC_ACQUIRE) > 0;
}

static void wake(const struct live_view *live)
{
    const uint64_t one = 1;
    if (write(live->wake, &one, sizeof one) != (ssize_t)sizeof one)
        return; /* it has been called already */
}

void live_view_grown(struct live_view *live)
{
    if (live_view_is_watched(live))
        wake(live);
}

void live_view_ended(struct live_view *live)
{
    if (!live->pid)
        return;
    block_signals(NULL); /* from here on they end the waiting, and the exit code is the program's */
    __atomic_store_n(&live->board->ended, 1, __ATOMIC_RELEASE);
    wake(live);
}

void live_view_close(struct live_view *live)
{
    if (live->pid > 0) {
        kill(live->pid, SIGKILL);
        waitpid(live->pid, NULL, 0);
    }
    if (live->board)
        munmap(live->board, sizeof *live->board);
    if (live->wake > 0)
        close(live->wake);
    if (live->news > 0)
        close(live->news);
    *live = (struct live_view){0};
}
