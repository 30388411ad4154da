#include "show/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "show/peer_user.h"
#include "show/server_reply.h"
#include "show/server_request.h"

#define CONNECTIONS_MAX 64
#define STREAMS_MAX     16
#define SECOND_NS       UINT64_C(1000000000)
#define REQUEST_NS      (10 * SECOND_NS)  /* from the first byte of a request to its last */
#define IDLE_NS         (60 * SECOND_NS)  /* between requests */
#define STALL_NS        (30 * SECOND_NS)  /* without the other side taking a byte of the reply */
#define LINGER_NS       (2 * SECOND_NS)   /* for the other side to see why it was refused */
#define PULSE_NS        (15 * SECOND_NS)  /* a stream without events says that it lives */
#define STREAM_BYTES    ((size_t)1 << 16) /* of events that a page may leave lying */
#define REQUEST_BYTES   (SERVER_REQUEST_HEAD_MAX + SERVER_REQUEST_BODY_MAX)

enum connection_state {
    CONNECTION_FREE,
    CONNECTION_READING, /* waits for a request, or the rest of one */
    CONNECTION_WRITING,
    CONNECTION_STREAMING, /* events */
    CONNECTION_LINGERING, /* all is said; what still comes is thrown away */
};

struct connection {
    enum connection_state state;
    enum server_next next; /* when the reply is sent */
    int fd;
    bool is_own_user; /* at its other end */
    struct bytes in, out;
    size_t sent_bytes;
    uint64_t deadline_ns;
};

struct server {
    struct server_options options;
    int fd;
    uint16_t port;
    uint64_t next_look_ns, next_pulse_ns;
    sigset_t signals; /* blocked while it waits */
    bool is_over;
    struct connection connections[CONNECTIONS_MAX];
};

/* ---- being ended ---- */

static volatile sig_atomic_t asked_to_end;

static void take_signal(int number)
{
    asked_to_end = number;
}

/* They come while the loop waits, and at no other time. */
static void watch_signals(sigset_t *before)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction action = {.sa_handler = take_signal};
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaction(signals[i], &action, NULL);
        sigaddset(&blocked, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, before);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigdelset(before, signals[i]);
}

/* ---- listening ---- */

/* An address of either family; names would need what a static program does not have. */
static bool read_address(const char *host, uint16_t port, struct sockaddr_in6 *six, struct sockaddr_in *four)
{
    *six = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(port)};
    *four = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET6, host, &six->sin6_addr) == 1)
        return true;
    six->sin6_family = AF_UNSPEC;
    return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &four->sin_addr) == 1;
}

static int listen_at(const struct sockaddr *address, socklen_t size)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, size) == 0 && listen(fd, CONNECTIONS_MAX) == 0)
        return fd;
    int cause = errno;
    close(fd);
    errno = cause;
    return -1;
}

static int try_port(struct server *server, unsigned port, struct err *err)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;
    if (!read_address(server->options.host, (uint16_t)port, &six, &four))
        return err_set(
            err, "a host must be an address of this machine, such as 127.0.0.1 or 0.0.0.0; '%s' is none",
            server->options.host);
    if (six.sin6_family == AF_INET6)
        server->fd = listen_at((struct sockaddr *)&six, sizeof six);
    else
        server->fd = listen_at((struct sockaddr *)&four, sizeof four);
    server->port = (uint16_t)port;
    return 0;
}

static int find_port(struct server *server, struct err *err)
{
    const struct server_options *options = &server->options;
    unsigned last = options->port + (options->other_ports ? SERVER_PORTS_TRIED : 0u);
    for (unsigned port = options->port; port <= last && port <= UINT16_MAX; port++) {
        if (try_port(server, port, err) < 0)
            return -1;
        if (server->fd >= 0)
            return 0;
        if (errno != EADDRINUSE)
            return err_set_errno(err, "cannot listen at %s, port %u", options->host, port);
    }
    if (options->other_ports)
        return err_set(err, "ports %u to %u are all taken; name a free one", options->port, last);
    return err_set(err, "port %u is taken by another program; name another, or none to get a free one",
                   options->port);
}

struct server *server_open(const struct server_options *options, struct err *err)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server) {
        err_set(err, "out of memory");
        return NULL;
    }
    server->options = *options;
    server->fd = -1;
    if (find_port(server, err) == 0) {
        if (options->deaf)
            sigprocmask(SIG_BLOCK, NULL, &server->signals);
        else
            watch_signals(&server->signals);
        return server;
    }
    free(server);
    return NULL;
}

uint16_t server_port(const struct server *server)
{
    return server->port;
}

/* ---- connections ---- */

static void close_connection(struct connection *connection)
{
    close(connection->fd);
    bytes_clear(&connection->in);
    bytes_clear(&connection->out);
    *connection = (struct connection){0};
}

void server_close(struct server *server)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (server->connections[i].state != CONNECTION_FREE)
            close_connection(&server->connections[i]);
    close(server->fd);
    free(server);
}

static void linger(struct connection *connection, uint64_t now)
{
    shutdown(connection->fd, SHUT_WR);
    connection->state = CONNECTION_LINGERING;
    connection->deadline_ns = now + LINGER_NS;
}

static void wait_for_request(struct connection *connection, uint64_t now)
{
    connection->state = CONNECTION_READING;
    connection->deadline_ns = now + (connection->in.size ? REQUEST_NS : IDLE_NS);
}

uint32_t server_listeners(const struct server *server)
{
    uint32_t count = 0;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        count += server->connections[i].state == CONNECTION_STREAMING ||
                 server->connections[i].next == SERVER_STREAM;
    return count;
}

static void begin_reply(struct connection *connection, enum server_next next, uint64_t now)
{
    connection->state = CONNECTION_WRITING;
    connection->next = next;
    connection->deadline_ns = now + STALL_NS;
}

/* Looks for a whole request in what came; a reply is begun when there is one. */
static void take_request(struct server *server, struct connection *connection, uint64_t now)
{
    struct server_request request;
    struct server_site *site = server->options.site;
    int state = server_request_read((char *)connection->in.data, connection->in.size, &request);
    if (state == SERVER_REQUEST_PART)
        return;
    enum server_next next = SERVER_CLOSE;
    uint32_t streams = server_listeners(server);
    request.is_own_user = connection->is_own_user;
    if (state == SERVER_REQUEST_WHOLE)
        next = server_reply_make(site, &request, &connection->out);
    else
        server_reply_refuse(site, state, &connection->out);
    if (next == SERVER_STREAM && streams >= STREAMS_MAX) {
        bytes_reset(&connection->out);
        server_reply_refuse(site, 503, &connection->out);
        next = SERVER_CLOSE;
    }
    size_t used = state == SERVER_REQUEST_WHOLE ? request.size_bytes : connection->in.size;
    memmove(connection->in.data, connection->in.data + used, connection->in.size - used);
    connection->in.size -= used;
    begin_reply(connection, next, now);
}

static void read_from(struct server *server, struct connection *connection, uint64_t now)
{
    struct bytes *in = &connection->in;
    bool discards = connection->state != CONNECTION_READING;
    size_t before = discards ? 0 : in->size;
    in->size = before;
    if (!bytes_reserve(in, REQUEST_BYTES + 1)) {
        close_connection(connection);
        return;
    }
    ssize_t got = recv(connection->fd, in->data + before, REQUEST_BYTES + 1 - before, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        close_connection(connection);
        return;
    }
    if (discards)
        return;
    in->size += (size_t)got;
    if (before == 0)
        connection->deadline_ns = now + REQUEST_NS;
    take_request(server, connection, now);
}

/* The reply is sent: what now? */
static void end_reply(struct server *server, struct connection *connection, uint64_t now)
{
    bytes_clear(&connection->out); /* an answer may have been large */
    connection->sent_bytes = 0;
    if (connection->state == CONNECTION_STREAMING)
        return;
    if (connection->next == SERVER_STREAM) {
        connection->state = CONNECTION_STREAMING;
    } else if (connection->next == SERVER_KEEP) {
        wait_for_request(connection, now);
        take_request(server, connection, now);
    } else {
        linger(connection, now);
    }
}

static void write_to(struct server *server, struct connection *connection, uint64_t now)
{
    const struct bytes *out = &connection->out;
    ssize_t sent = send(connection->fd, out->data + connection->sent_bytes,
                        out->size - connection->sent_bytes, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (sent < 0 || out->failed) {
        close_connection(connection);
        return;
    }
    connection->sent_bytes += (size_t)sent;
    connection->deadline_ns = now + STALL_NS;
    if (connection->sent_bytes == out->size)
        end_reply(server, connection, now);
}

/* Room for one more: who has kept us waiting longest for a request goes. NULL when all are at work. */
static struct connection *find_room(struct server *server)
{
    struct connection *oldest = NULL;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &server->connections[i];
        if (connection->state == CONNECTION_FREE)
            return connection;
        bool waits = connection->state == CONNECTION_READING || connection->state == CONNECTION_LINGERING;
        if (waits && (!oldest || connection->deadline_ns < oldest->deadline_ns))
            oldest = connection;
    }
    if (oldest)
        close_connection(oldest);
    return oldest;
}

static void accept_all(struct server *server, uint64_t now)
{
    int fd;
    while ((fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct connection *connection = find_room(server);
        if (!connection) {
            close(fd);
            return;
        }
        *connection = (struct connection){.fd = fd,
                                          .state = CONNECTION_READING,
                                          .is_own_user = server->options.own_user && peer_user_is_own(fd),
                                          .deadline_ns = now + REQUEST_NS};
    }
}

/* ---- events ---- */

static void put_event(struct connection *connection, const char *text, uint64_t now)
{
    if (connection->out.size > STREAM_BYTES) /* it does not listen; it will ask again when it wakes up */
        return;
    if (connection->out.size == 0)
        connection->deadline_ns = now + STALL_NS;
    bytes_put_text(&connection->out, text);
}

static void put_event_to_all(struct server *server, const char *text)
{
    uint64_t now = clock_monotonic_ns();
    for (size_t i = 0; i < CONNECTIONS_MAX; i++)
        if (server->connections[i].state == CONNECTION_STREAMING)
            put_event(&server->connections[i], text, now);
}

void server_tell(struct server *server, const char *event, const char *data)
{
    struct bytes text = {0};
    bytes_putf(&text, "event: %s\ndata: %s\n\n", event, data);
    bytes_put_u8(&text, 0);
    if (!text.failed)
        put_event_to_all(server, (char *)text.data);
    bytes_clear(&text);
}

/* ---- the loop ---- */

static bool has_deadline(const struct connection *connection)
{
    return connection->state != CONNECTION_FREE &&
           (connection->state != CONNECTION_STREAMING || connection->out.size);
}

static void poll_for(const struct server *server, struct pollfd *polled)
{
    int wake = server->options.wake;
    polled[CONNECTIONS_MAX] = (struct pollfd){.fd = server->fd, .events = POLLIN};
    polled[CONNECTIONS_MAX + 1] = (struct pollfd){.fd = wake ? wake : -1, .events = POLLIN};
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        const struct connection *connection = &server->connections[i];
        bool used = connection->state != CONNECTION_FREE, writes = connection->out.size > 0;
        bool reads = connection->state != CONNECTION_WRITING;
        polled[i] = (struct pollfd){.fd = used ? connection->fd : -1,
                                    .events = (short)((writes ? POLLOUT : 0) | (reads ? POLLIN : 0))};
    }
}

static uint64_t earliest(const struct server *server)
{
    uint64_t until = server->next_pulse_ns;
    if (server->options.period_ns && server->next_look_ns < until)
        until = server->next_look_ns;
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        const struct connection *connection = &server->connections[i];
        if (has_deadline(connection) && connection->deadline_ns < until)
            until = connection->deadline_ns;
    }
    return until;
}

static void serve(struct server *server, const struct pollfd *polled, uint64_t now)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *connection = &server->connections[i];
        short events = polled[i].fd >= 0 ? polled[i].revents : 0;
        if (events & POLLIN)
            read_from(server, connection, now);
        else if (events & (POLLERR | POLLHUP | POLLNVAL))
            close_connection(connection);
        if (connection->state != CONNECTION_FREE && connection->out.size)
            write_to(server, connection, now);
        if (has_deadline(connection) && now >= connection->deadline_ns)
            close_connection(connection);
    }
    if (polled[CONNECTIONS_MAX].revents & POLLIN)
        accept_all(server, now);
    uint64_t calls;
    if (polled[CONNECTIONS_MAX + 1].revents & POLLIN &&
        read(server->options.wake, &calls, sizeof calls) == (ssize_t)sizeof calls)
        server->next_look_ns = now;
}

static void keep_time(struct server *server)
{
    uint64_t now = clock_monotonic_ns();
    if (now >= server->next_pulse_ns) {
        put_event_to_all(server, ":\n\n");
        server->next_pulse_ns = now + PULSE_NS;
    }
    if (server->options.period_ns && now >= server->next_look_ns) {
        server->options.look(server->options.context, server);
        server->next_look_ns = clock_monotonic_ns() + server->options.period_ns;
    }
}

void server_end(struct server *server)
{
    server->is_over = true;
}

int server_run(struct server *server, struct err *err)
{
    struct pollfd polled[CONNECTIONS_MAX + 2];
    server->next_pulse_ns = clock_monotonic_ns() + PULSE_NS;
    while (true) {
        keep_time(server);
        if (server->is_over || (asked_to_end && !server->options.deaf))
            return 0;
        poll_for(server, polled);
        uint64_t now = clock_monotonic_ns(), until = earliest(server);
        uint64_t left = until > now ? until - now : 0;
        const struct timespec patience = {(time_t)(left / SECOND_NS), (long)(left % SECOND_NS)};
        int ready = ppoll(polled, CONNECTIONS_MAX + 2, &patience, &server->signals);
        if (ready < 0 && errno != EINTR)
            return err_set_errno(err, "the server cannot wait for requests");
        if (ready >= 0)
            serve(server, polled, clock_monotonic_ns());
    }
}
