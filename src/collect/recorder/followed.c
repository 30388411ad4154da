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

#include "collect/agent/arena.h"
#include "collect/agent/heap_area.h"
#include "collect/agent/native_area.h"
#include "collect/agent/sample_area.h"
#include "collect/agent/session.h"
#include "collect/recorder/drain.h"
#include "collect/recorder/heap_drain.h"
#include "collect/recorder/native_space.h"
#include "collect/recorder/sample_drain.h"
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

static bool is_sound(void *memory, const struct session_hello *hello)
{
    struct arena_view view;
    struct heap_area_view heap_view;
    if (hello->message == SESSION_HEAP)
        return heap_area_look(&heap_view, memory, hello->arena_bytes);
    if (hello->message != SESSION_SAMPLES)
        return arena_look(&view, memory, hello->arena_bytes);
    const struct sample_area *area = memory;
    return hello->arena_bytes == area->total_bytes && area->magic == SAMPLE_AREA_MAGIC &&
           area->period_ns > 0 && (area->total_bytes == sizeof *area || native_area_of(memory));
}

static void *map_memory(const struct session_hello *hello, int fd)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0 || (uint64_t)status.st_size < hello->arena_bytes)
        return NULL;
    /* The target could shrink its memfd under our feet, were it not sealed against that. */
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
    void *memory = mmap(NULL, hello->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (is_sound(memory, hello))
        return memory;
    munmap(memory, hello->arena_bytes);
    return NULL;
}

static void open_native(struct followed *followed, struct native_area *native,
                        const struct followed_origin *origin, struct native_files *files)
{
    const struct native_space *parent =
        native && native->forked_from && origin->forker ? origin->forker->space : NULL;
    if (native)
        followed->space = native_space_new(files, native, (uint32_t)followed->pid, followed->id, parent);
}

static struct heap_drain_code find_code(void *space, uint64_t address)
{
    struct native_code found = native_space_find(space, address);
    return (struct heap_drain_code){found.code, (uint8_t)found.kind};
}

static void open_heap(struct followed *followed, const struct followed_origin *origin,
                      struct native_files *files)
{
    struct heap_area_view view;
    if (!heap_area_look(&view, followed->memory, followed->memory_bytes))
        return;
    open_native(followed, view.native, origin, files);
    followed->heap_drain =
        heap_drain_new(followed->memory, followed->memory_bytes, files->writer, followed->id);
    if (followed->heap_drain && followed->space)
        heap_drain_set_native(followed->heap_drain, find_code, followed->space);
}

static void open_samples(struct followed *followed, const struct followed_origin *origin,
                         struct native_files *files)
{
    open_native(followed, native_area_of(followed->memory), origin, files);
    followed->sample_drain = sample_drain_new(followed->memory, files->writer, followed->id, followed->space);
}

/* What the memory says of its process. */
static uint32_t python_version(const struct followed *followed, uint64_t *start_ns)
{
    const struct arena *arena = followed->memory;
    const struct sample_area *samples = followed->memory;
    const struct heap_area *heap = followed->memory;
    switch (followed->purpose) {
    case SESSION_SAMPLES:
        *start_ns = samples->start_ns;
        return samples->python;
    case SESSION_HEAP:
        *start_ns = heap->start_ns;
        return heap->python;
    default:
        *start_ns = arena->start_ns;
        return arena->python;
    }
}

/* Announces the process in the file. */
static void describe_process(struct followed *followed, const struct followed_origin *origin,
                             const struct session_hello *hello, struct writer *writer,
                             followed_describe *describe)
{
    uint64_t start_ns;
    uint32_t python = python_version(followed, &start_ns);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    followed->process = (struct process){
        .pid = (uint64_t)origin->pid,
        .parent = origin->parent_id,
        .rank = UINT32_MAX,
        .host = intern(writer, host),
        .command = command_of(writer, hello, describe),
        .python = python_of(writer, python),
        .exe = executable_of(writer, hello),
        .start_ns = start_ns,
        .exit_code = INT32_MIN,
    };
    followed->id = writer_process(writer, &followed->process);
}

int followed_open(struct followed *followed, const struct followed_origin *origin,
                  const struct session_hello *hello, int fd, struct native_files *files,
                  followed_describe *describe)
{
    struct writer *writer = files->writer;
    *followed = (struct followed){
        .pid = origin->pid, .pidfd = -1, .memory_bytes = hello->arena_bytes, .purpose = hello->message};
    followed->memory = map_memory(hello, fd);
    if (!followed->memory)
        return -1;
    if (origin->same) {
        followed->process = origin->same->process;
        followed->id = origin->same->id;
    } else {
        describe_process(followed, origin, hello, writer, describe);
    }
    if (hello->message == SESSION_SAMPLES)
        open_samples(followed, origin, files);
    else if (hello->message == SESSION_HEAP)
        open_heap(followed, origin, files);
    else
        followed->drain = drain_new(followed->memory, followed->memory_bytes, writer, followed->id);
    followed->pidfd = (int)syscall(SYS_pidfd_open, origin->pid, 0);
    return followed->drain || followed->sample_drain || followed->heap_drain ? 0 : -1;
}

void followed_stop(struct followed *followed)
{
    if (followed->drain)
        ((struct arena *)followed->memory)->stop = 1;
    else if (followed->heap_drain)
        ((struct heap_area *)followed->memory)->stop = 1;
    else
        ((struct sample_area *)followed->memory)->stop = 1;
}

void followed_close(struct followed *followed, struct writer *writer, bool ended, int32_t exit_code)
{
    followed->process.end_ns = ended ? clock_monotonic_ns() : 0;
    followed->process.exit_code = exit_code;
    writer_update_process(writer, followed->id, &followed->process);
    followed_stop(followed);
    munmap(followed->memory, followed->memory_bytes);
    drain_free(followed->drain);
    sample_drain_free(followed->sample_drain);
    heap_drain_free(followed->heap_drain);
    native_space_free(followed->space);
    if (followed->pidfd >= 0)
        close(followed->pidfd);
    followed->memory = NULL;
    followed->drain = NULL;
    followed->sample_drain = NULL;
    followed->heap_drain = NULL;
    followed->space = NULL;
    followed->pidfd = -1;
}

bool followed_drain(struct followed *followed, const struct clock_rate *rate)
{
    bool soon = followed->space && native_space_step(followed->space);
    if (followed->drain)
        drain_step(followed->drain, rate);
    else if (followed->heap_drain)
        soon |= heap_drain_step(followed->heap_drain, rate);
    else
        sample_drain_step(followed->sample_drain, rate);
    return soon;
}

void followed_finish(struct followed *followed, const struct clock_rate *rate)
{
    uint64_t end_ticks = clock_read_pair(clock_has_counter()).ticks;
    if (followed->drain)
        drain_finish(followed->drain, rate, end_ticks);
    else if (followed->heap_drain)
        heap_drain_finish(followed->heap_drain, rate, end_ticks);
    else
        sample_drain_finish(followed->sample_drain, rate, end_ticks);
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
