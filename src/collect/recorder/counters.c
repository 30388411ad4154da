#include "collect/recorder/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "store/writer.h"

#define TEXT_BYTES  4096 /* of a file of /proc: all that is looked for stands before */
#define MISSED_PART 64   /* a peak between two looks is told when it was higher than any seen by this part */
#define FIRST_NS    5000000u /* a short program is looked at more than once, too */
#define NO_CLOCK    ((clockid_t)-1)
#define HELD        256

/* One look; 0 = not known. */
struct point {
    uint64_t time_ns, bytes, cpu_ns;
};

struct counters_process {
    uint32_t pid;
    int status_fd;       /* of what was resident at most */
    int memory_fd;       /* kept open: a number that is given to another process says nothing of it */
    clockid_t cpu_clock; /* of all its threads */
    uint32_t memory_counter, cpu_counter;
    uint64_t next_ns, last_ns, interval_ns;
    uint64_t highest_bytes; /* so far, seen or not */
    uint32_t looks;
    struct point held[HELD]; /* until they are written, each counter's together: that is half as long */
    uint32_t held_count;
};

/* ---- what the kernel says ---- */

static const char *memory_file(enum counters_memory memory)
{
    return memory == COUNTERS_RSS ? "statm" : "smaps_rollup";
}

static int open_file(uint32_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The file as it is now, ended with a zero; false when the process is gone. */
static bool read_text(int fd, char *text)
{
    ssize_t size = fd >= 0 ? pread(fd, text, TEXT_BYTES - 1, 0) : -1;
    if (size <= 0)
        return false;
    text[size] = '\0';
    return true;
}

/* Of a line such as "Pss:    1234 kB"; 0 when there is none. */
static uint64_t labelled_bytes(const char *text, const char *label)
{
    const char *at = strstr(text, label);
    return at ? strtoull(at + strlen(label), NULL, 10) * 1024 : 0;
}

/* 0 = it has ended: who lives has some. */
static uint64_t memory_bytes(const char *text, enum counters_memory memory)
{
    unsigned long pages = 0;
    if (memory == COUNTERS_PSS)
        return labelled_bytes(text, "\nPss:");
    if (memory == COUNTERS_USS)
        return labelled_bytes(text, "\nPrivate_Clean:") + labelled_bytes(text, "\nPrivate_Dirty:");
    return sscanf(text, "%*u %lu", &pages) == 1 ? (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* The most that was ever resident, as the kernel has seen it; 0 = not known. */
static uint64_t highest_bytes(int fd)
{
    char text[TEXT_BYTES];
    return read_text(fd, text) ? labelled_bytes(text, "\nVmHWM:") : 0;
}

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec time;
    if (clock == NO_CLOCK || clock_gettime(clock, &time) != 0)
        return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* ---- the series ---- */

static uint32_t define(struct writer *writer, const char *name, const char *unit, uint8_t kind, uint32_t id)
{
    const struct counter counter = {.name = writer_string(writer, name, strlen(name)),
                                    .unit = writer_string(writer, unit, strlen(unit)),
                                    .process = id,
                                    .kind = kind};
    return writer_counter(writer, &counter);
}

static void put(const struct counters *counters, uint32_t counter, uint64_t time_ns, uint64_t value)
{
    const struct series_row row = {.time_ns = time_ns, .value = (int64_t)value, .counter = counter};
    if (value)
        writer_series(counters->writer, &row);
}

static void write_held(const struct counters *counters, struct counters_process *process)
{
    for (uint32_t i = 0; i < process->held_count; i++)
        put(counters, process->memory_counter, process->held[i].time_ns, process->held[i].bytes);
    for (uint32_t i = 0; i < process->held_count; i++)
        put(counters, process->cpu_counter, process->held[i].time_ns, process->held[i].cpu_ns);
    process->held_count = 0;
}

static void hold(const struct counters *counters, struct counters_process *process, struct point point)
{
    if (process->held_count == HELD)
        write_held(counters, process);
    process->held[process->held_count++] = point;
    if (point.bytes > process->highest_bytes)
        process->highest_bytes = point.bytes;
}

/* Looks may miss the highest: where the kernel has seen more than we have, that was between the last look and now. */
static void find_missed_peak(const struct counters *counters, struct counters_process *process,
                             const struct point *now)
{
    if (!process->last_ns) /* what was before is none of ours */
        process->highest_bytes = highest_bytes(process->status_fd);
    uint64_t seen = process->highest_bytes;
    if (counters->memory != COUNTERS_RSS || !now->bytes || now->bytes > seen || !process->last_ns)
        return;
    uint64_t highest = highest_bytes(process->status_fd);
    uint64_t between_ns = process->last_ns + (now->time_ns - process->last_ns) / 2;
    if (highest > seen + seen / MISSED_PART)
        hold(counters, process, (struct point){.time_ns = between_ns, .bytes = highest});
}

/* One that has ended and that nobody has asked for yet still has its CPU time. When it is gone altogether, its number
 * may be another's. */
static void look(struct counters *counters, struct counters_process *process)
{
    char text[TEXT_BYTES];
    if (!read_text(process->memory_fd, text))
        return;
    struct point point = {.bytes = memory_bytes(text, counters->memory),
                          .cpu_ns = cpu_ns(process->cpu_clock)};
    point.time_ns = clock_monotonic_ns(); /* at once: CPU time goes on */
    find_missed_peak(counters, process, &point);
    hold(counters, process, point);
    process->last_ns = point.time_ns;
}

static void look_in_time(struct counters *counters, struct counters_process *process, uint64_t now_ns)
{
    look(counters, process);
    process->next_ns = now_ns + process->interval_ns;
    bool is_many = ++process->looks % COUNTERS_OCTAVE == 0;
    if (!counters->interval_ns && (is_many || process->interval_ns < COUNTERS_INTERVAL_NS))
        process->interval_ns *= 2;
}

static struct counters_process *new_row(struct counters *counters)
{
    if (counters->count == counters->capacity) {
        size_t capacity = counters->capacity * 2 + 8;
        struct counters_process *grown = realloc(counters->rows, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        counters->rows = grown;
        counters->capacity = capacity;
    }
    return &counters->rows[counters->count++];
}

void counters_add(struct counters *counters, uint32_t pid, uint32_t id, uint64_t first_ns)
{
    static const char *const names[] = {"rss", "pss", "uss"};
    struct counters_process *process = new_row(counters);
    clockid_t clock;
    if (!process)
        return;
    *process = (struct counters_process){
        .pid = pid,
        .memory_fd = open_file(pid, memory_file(counters->memory)),
        .status_fd = open_file(pid, "status"),
        .cpu_clock = clock_getcpuclockid((pid_t)pid, &clock) == 0 ? clock : NO_CLOCK,
        .next_ns = first_ns,
        .interval_ns = counters->interval_ns ? counters->interval_ns : FIRST_NS,
        .memory_counter = define(counters->writer, names[counters->memory], "bytes", COUNTER_LEVEL, id),
        .cpu_counter = define(counters->writer, "cpu", "ns", COUNTER_SUM, id),
    };
}

static void close_files(const struct counters_process *process)
{
    if (process->memory_fd >= 0)
        close(process->memory_fd);
    if (process->status_fd >= 0)
        close(process->status_fd);
}

void counters_end(struct counters *counters, uint32_t pid)
{
    for (size_t i = 0; i < counters->count; i++) {
        struct counters_process *process = &counters->rows[i];
        if (process->pid != pid)
            continue;
        look(counters, process);
        write_held(counters, process);
        close_files(process);
        counters->rows[i] = counters->rows[--counters->count];
        return;
    }
}

void counters_look(struct counters *counters, uint64_t now_ns)
{
    for (size_t i = 0; i < counters->count; i++)
        if (counters->rows[i].next_ns <= now_ns)
            look_in_time(counters, &counters->rows[i], now_ns);
}

void counters_write(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        write_held(counters, &counters->rows[i]);
}

uint64_t counters_next_ns(const struct counters *counters)
{
    uint64_t next_ns = UINT64_MAX;
    for (size_t i = 0; i < counters->count; i++)
        if (counters->rows[i].next_ns < next_ns)
            next_ns = counters->rows[i].next_ns;
    return next_ns;
}

void counters_clear(struct counters *counters)
{
    for (size_t i = 0; i < counters->count; i++)
        close_files(&counters->rows[i]);
    free(counters->rows);
    counters->rows = NULL;
    counters->count = counters->capacity = 0;
}

int counters_check(uint32_t pid, enum counters_memory memory, struct err *err)
{
    char text[TEXT_BYTES];
    int fd = open_file(pid, memory_file(memory));
    bool known = read_text(fd, text);
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (known)
        return 0;
    errno = code;
    if (code == ENOENT && memory != COUNTERS_RSS && counters_check(pid, COUNTERS_RSS, NULL) == 0)
        return err_set(
            err, "this kernel does not tell PSS and USS (they need Linux 4.14); leave --pss and --uss out");
    return err_set_errno(err, "cannot read the memory of process %u", pid);
}
