#include "collect/recorder/listener.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/outside/thread_states.h"

int listener_open(char *name, size_t name_bytes, struct err *err)
{
    uint8_t random[12];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return err_set_errno(err, "no random numbers to be had");
    size_t used = (size_t)snprintf(name, name_bytes, "sonde-");
    for (size_t i = 0; i < sizeof random; i++)
        used += (size_t)snprintf(name + used, name_bytes - used, "%02x", random[i]);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path + 1, name, used);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + used);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, 4096) == 0)
        return fd;
    err_set_errno(err, "cannot open a socket for the target");
    if (fd >= 0)
        close(fd);
    return -1;
}

pid_t listener_parent(pid_t pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *stat = fopen(path, "re");
    size_t size = stat ? fread(text, 1, sizeof text - 1, stat) : 0;
    if (stat)
        fclose(stat);
    const char *name_end = size ? strrchr(text, ')') : NULL;
    long parent = 0;
    return name_end && sscanf(name_end + 1, " %*c %ld", &parent) == 1 ? (pid_t)parent : 0;
}

/* The kernel tells who has sent a message, and that may be the sampler of the process that it is about: a child of it.
 * Both may be gone, and may have numbered themselves in a namespace of their own. */
static pid_t subject_of(const struct session_hello *hello, pid_t sender)
{
    if (hello->sender_pid == hello->pid)
        return sender;
    if (hello->sender_pid == (uint64_t)sender)
        return (pid_t)hello->pid;
    pid_t parent = listener_parent(sender);
    bool is_it = parent && thread_states_own_tid((uint32_t)parent, (uint32_t)parent) == hello->pid;
    return is_it ? parent : sender;
}

/* One message, with at most one descriptor. */
static bool receive(int connection, struct session_hello *hello, int *fd)
{
    struct iovec body = {.iov_base = hello, .iov_len = sizeof *hello};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &body,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof control.space};
    *fd = -1;
    ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *header = got >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(fd, CMSG_DATA(header), sizeof *fd);
    return got == (ssize_t)sizeof *hello && hello->version == SESSION_VERSION;
}

bool listener_take(int listener, uint32_t user, struct listener_message *message)
{
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (connection < 0)
        return false;
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    const struct timeval patience = {.tv_sec = 2};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive(connection, &message->hello, &message->fd) && (peer.uid == user || peer.uid == 0))
        message->pid = subject_of(&message->hello, peer.pid);
    else
        message->hello.message = 0;
    close(connection);
    return true;
}
