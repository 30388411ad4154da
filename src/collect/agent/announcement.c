#include "collect/agent/announcement.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/own_calls.h"
#include "collect/agent/own_memory.h"

void announcement_init(struct session_hello *hello, enum session_message message)
{
    *hello = (struct session_hello){.version = SESSION_VERSION,
                                    .message = message,
                                    .pid = (uint64_t)getpid(),
                                    .parent_pid = (uint64_t)getppid(),
                                    .sender_pid = (uint64_t)getpid()};
}

/* Sent along, because a process may be gone by the time that the recorder looks for it. */
static void describe_program(struct session_hello *hello)
{
    ssize_t path = readlink("/proc/self/exe", hello->executable, sizeof hello->executable - 1);
    hello->executable[path > 0 ? path : 0] = '\0';
    int fd = own_calls_open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? own_calls_read(fd, hello->text, sizeof hello->text) : 0;
    hello->text_bytes = size > 0 ? (uint32_t)size : 0;
    if (fd >= 0)
        own_calls_close(fd);
}

uint64_t announcement_allowed_bytes(uint64_t wanted)
{
    const int resources[] = {RLIMIT_FSIZE, RLIMIT_AS};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        struct rlimit limit;
        if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
            wanted > limit.rlim_cur / 8)
            wanted = limit.rlim_cur / 8;
    }
    return wanted;
}

void *announcement_map(uint64_t bytes, int *fd)
{
    *fd = (int)syscall(SYS_memfd_create, "sonde", 3u /* MFD_CLOEXEC | MFD_ALLOW_SEALING */);
    if (*fd < 0)
        return NULL;
    void *memory = ftruncate(*fd, (off_t)bytes) == 0 ? own_memory_map_file(*fd, bytes, true) : NULL;
    if (!memory)
        own_calls_close(*fd);
    return memory;
}

int announcement_tell(const struct session *session, int fd, struct session_hello *hello)
{
    describe_program(hello);
    int sent = session_send(session, hello, fd);
    own_calls_close(fd);
    return sent;
}

void *announcement_send(const struct session *session, void *memory, int fd, struct session_hello *hello)
{
    if (announcement_tell(session, fd, hello) == 0)
        return memory;
    own_memory_unmap(memory, hello->arena_bytes);
    return NULL;
}

bool announcement_flush(const struct session *session, int patience_ms)
{
    struct session_hello hello;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    announcement_init(&hello, SESSION_FLUSH);
    struct pollfd done = {.fd = session_send(session, &hello, ends[1]) == 0 ? ends[0] : -1, .events = POLLIN};
    own_calls_close(ends[1]);
    char answer;
    bool is_done =
        done.fd >= 0 && poll(&done, 1, patience_ms) > 0 && own_calls_read(ends[0], &answer, 1) == 1;
    own_calls_close(ends[0]);
    return is_done;
}

void announcement_refuse(const struct session *session, const char *why)
{
    struct session_hello hello;
    announcement_init(&hello, SESSION_REFUSED);
    hello.text_bytes = (uint32_t)snprintf(hello.text, sizeof hello.text, "%s", why);
    session_send(session, &hello, -1);
}
