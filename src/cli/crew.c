#include "cli/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rank.h"
#include "cli/installation.h"
#include "cli/message.h"
#include "mpi/relay_frame.h"

#define PATIENCE_MS 15000 /* until somebody who waits for processes that never come is told why */

enum word { WORD_MESSAGE = 0, WORD_FAILURE = 1 }; /* the first byte of every message */

/* ---- the socket ---- */

static bool put(const struct crew *crew, const void *data, size_t size)
{
    for (const uint8_t *at = data; size;) {
        ssize_t sent = send(crew->socket, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool get(const struct crew *crew, void *data, size_t size)
{
    return bytes_read(crew->socket, data, size) == size;
}

/* ---- joining ---- */

static void run_relay(const char *path, int socket)
{
    char number[16];
    snprintf(number, sizeof number, "%d", socket);
    execl(path, path, number, (char *)NULL);
    _exit(127);
}

static bool start_relay(struct crew *crew, const char *path)
{
    int ends[2];
    if (access(path, X_OK) != 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    crew->relay = fork();
    if (crew->relay == 0) {
        fcntl(ends[1], F_SETFD, 0);
        run_relay(path, ends[1]);
    }
    close(ends[1]);
    crew->socket = ends[0];
    return crew->relay > 0;
}

static void dismiss(struct crew *crew)
{
    if (crew->socket >= 0)
        close(crew->socket);
    if (crew->relay > 0) {
        kill(crew->relay, SIGKILL);
        waitpid(crew->relay, NULL, 0);
    }
    *crew = (struct crew){.size = 1, .socket = -1};
}

/* MPI begins when all processes of the job do. */
static bool meet(struct crew *crew)
{
    struct pollfd waiting = {.fd = crew->socket, .events = POLLIN};
    if (poll(&waiting, 1, PATIENCE_MS) == 0)
        message_note("waiting for the other processes of this MPI job; where only one of them runs sonde, "
                     "tell it to work --alone");
    struct relay_frame frame;
    if (!get(crew, &frame, sizeof frame) || frame.operation != RELAY_READY || frame.size_bytes < 2 ||
        frame.size_bytes > RANK_NONE)
        return false;
    crew->rank = frame.peer;
    crew->size = (uint32_t)frame.size_bytes;
    return true;
}

/* The launcher's own MPI first. */
static const char *const *relays_for(const struct rank *rank)
{
    static const char *const openmpi_first[] = {"sonde_mpi_openmpi", "sonde_mpi_mpich", NULL};
    static const char *const mpich_first[] = {"sonde_mpi_mpich", "sonde_mpi_openmpi", NULL};
    bool is_mpich = rank->launcher && rank->launcher->rank && strcmp(rank->launcher->rank, "PMI_RANK") == 0;
    return is_mpich ? mpich_first : openmpi_first;
}

static bool find_relay(struct crew *crew, const struct rank *rank)
{
    struct installation installation;
    if (installation_find(&installation, NULL) != 0)
        return false;
    bool met = false;
    for (const char *const *name = relays_for(rank); *name && !met; name++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/_bin/%s", installation.package, *name);
        met = start_relay(crew, path) && meet(crew);
        if (!met)
            dismiss(crew);
    }
    installation_clear(&installation);
    return met;
}

/* Ranks that the user has numbered, or that talk otherwise, are no MPI job. */
static bool is_of_mpi(const struct rank *rank)
{
    return rank->number != RANK_NONE && rank->size != 1 && rank->launcher &&
           strcmp(rank->launcher->rank, "RANK") != 0 && strcmp(rank->launcher->rank, "SONDE_RANK") != 0;
}

bool crew_join(struct crew *crew)
{
    *crew = (struct crew){.size = 1, .socket = -1};
    struct rank rank = rank_detect();
    if (!is_of_mpi(&rank) || find_relay(crew, &rank))
        return true;
    if (rank.number == 0)
        message_note("there is no MPI that sonde can use: the first process works alone");
    else
        message_note("process %u leaves the work to the first (%s; --alone if it should not)", rank.number,
                     rank.launcher->rank);
    return rank.number == 0;
}

void crew_leave(struct crew *crew)
{
    struct relay_frame frame = {.operation = RELAY_LEAVE};
    if (crew->socket >= 0 && put(crew, &frame, sizeof frame)) {
        waitpid(crew->relay, NULL, 0);
        crew->relay = 0;
    }
    dismiss(crew);
}

/* ---- messages ---- */

/* Who has lost its relay says so at the next message that it waits for. */
static void lose(struct crew *crew)
{
    close(crew->socket);
    crew->socket = -1;
}

void crew_send(struct crew *crew, uint32_t to, const struct bytes *message, const struct err *err)
{
    bool failed = err_is_set(err) || message->failed;
    const char *words = err_is_set(err) ? err->text : "out of memory";
    uint8_t word = failed ? WORD_FAILURE : WORD_MESSAGE;
    size_t size = failed ? strlen(words) : message->size;
    struct relay_frame frame = {RELAY_SEND, to, size + 1};
    if (crew->socket >= 0 && !(put(crew, &frame, sizeof frame) && put(crew, &word, 1) &&
                               put(crew, failed ? (const void *)words : message->data, size)))
        lose(crew);
}

static int fail(struct err *err, const char *words)
{
    *err = (struct err){0};
    return err_set(err, "%s", words);
}

static int receive_failure(struct crew *crew, uint64_t size, struct err *err)
{
    char words[sizeof err->text] = "";
    if (size >= sizeof words || !get(crew, words, (size_t)size))
        lose(crew);
    return fail(err, words[0] ? words : "another process of this job has failed");
}

int crew_receive(struct crew *crew, uint32_t from, struct bytes *message, struct err *err)
{
    struct relay_frame frame = {RELAY_RECEIVE, from, 0};
    uint8_t word;
    if (crew->socket < 0 || !put(crew, &frame, sizeof frame) || !get(crew, &frame, sizeof frame) ||
        frame.operation != RELAY_RECEIVED || frame.size_bytes == 0 || !get(crew, &word, 1)) {
        if (crew->socket >= 0)
            lose(crew);
        return fail(err, "the other processes of this MPI job cannot be reached any more");
    }
    if (word != WORD_MESSAGE)
        return receive_failure(crew, frame.size_bytes - 1, err);
    size_t size = (size_t)frame.size_bytes - 1;
    if (!bytes_reserve(message, size) || !get(crew, message->data + message->size, size)) {
        lose(crew);
        return fail(err, message->failed ? "out of memory" : "the connection to the other processes is lost");
    }
    message->size += size;
    return 0;
}
