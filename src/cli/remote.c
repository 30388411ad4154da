#include "cli/remote.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/http_get.h"

#define AGAIN_MS 300   /* between two tries */
#define PULSE_MS 20000 /* a stream says sooner that it lives (show/server.c) */

struct remote_board {
    uint32_t state, run;
};

/* In the process that takes the bytes. */
struct copier {
    const struct host_address *address;
    char number[HOST_ADDRESS_NUMBER_SIZE]; /* "" = not yet looked up */
    char run[HTTP_GET_RUN_SIZE];           /* that the file holds; "" = none */
    uint64_t taken;                        /* bytes of it */
    struct bytes in;
    const struct remote *remote;
};

/* ---- what the reader sees ---- */

static void tell(const struct copier *copier)
{
    const uint64_t one = 1;
    if (write(copier->remote->wake, &one, sizeof one) != (ssize_t)sizeof one)
        return; /* the reader has been told already, and has not yet looked */
}

static void set_state(struct copier *copier, enum remote_state state)
{
    struct remote_board *board = copier->remote->board;
    if (__atomic_exchange_n(&board->state, state, __ATOMIC_RELEASE) != (uint32_t)state)
        tell(copier);
}

static void begin_run(struct copier *copier, const char *run)
{
    snprintf(copier->run, sizeof copier->run, "%s", run);
    copier->taken = 0;
    if (ftruncate(copier->remote->file, 0) == 0)
        __atomic_add_fetch(&copier->remote->board->run, 1, __ATOMIC_RELEASE);
}

/* ---- taking ---- */

static struct http_get_place place_of(const struct copier *copier)
{
    return (struct http_get_place){copier->number, copier->address->host, copier->address->port};
}

static void put_path(const struct copier *copier, const char *what, char *path, size_t size)
{
    const char *token = copier->address->token;
    snprintf(path, size, "%s%s/%s", *token ? "/" : "", token, what);
}

static enum remote_state state_for(const struct http_get_head *head)
{
    if (head->status == 200 && head->run[0])
        return head->is_live ? REMOTE_CONNECTED : REMOTE_ENDED;
    if (head->status == 503) /* too many look on */
        return REMOTE_LOST;
    return head->status == 403 ? REMOTE_REFUSED : REMOTE_FOREIGN;
}

static int keep(struct copier *copier, const struct http_get_head *head, struct err *err)
{
    bool is_other = strcmp(copier->run, head->run) != 0 || head->size_bytes < copier->taken;
    if (is_other && copier->taken) { /* it was asked for from the middle on */
        begin_run(copier, head->run);
        return 0;
    }
    if (is_other)
        begin_run(copier, head->run);
    if (pwrite(copier->remote->file, copier->in.data, copier->in.size, (off_t)copier->taken) !=
        (ssize_t)copier->in.size)
        return err_set_errno(err, "no memory for the recording");
    copier->taken += copier->in.size;
    return 0;
}

/* One question; REMOTE_LOST when there was no answer. */
static enum remote_state take_piece(struct copier *copier, struct http_get_head *head)
{
    char what[64], path[256];
    struct http_get_place place = place_of(copier);
    snprintf(what, sizeof what, "recording?from=%llu", (unsigned long long)copier->taken);
    put_path(copier, what, path, sizeof path);
    int fd = http_get_begin(&place, path, head, &copier->in, NULL);
    if (fd < 0)
        return REMOTE_LOST;
    enum remote_state state = state_for(head);
    bool is_good = state == REMOTE_CONNECTED || state == REMOTE_ENDED;
    if (is_good && (http_get_body(fd, head, &copier->in, NULL) < 0 || keep(copier, head, NULL) < 0))
        state = REMOTE_LOST;
    close(fd);
    return state;
}

/* All that is there now. */
static enum remote_state take_all(struct copier *copier)
{
    struct http_get_head head;
    uint64_t before;
    enum remote_state state;
    do {
        before = copier->taken;
        state = take_piece(copier, &head);
        if (state == REMOTE_CONNECTED)
            set_state(copier, state);
        if (copier->taken != before)
            tell(copier);
    } while ((state == REMOTE_CONNECTED || state == REMOTE_ENDED) && copier->taken < head.size_bytes);
    return state;
}

/* Whether more may be there: an event came. False when the stream has ended. */
static bool wait_for_event(int stream)
{
    char events[4096];
    struct pollfd polled = {.fd = stream, .events = POLLIN};
    return poll(&polled, 1, PULSE_MS) > 0 && recv(stream, events, sizeof events, 0) > 0;
}

/* Follows a run to its end, or until the connection breaks. The stream comes first: whoever has one is waited for. */
static enum remote_state follow_run(struct copier *copier)
{
    char path[256];
    struct http_get_head head;
    struct http_get_place place = place_of(copier);
    put_path(copier, "events", path, sizeof path);
    int stream = http_get_begin(&place, path, &head, &copier->in, NULL);
    if (stream < 0)
        return REMOTE_LOST;
    enum remote_state state = head.status == 200 ? take_all(copier) : state_for(&head);
    while (state == REMOTE_CONNECTED)
        state = wait_for_event(stream) ? take_all(copier) : REMOTE_LOST;
    close(stream);
    return state;
}

static void step(struct copier *copier)
{
    if (!copier->number[0] && host_address_find(copier->address->host, copier->number, NULL) < 0) {
        set_state(copier, REMOTE_UNKNOWN);
        return;
    }
    enum remote_state state = follow_run(copier);
    enum remote_state before = copier->remote->board->state;
    if (state == REMOTE_LOST && before != REMOTE_CONNECTED && before != REMOTE_LOST)
        state = before == REMOTE_ENDED ? REMOTE_ENDED : REMOTE_WAITING;
    set_state(copier, state);
}

/* ---- the process ---- */

static _Noreturn void copy(const struct remote *remote, const struct host_address *address, pid_t reader)
{
    struct copier copier = {.address = address, .remote = remote};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "sonde-remote");
    signal(SIGINT, SIG_IGN); /* the reader's end is ours */
    while (getppid() == reader) {
        step(&copier);
        poll(NULL, 0, AGAIN_MS);
    }
    _exit(0);
}

int remote_open(struct remote *remote, const struct host_address *address, struct err *err)
{
    pid_t reader = getpid();
    *remote = (struct remote){.file = memfd_create("sonde-remote", MFD_CLOEXEC),
                              .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    void *board =
        mmap(NULL, sizeof *remote->board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (remote->file < 0 || remote->wake < 0 || board == MAP_FAILED)
        return err_set_errno(err, "no memory for the recording");
    remote->board = board;
    remote->pid = fork();
    if (remote->pid == 0)
        copy(remote, address, reader);
    return remote->pid > 0 ? 0 : err_set_errno(err, "cannot start a process");
}

void remote_close(struct remote *remote)
{
    if (remote->pid > 0) {
        kill(remote->pid, SIGKILL);
        waitpid(remote->pid, NULL, 0);
    }
    if (remote->board)
        munmap(remote->board, sizeof *remote->board);
    if (remote->file > 0)
        close(remote->file);
    if (remote->wake > 0)
        close(remote->wake);
    *remote = (struct remote){0};
}

struct remote_news remote_look(const struct remote *remote)
{
    const struct remote_board *board = remote->board;
    return (struct remote_news){.state = __atomic_load_n(&board->state, __ATOMIC_ACQUIRE),
                                .run = __atomic_load_n(&board->run, __ATOMIC_ACQUIRE)};
}
