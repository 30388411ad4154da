#include "cli/picture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/message.h"

#define COMPLAINT_BYTES_MAX 600 /* what is kept of dot's standard error */

extern char **environ;

static const char *const picture_formats[] = {"svg", "png", "pdf", NULL};

bool picture_is_format(const char *format)
{
    for (const char *const *name = picture_formats; *name; name++)
        if (strcmp(*name, format) == 0)
            return true;
    return false;
}

/* The running program and our ends of its three pipes; -1 = closed. */
struct drawer {
    pid_t pid;
    int input, output, complaints;
    const struct bytes *dot;
    size_t written;
    struct bytes *picture;
    struct bytes said;
};

static void close_end(int *end)
{
    if (*end >= 0)
        close(*end);
    *end = -1;
}

static int start_with(struct drawer *drawer, int pipes[3][2], const char *format)
{
    char type[16];
    char *arguments[] = {"dot", type, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t signals;

    snprintf(type, sizeof type, "-T%s", format);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipes[0][0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[1][1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, pipes[2][1], STDERR_FILENO);
    sigemptyset(&signals);
    sigaddset(&signals, SIGPIPE); /* ignored here, but not there */
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &signals);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int failure = posix_spawnp(&drawer->pid, arguments[0], &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

static int start(struct drawer *drawer, const char *format, struct err *err)
{
    int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    int failure = 0;

    for (int i = 0; i < 3 && !failure; i++)
        if (pipe2(pipes[i], O_CLOEXEC) != 0)
            failure = errno;
    if (!failure)
        failure = start_with(drawer, pipes, format);
    close_end(&pipes[0][0]);
    close_end(&pipes[1][1]);
    close_end(&pipes[2][1]);
    drawer->input = pipes[0][1];
    drawer->output = pipes[1][0];
    drawer->complaints = pipes[2][0];
    if (!failure)
        return fcntl(drawer->input, F_SETFL, O_NONBLOCK) == 0 ? 0 : err_set_errno(err, "cannot feed 'dot'");
    if (failure == ENOENT)
        return err_set(err,
                       "pictures are drawn by graphviz's program 'dot', which is not on PATH: install it "
                       "(apt install graphviz), or write a .dot file and draw it elsewhere");
    errno = failure;
    return err_set_errno(err, "cannot run graphviz's program 'dot'");
}

static void feed(struct drawer *drawer)
{
    ssize_t size =
        write(drawer->input, drawer->dot->data + drawer->written, drawer->dot->size - drawer->written);

    if (size > 0)
        drawer->written += (size_t)size;
    bool broken =
        size < 0 && errno != EAGAIN && errno != EINTR; /* its own message says why it stopped reading */
    if (broken || drawer->written == drawer->dot->size)
        close_end(&drawer->input);
}

static void drain(int *end, struct bytes *into)
{
    uint8_t data[65536];
    ssize_t size = read(*end, data, sizeof data);

    if (size > 0)
        bytes_put(into, data, (size_t)size);
    else if (size == 0 || errno != EINTR)
        close_end(end);
}

static void exchange(struct drawer *drawer)
{
    while (drawer->output >= 0 || drawer->complaints >= 0) {
        struct pollfd ends[] = {
            {drawer->input, POLLOUT, 0}, {drawer->output, POLLIN, 0}, {drawer->complaints, POLLIN, 0}};
        if (poll(ends, 3, -1) < 0 && errno != EINTR)
            return;
        if (ends[0].revents)
            feed(drawer);
        if (ends[1].revents)
            drain(&drawer->output, drawer->picture);
        if (ends[2].revents)
            drain(&drawer->complaints, &drawer->said);
    }
}

/* What it said, on one line and without end, for a message. */
static const char *complaint(struct bytes *said)
{
    size_t size = said->failed ? 0 : said->size;

    if (size > COMPLAINT_BYTES_MAX)
        size = COMPLAINT_BYTES_MAX;
    while (size && strchr(" \n", said->data[size - 1]))
        size--;
    for (size_t i = 0; i < size; i++)
        if (said->data[i] < ' ')
            said->data[i] = ' ';
    said->size = size;
    bytes_put_u8(said, 0);
    return said->failed ? "" : (const char *)said->data;
}

static int finish(struct drawer *drawer, struct err *err)
{
    int status = 0;

    while (waitpid(drawer->pid, &status, 0) < 0 && errno == EINTR)
        ;
    const char *said = complaint(&drawer->said);
    if (WIFSIGNALED(status))
        return err_set(err, "graphviz's program 'dot' was ended by signal %d%s%s", WTERMSIG(status),
                       *said ? ": " : "", said);
    if (WEXITSTATUS(status) != 0)
        return err_set(err, "graphviz's program 'dot' failed with code %d%s%s", WEXITSTATUS(status),
                       *said ? ": " : "", said);
    if (drawer->picture->failed || drawer->picture->size == 0)
        return err_set(err, "graphviz's program 'dot' gave no picture%s%s", *said ? ": " : "", said);
    if (*said)
        message_warn("%s", said);
    return 0;
}

int picture_draw(const struct bytes *dot, const char *format, struct bytes *picture, struct err *err)
{
    struct drawer drawer = {.input = -1, .output = -1, .complaints = -1, .dot = dot, .picture = picture};
    struct sigaction ignore = {.sa_handler = SIG_IGN}, previous;

    sigaction(SIGPIPE, &ignore, &previous);
    int result = start(&drawer, format, err);
    if (result == 0)
        exchange(&drawer);
    close_end(&drawer.input);
    close_end(&drawer.output);
    close_end(&drawer.complaints);
    if (drawer.pid > 0 && finish(&drawer, err) != 0)
        result = -1;
    sigaction(SIGPIPE, &previous, NULL);
    bytes_clear(&drawer.said);
    return result;
}
