#include "cli/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
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
        .modified_ns = (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec,
        .size_bytes = (uint64_t)status->st_size,
    };
    if (!entry.path)
        return -1;
    folder->entries[folder->count++] = entry;
    return 0;
}

/* Half-written results of a command that was killed (cli/staged.h) are nobody's recording. */
static bool is_temporary(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot && strcmp(dot, ".tmp") == 0;
}

/* Every plain file, recording or not. */
static int gather(DIR *stream, const char *path, struct folder *folder, struct err *err)
{
    size_t capacity = 0;
    for (struct dirent *item; (item = readdir(stream)) && folder->count < ENTRIES_MAX;) {
        struct stat status;
        if (item->d_name[0] == '.' || is_temporary(item->d_name) ||
            fstatat(dirfd(stream), item->d_name, &status, 0) != 0 || !S_ISREG(status.st_mode))
            continue;
        if (add(folder, &capacity, path, item->d_name, &status) != 0)
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

static void keep_recordings(struct folder *folder, size_t limit)
{
    size_t kept = 0;
    for (size_t index = 0; index < folder->count; index++) {
        struct folder_entry *entry = &folder->entries[index];
        if (limit == 0 || kept < limit)
            entry->format = folder_sniff(entry->path);
        if (entry->format && entry->format->listed)
            folder->entries[kept++] = *entry;
        else
            free(entry->path);
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
        free(folder->entries[index].path);
    free(folder->entries);
    *folder = (struct folder){0};
}
