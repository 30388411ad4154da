#include "cli/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/run_folder.h"
#include "import/formats.h"

#define SNIFF_BYTES 4096
#define ENTRIES_MAX 1000000

bool folder_is(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static char *join(const char *folder, const char *name)
{
    struct bytes path = {0};
    if (strcmp(folder, ".") != 0)
        bytes_putf(&path, "%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/");
    bytes_put(&path, name, strlen(name) + 1);
    size_t size;
    if (path.failed)
        bytes_clear(&path);
    return (char *)bytes_take(&path, &size);
}

static int64_t modified_ns(const struct stat *status)
{
    return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

static int add(struct folder *folder, size_t *capacity, const char *path, const char *name,
               const struct stat *status)
{
    if (folder->count == *capacity) {
        size_t larger = *capacity ? *capacity * 2 : 64;
        struct folder_entry *entries = realloc(folder->entries, larger * sizeof *entries);
        if (!entries)
            return -1;
        folder->entries = entries;
        *capacity = larger;
    }
    struct folder_entry entry = {
        .path = join(path, name),
        .modified_ns = modified_ns(status),
        .size_bytes = (uint64_t)status->st_size,
    };
    if (!entry.path)
        return -1;
    folder->entries[folder->count++] = entry;
    return 0;
}

/* Takes one of its files into account. */
static int add_rank(struct folder_entry *run, const char *name, const struct stat *status)
{
    char *path = join(run->path, name);
    if (!path)
        return -1;
    run->ranks++;
    run->size_bytes += (uint64_t)status->st_size;
    if (modified_ns(status) > run->modified_ns)
        run->modified_ns = modified_ns(status);
    if (run->first && strcmp(run->first, path) <= 0) {
        free(path);
        return 0;
    }
    free(run->first);
    run->first = path;
    return 0;
}

/* What is there of a run's ranks. */
static int survey_run(struct folder_entry *run)
{
    DIR *stream = opendir(run->path);
    int result = 0;
    run->size_bytes = 0;
    for (struct dirent *item; stream && result == 0 && (item = readdir(stream));) {
        struct stat status;
        if (strncmp(item->d_name, "rank-", 5) == 0 && fstatat(dirfd(stream), item->d_name, &status, 0) == 0 &&
            S_ISREG(status.st_mode))
            result = add_rank(run, item->d_name, &status);
    }
    if (stream)
        closedir(stream);
    return result;
}

static bool is_run(int folder, const char *name)
{
    char path[NAME_MAX + sizeof "/" RUN_FOLDER_NOTE];
    snprintf(path, sizeof path, "%s/" RUN_FOLDER_NOTE, name);
    return faccessat(folder, path, F_OK, 0) == 0;
}

/* Half-written results of a command that was killed (cli/staged.h) are nobody's recording. */
static bool is_temporary(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".tmp") == 0;
}

/* Every plain file, recording or not, and every run. */
static int gather(DIR *stream, const char *path, struct folder *folder, struct err *err)
{
    size_t capacity = 0;
    for (struct dirent *item; (item = readdir(stream)) && folder->count < ENTRIES_MAX;) {
        struct stat status;
        if (item->d_name[0] == '.' || is_temporary(item->d_name) ||
            fstatat(dirfd(stream), item->d_name, &status, 0) != 0)
            continue;
        bool has_ranks = S_ISDIR(status.st_mode) && is_run(dirfd(stream), item->d_name);
        if (!S_ISREG(status.st_mode) && !has_ranks)
            continue;
        if (add(folder, &capacity, path, item->d_name, &status) != 0 ||
            (has_ranks && survey_run(&folder->entries[folder->count - 1]) != 0))
            return err_set(err, "%s: out of memory", path);
    }
    return 0;
}

static int newer_first(const void *left, const void *right)
{
    const struct folder_entry *a = left, *b = right;
    if (a->modified_ns != b->modified_ns)
        return a->modified_ns < b->modified_ns ? 1 : -1;
    return strcmp(b->path, a->path); /* run ids sort by time, so the later name is the newer */
}

const struct format *folder_sniff(const char *path)
{
    uint8_t head[SNIFF_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? -1 : read(fd, head, sizeof head);
    if (fd >= 0)
        close(fd);
    return got > 0 ? formats_find(head, (size_t)got) : NULL;
}

static void clear_entry(struct folder_entry *entry)
{
    free(entry->path);
    free(entry->first);
}

/* Takes its path over. The first by name is told of, whatever order files are found in. */
static void note_spoilt(struct folder *folder, struct folder_entry *entry)
{
    const char *dot = strrchr(entry->path, '.');
    if (entry->first || entry->format || !dot || strcmp(dot, ".sonde") != 0) {
        clear_entry(entry);
        return;
    }
    folder->spoilt_count++;
    bool is_before = !folder->spoilt || strcmp(entry->path, folder->spoilt) < 0;
    free(is_before ? folder->spoilt : entry->path);
    folder->spoilt = is_before ? entry->path : folder->spoilt;
}

static void keep_recordings(struct folder *folder, size_t limit)
{
    size_t kept = 0;
    for (size_t index = 0; index < folder->count; index++) {
        struct folder_entry *entry = &folder->entries[index];
        if (limit == 0 || kept < limit)
            entry->format = folder_sniff(entry->first ? entry->first : entry->path);
        if (entry->format && entry->format->listed)
            folder->entries[kept++] = *entry;
        else if (limit == 0)
            note_spoilt(folder, entry);
        else
            clear_entry(entry);
    }
    folder->count = kept;
}

int folder_read(const char *path, size_t limit, struct folder *folder, struct err *err)
{
    DIR *stream = opendir(path);
    if (!stream)
        return err_set_errno(err, "cannot read the folder %s", path);
    int result = gather(stream, path, folder, err);
    closedir(stream);
    if (result != 0) {
        folder_clear(folder);
        return -1;
    }
    if (folder->count)
        qsort(folder->entries, folder->count, sizeof *folder->entries, newer_first);
    keep_recordings(folder, limit);
    return 0;
}

void folder_clear(struct folder *folder)
{
    for (size_t index = 0; index < folder->count; index++)
        clear_entry(&folder->entries[index]);
    free(folder->entries);
    free(folder->spoilt);
    *folder = (struct folder){0};
}
