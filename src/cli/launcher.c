#include "cli/launcher.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/rank.h"
#include "cli/process_environment.h"
#include "collect/outside/process_tree.h"

#define PROC_BYTES_MAX (1u << 20)
#define ANCESTORS_MAX  64

static bool is_same_rank(const struct rank *rank, uint32_t pid)
{
    struct process_environment environment = {0};
    struct rank other = {.number = RANK_NONE};
    if (process_environment_read(&environment, pid))
        other = rank_find(process_environment_find, &environment);
    process_environment_clear(&environment);
    return other.number == rank->number && other.size == rank->size && other.launcher == rank->launcher;
}

uint32_t launcher_of(uint32_t pid, const struct rank *rank)
{
    pid = process_tree_parent(pid);
    for (int step = 0; step < ANCESTORS_MAX && pid > 1 && is_same_rank(rank, pid); step++)
        pid = process_tree_parent(pid);
    return pid;
}

static bool read_proc(const char *path, struct bytes *text)
{
    bool done = bytes_read_file(text, path, PROC_BYTES_MAX, NULL) == 0;
    bytes_put_u8(text, 0);
    return done && !text->failed;
}

/* Field 22 of its line; the name in the second may hold anything. */
static uint64_t start_ticks_of(uint32_t pid)
{
    char path[64];
    struct bytes text = {0};
    uint64_t ticks = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    const char *at = read_proc(path, &text) ? strrchr((char *)text.data, ')') : NULL;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at)
        ticks = strtoull(at, NULL, 10);
    bytes_clear(&text);
    return ticks;
}

/* When the machine started, to the second: the kernel changes it only when the clock is set. */
static int64_t boot_s(void)
{
    struct bytes text = {0};
    const char *at = read_proc("/proc/stat", &text) ? strstr((char *)text.data, "\nbtime ") : NULL;
    int64_t start_s = at ? strtoll(at + 7, NULL, 10) : 0;
    bytes_clear(&text);
    return start_s;
}

static int64_t start_s_of(uint32_t pid)
{
    uint64_t ticks = start_ticks_of(pid);
    int64_t boot = boot_s();
    long hertz = sysconf(_SC_CLK_TCK);
    return ticks && boot && hertz > 0 ? boot + (int64_t)(ticks / (uint64_t)hertz) : 0;
}

static const char *next_word(const char *word, const char *end)
{
    word += strlen(word) + 1;
    return word < end ? word : NULL;
}

/* Hydra, MPICH's and Intel MPI's launcher, leaves nothing in the environment that tells runs apart; its daemons get the
 * address of the one that they belong to. */
static void find_port(uint32_t pid, char *port, size_t size)
{
    char path[64];
    struct bytes text = {0};
    size_t used = 0;
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/cmdline", pid);
    bool is_read = read_proc(path, &text);
    const char *word = is_read ? (char *)text.data : NULL, *end = is_read ? word + text.size : NULL;
    for (; word; word = next_word(word, end)) {
        const char *value = next_word(word, end);
        bool counts = strcmp(word, "--control-port") == 0 || strcmp(word, "--upstream-host") == 0 ||
                      strcmp(word, "--upstream-port") == 0;
        if (counts && value && used < size)
            used += (size_t)snprintf(port + used, size - used, "%s%s", used ? ":" : "", value);
    }
    bytes_clear(&text);
}

void launcher_find(const struct rank *rank, struct launcher *launcher)
{
    *launcher = (struct launcher){.pid = launcher_of((uint32_t)getpid(), rank)};
    if (launcher->pid) {
        launcher->start_ticks = start_ticks_of(launcher->pid);
        launcher->start_s = start_s_of(launcher->pid);
        find_port(launcher->pid, launcher->port, sizeof launcher->port);
    }
    if (!launcher->start_s)
        launcher->start_s = start_s_of((uint32_t)getpid());
    if (!launcher->start_s)
        launcher->start_s = time(NULL);
}
