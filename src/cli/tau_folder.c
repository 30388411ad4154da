#include "cli/tau_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "import/tau_profile.h"
#include "import/tau_reader.h"
#include "store/recording.h"

#define METRIC_PREFIX  "MULTI__"
#define FILE_BYTES_MAX ((size_t)1 << 31)

static int is_profile(const struct dirent *entry)
{
    return tau_reader_names(entry->d_name);
}

static int is_time_folder(const struct dirent *entry)
{
    size_t size = strlen(METRIC_PREFIX);
    return strncmp(entry->d_name, METRIC_PREFIX, size) == 0 &&
           tau_reader_is_time(entry->d_name + size, strlen(entry->d_name) - size);
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* "profile.2.0.0" before "profile.10.0.0". */
static int by_number(const struct dirent **a, const struct dirent **b)
{
    return strverscmp((*a)->d_name, (*b)->d_name);
}

/* The folder that the files are in: the path, or MULTI__TIME in it; the caller frees. NULL = there is none. */
static char *find_files(const char *path, struct dirent ***entries, int *count)
{
    char *folder = strdup(path);
    struct dirent **metrics;
    *count = folder ? scandir(path, entries, is_profile, by_number) : -1;
    if (*count == 0) {
        free(*entries);
        free(folder);
        folder = NULL;
        /* Sorted, and backwards: TIME is taken before CPU_TIME. */
        int found = scandir(path, &metrics, is_time_folder, alphasort);
        if (found > 0 && asprintf(&folder, "%s/%s", path, metrics[found - 1]->d_name) < 0)
            folder = NULL;
        if (found >= 0)
            free_entries(metrics, found);
        *count = folder ? scandir(folder, entries, is_profile, by_number) : -1;
    }
    if (*count > 0)
        return folder;
    if (*count == 0)
        free(*entries);
    free(folder);
    return NULL;
}

bool tau_folder_is(const char *path)
{
    struct dirent **entries;
    int count;
    char *folder = find_files(path, &entries, &count);
    if (!folder)
        return false;
    free_entries(entries, count);
    free(folder);
    return true;
}

static int read_file(struct tau_profile *profile, const char *folder, const char *name, struct err *err)
{
    struct bytes bytes = {0};
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return err_set(err, "out of memory");
    int result = bytes_read_file(&bytes, path, FILE_BYTES_MAX, err);
    if (result == 0)
        result = tau_reader_add(profile, bytes.data, bytes.size, path, err);
    bytes_clear(&bytes);
    free(path);
    return result;
}

int tau_folder_read(const char *path, struct recording *recording, struct err *err)
{
    struct tau_profile profile = {.recording = recording};
    struct dirent **entries;
    int count, result = recording_init(recording, err);
    char *folder = result == 0 ? find_files(path, &entries, &count) : NULL;
    if (!folder)
        return err_set(err, "the folder %s holds no TAU profile", path);
    profile.alone = count == 1;
    for (int i = 0; i < count && result == 0; i++)
        result = read_file(&profile, folder, entries[i]->d_name, err);
    if (result == 0 && tau_profile_finish(&profile) < 0)
        result = err_set(err, "out of memory while reading %s", path);
    tau_profile_clear(&profile);
    free_entries(entries, count);
    free(folder);
    if (result < 0)
        recording_clear(recording);
    return result;
}
