#include "cli/rank_processes.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rank.h"
#include "cli/folder.h"
#include "cli/input.h"
#include "cli/launcher.h"
#include "cli/process_environment.h"
#include "collect/outside/process_tree.h"
#include "store/recording.h"

static int add(struct rank_processes *processes, const struct rank_process *process, struct err *err)
{
    struct rank_process *items = realloc(processes->items, (processes->count + 1) * sizeof *items);
    if (!items)
        return err_set(err, "out of memory");
    processes->items = items;
    items[processes->count++] = *process;
    return 0;
}

/* Whether the process belongs to the job, "1234" or "1234.0". */
static bool is_of_job(const struct process_environment *environment, const char *job)
{
    char text[128];
    const char *id = process_environment_find(environment, "SLURM_JOB_ID");
    const char *step = process_environment_find(environment, "SLURM_STEP_ID");
    snprintf(text, sizeof text, "%s.%s", id ? id : "", step ? step : "");
    return id && (strcmp(id, job) == 0 || strcmp(text, job) == 0);
}

/* The process, when it is a rank (and of the job, when one is named). */
static int add_if_rank(struct rank_processes *processes, uint32_t pid, const char *job, struct err *err)
{
    struct process_environment environment = {0};
    int result = 0;
    if (process_environment_read(&environment, pid) && (!job || is_of_job(&environment, job))) {
        struct rank rank = rank_find(process_environment_find, &environment);
        const struct rank_process process = {
            .pid = pid, .rank = rank.number, .size = rank.size, .launcher = launcher_of(pid, &rank)};
        if (rank.number != RANK_NONE)
            result = add(processes, &process, err);
    }
    process_environment_clear(&environment);
    return result;
}

static bool is_ours(uint32_t pid)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%" PRIu32, pid);
    return stat(path, &status) == 0 && status.st_uid == geteuid();
}

/* Of this user, or of a job, whoever's. */
static int add_all(struct rank_processes *processes, const char *job, struct err *err)
{
    DIR *stream = opendir("/proc");
    struct dirent *entry;
    int result = stream ? 0 : err_set_errno(err, "cannot read /proc");
    while (result == 0 && (entry = readdir(stream))) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        if (pid && (job || is_ours(pid)))
            result = add_if_rank(processes, pid, job, err);
    }
    if (stream)
        closedir(stream);
    return result;
}

static int add_below(struct rank_processes *processes, uint32_t pid, struct err *err)
{
    struct process_tree tree = {0};
    int result = process_tree_list(&tree, pid, err);
    for (size_t i = 0; i < tree.count && result == 0; i++)
        result = add_if_rank(processes, tree.pids[i], NULL, err);
    process_tree_clear(&tree);
    return result;
}

/* Those that a recording has not seen end. Whether the process still is the rank that it was is asked of itself. */
static int add_recorded(struct rank_processes *processes, const char *path, struct err *err)
{
    struct recording recording = {0};
    int result = input_read(path, &recording, err);
    for (uint32_t i = 1; result == 0 && i < recording.processes_count && !recording.damage.complete; i++) {
        const struct process *process = &recording.processes[i];
        if (process->exit_code == INT32_MIN && !process->end_ns && process->pid <= UINT32_MAX)
            result = add_if_rank(processes, (uint32_t)process->pid, NULL, err);
    }
    recording_clear(&recording);
    return result;
}

static int add_run(struct rank_processes *processes, const char *folder, struct err *err)
{
    struct input_paths paths = {0};
    char *words[] = {(char *)folder};
    int result = input_expand(1, words, &paths, err);
    for (size_t i = 0; i < paths.count && result == 0; i++)
        result = add_recorded(processes, paths.items[i], err);
    input_clear(&paths);
    return result;
}

static bool is_process(const char *word)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s", word);
    return strspn(word, "0123456789") == strlen(word) && access(path, F_OK) == 0;
}

static int add_process_or_job(struct rank_processes *processes, const char *word, struct err *err)
{
    size_t before = processes->count;
    int result = is_process(word) ? add_below(processes, (uint32_t)strtoul(word, NULL, 10), err) : 0;
    return result == 0 && processes->count == before ? add_all(processes, word, err) : result;
}

int rank_processes_find(struct rank_processes *processes, const char *word, struct err *err)
{
    int result;
    if (!word)
        result = add_all(processes, NULL, err);
    else if (folder_is(word))
        result = add_run(processes, word, err);
    else if (*word && strspn(word, "0123456789._") == strlen(word))
        result = add_process_or_job(processes, word, err);
    else
        result = err_set(err, "'%s' is no run folder, job or process", word);
    if (result == 0 && !processes->count)
        result =
            err_set(err, "no process of this host is a rank%s%s; ranks of other hosts are seen there only",
                    word ? " of " : "", word ? word : "");
    if (result < 0)
        rank_processes_clear(processes);
    return result;
}

void rank_processes_clear(struct rank_processes *processes)
{
    free(processes->items);
    *processes = (struct rank_processes){0};
}
