#include "collect/recorder/followed.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/session.h"
#include "collect/recorder/followed_kinds.h"
#include "collect/recorder/native_files.h"
#include "collect/recorder/native_space.h"
#include "store/writer.h"

#define WORDS_MAX 512

static uint32_t intern(struct writer *writer, const char *text)
{
    return text ? writer_string(writer, text, strlen(text)) : 0;
}

/* The words that the process sent, described. */
static uint32_t command_of(struct writer *writer, const struct session_hello *hello,
                           followed_describe *describe)
{
    char text[sizeof hello->text + 1];
    size_t size = hello->text_bytes < sizeof hello->text ? hello->text_bytes : sizeof hello->text;
    memcpy(text, hello->text, size);
    text[size] = '\0';
    char *words[WORDS_MAX];
    int count = 0;
    for (size_t at = 0; at < size && count < WORDS_MAX; at += strlen(text + at) + 1)
        words[count++] = text + at;
    char *described = describe(count, words);
    uint32_t id = intern(writer, described);
    free(described);
    return id;
}

static uint32_t executable_of(struct writer *writer, const struct session_hello *hello)
{
    return writer_string(writer, hello->executable, strnlen(hello->executable, sizeof hello->executable));
}

static uint32_t python_of(struct writer *writer, uint32_t version)
{
    char text[32];
    snprintf(text, sizeof text, "%u.%u.%u", version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
    return intern(writer, text);
}

static void *map_memory(const struct followed_kind *kind, const struct session_hello *hello, int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || (uint64_t)status.st_size < hello->arena_bytes)
        return NULL;
    /* The target could shrink its memfd under our feet, were it not sealed against that. */
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    void *memory = mmap(NULL, hello->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (kind->is_sound(memory, hello->arena_bytes))
        return memory;
    munmap(memory, hello->arena_bytes);
    return NULL;
}

/* Announces the process in the file. */
static void describe_process(struct followed *followed, const struct followed_origin *origin,
                             const struct session_hello *hello, struct writer *writer,
                             followed_describe *describe)
{
    struct followed_facts facts = followed->kind->facts(followed->memory);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    followed->process = (struct process){
        .pid = (uint64_t)origin->pid,
        .parent = origin->parent_id,
        .rank = UINT32_MAX,
        .host = intern(writer, host),
        .command = command_of(writer, hello, describe),
        .python = facts.python ? python_of(writer, facts.python) : 0,
        .exe = executable_of(writer, hello),
        .start_ns = facts.start_ns,
        .exit_code = INT32_MIN,
    };
    followed->id = writer_process(writer, &followed->process);
}

int followed_open(struct followed *followed, const struct followed_origin *origin,
                  const struct session_hello *hello, int fd, struct native_files *files,
                  followed_describe *describe)
{
    struct writer *writer = files->writer;
    *followed = (struct followed){.pid = origin->pid,
                                  .pidfd = -1,
                                  .memory_bytes = hello->arena_bytes,
                                  .purpose = hello->message,
                                  .kind = followed_kinds_find(hello->message)};
    followed->memory = followed->kind ? map_memory(followed->kind, hello, fd) : NULL;
    if (!followed->memory)
        return -1;
    followed->is_guest = origin->observed != 0;
    if (origin->observed) {
        followed->id = origin->observed;
    } else if (origin->same) {
        followed->process = origin->same->process;
        followed->id = origin->same->id;
    } else {
        describe_process(followed, origin, hello, writer, describe);
    }
    followed->drain = followed->kind->open(followed, origin, files);
    followed->pidfd = (int)syscall(SYS_pidfd_open, origin->pid, 0);
    return followed->drain ? 0 : -1;
}

void followed_stop(struct followed *followed)
{
    followed->kind->stop(followed->memory);
}

void followed_close(struct followed *followed, struct writer *writer, bool ended, int32_t exit_code)
{
    followed->process.end_ns = ended ? clock_monotonic_ns() : 0;
    followed->process.exit_code = exit_code;
    if (!followed->is_guest)
        writer_update_process(writer, followed->id, &followed->process);
    followed_stop(followed);
    munmap(followed->memory, followed->memory_bytes);
    followed->kind->free(followed->drain);
    native_space_free(followed->space);
    if (followed->pidfd >= 0)
        close(followed->pidfd);
    followed->memory = NULL;
    followed->drain = NULL;
    followed->space = NULL;
    followed->pidfd = -1;
}

bool followed_drain(struct followed *followed, const struct clock_rate *rate)
{
    bool soon = followed->space && native_space_step(followed->space);
    return followed->kind->step(followed->drain, rate) || soon;
}

static bool has_log(const struct followed *followed)
{
    return followed->kind->has_log && followed->kind->has_log(followed->drain);
}

bool followed_has_rings(const struct followed *followed)
{
    return followed->kind->has_rings || has_log(followed);
}

bool followed_empty_rings(struct followed *followed, const struct clock_rate *rate)
{
    return has_log(followed) ? followed->kind->step_log(followed->drain, rate)
                             : followed_drain(followed, rate);
}

void followed_finish(struct followed *followed, const struct clock_rate *rate)
{
    followed->kind->finish(followed->drain, rate, clock_read_pair(clock_has_counter()).ticks);
}

struct sample_drain *followed_samples(const struct followed *followed)
{
    return followed->purpose == SESSION_SAMPLES ? followed->drain : NULL;
}

bool followed_has_ended(const struct followed *followed)
{
    return kill(followed->pid, 0) != 0 && errno == ESRCH;
}

/* "PID (NAME) STATE …"; the name may hold anything. */
bool followed_is_busy(const struct followed *followed)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)followed->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] == 'R';
}
