#include "collect/agent/session.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "collect/agent/own_calls.h"

/* What may be given several times. */
static void add(struct session *session, const char *key, const char *value)
{
    const struct {
        const char *key;
        const char **texts;
        uint32_t *count, most;
    } lists[] = {
        {"line_target", session->line_targets, &session->line_target_count, SESSION_LINE_TARGETS},
        {"mark", session->marks, &session->mark_count, SESSION_MARKS},
        {"marks_script", session->marks_scripts, &session->marks_script_count, SESSION_MARKS_SCRIPTS},
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(key, lists[i].key) == 0 && *lists[i].count < lists[i].most)
            lists[i].texts[(*lists[i].count)++] = value;
}

/* False when no number has that key. */
static bool set_number(struct session *session, const char *key, const char *value)
{
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {
        {"memory_bytes", &session->memory_bytes},     {"sample_period_ns", &session->sample_period_ns},
        {"timeline_bytes", &session->timeline_bytes}, {"main_pid", &session->main_pid},
        {"stop_at_bytes", &session->stop_at_bytes},   {"heap_sample_bytes", &session->heap_sample_bytes},
        {"skip_first", &session->skip_first},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strcmp(key, numbers[i].key) == 0) {
            *numbers[i].number = strtoull(value, NULL, 10);
            return true;
        }
    return false;
}

static void set(struct session *session, const char *key, const char *value)
{
    const struct {
        const char *key;
        const char **text;
    } texts[] = {
        {"socket", &session->socket},
        {"inside", &session->inside},
        {"package", &session->package},
        {"agent", &session->agent},
        {"include", &session->include},
        {"exclude", &session->exclude},
        {"setup", &session->setup},
        {"heap_library", &session->heap_library},
        {"start_at", &session->start_at},
        {"stop_at", &session->stop_at},
        {"mpi_library", &session->mpi_library},
    };
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        {"trace", &session->trace},
        {"c_calls", &session->c_calls},
        {"exclude_library", &session->exclude_library},
        {"throttle", &session->throttle},
        {"follow", &session->follow},
        {"cpu_clock", &session->cpu_clock},
        {"native", &session->native},
        {"tasks", &session->tasks},
        {"timeline", &session->timeline},
        {"timeline_ring", &session->timeline_ring},
        {"lines", &session->lines},
        {"per_thread", &session->per_thread},
        {"line_memory", &session->line_memory},
        {"heap", &session->heap},
        {"heap_log", &session->heap_log},
        {"heap_python", &session->heap_python},
        {"heap_totals", &session->heap_totals},
        {"partial", &session->partial},
        {"all_lines", &session->all_lines},
        {"library_lines", &session->library_lines},
        {"resident_regions", &session->resident_regions},
        {"nvtx", &session->nvtx},
        {"nvtx_in", &session->nvtx_in},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            *texts[i].text = value;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(key, flags[i].key) == 0)
            *flags[i].flag = value[0] == '1';
    if (strcmp(key, "depth") == 0)
        session->depth = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "hot") == 0)
        session->hot = (uint32_t)strtoul(value, NULL, 10);
    else if (!set_number(session, key, value))
        add(session, key, value);
}

int session_parse(char *text, struct session *session)
{
    *session = (struct session){0};
    uint32_t version = 0;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        if (strcmp(line, "version") == 0)
            version = (uint32_t)strtoul(equals + 1, NULL, 10);
        else
            set(session, line, equals + 1);
    }
    return version == SESSION_VERSION && session->socket && session->inside && session->agent ? 0 : -1;
}

static int connect_to(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(name);
    if (size > sizeof address.sun_path - 1)
        return -1;
    memcpy(address.sun_path + 1, name, size);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    /* A recorder that hangs must not hang the program. */
    struct timeval patience = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + size);
    if (connect(fd, (struct sockaddr *)&address, length) == 0)
        return fd;
    own_calls_close(fd);
    return -1;
}

int session_send(const struct session *session, const struct session_hello *hello, int fd)
{
    int connection = connect_to(session->socket);
    if (connection < 0)
        return -1;
    struct iovec body = {.iov_base = (void *)(uintptr_t)hello, .iov_len = sizeof *hello};
    union {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.space;
        message.msg_controllen = sizeof control.space;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    ssize_t sent = sendmsg(connection, &message, MSG_NOSIGNAL);
    own_calls_close(connection);
    return sent == (ssize_t)sizeof *hello ? 0 : -1;
}
