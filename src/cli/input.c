#include "cli/input.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/merge.h"
#include "analyse/rank_times.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/folder.h"
#include "cli/gzipped.h"
#include "cli/message.h"
#include "cli/tau_folder.h"
#include "import/formats.h"
#include "store/recording.h"

#define FILE_BYTES_MAX BYTES_MAX_DEFAULT

int input_read(const char *path, struct recording *recording, struct err *err)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    struct bytes bytes = {0};
    if (tau_folder_is(path))
        return tau_folder_read(path, recording, err);
    int result = bytes_read_file(&bytes, path, FILE_BYTES_MAX, err);
    if (result == 0)
        result = gzipped_expand(&bytes, name, FILE_BYTES_MAX, err);
    if (result == 0)
        result = formats_read(bytes.data, bytes.size, name, recording, err);
    if (result == 0 && recording->damage.truncated && !recording->chunks_count) {
        recording_clear(recording);
        result = err_set(err,
                         "%s is cut off before its first chunk, so there is nothing to read in it; "
                         "copy it again, or record again",
                         name);
    }
    bytes_clear(&bytes);
    return result;
}

/* The recording at `place` (1 = the newest) of the working directory; the caller frees. */
static char *nth_newest(size_t place, struct err *err)
{
    struct folder folder = {0};
    if (folder_read(".", place, &folder, err) != 0)
        return NULL;
    char *path = NULL;
    if (folder.count >= place) {
        path = strdup(folder.entries[place - 1].path);
        if (!path)
            err_set(err, "out of memory");
    } else if (folder.count == 0) {
        err_set(err, "no recording in the working directory; name one, or make one: sonde trace SCRIPT");
    } else {
        err_set(err, "@%zu: the working directory has only %zu recording%s; see 'sonde list'", place,
                folder.count, folder.count == 1 ? "" : "s");
    }
    folder_clear(&folder);
    return path;
}

/* The newest recording in the working directory (by content, so a .prof counts too); its name is printed to standard error. */
static char *find_newest(struct err *err)
{
    char *path = nth_newest(1, err);
    if (path)
        message_note("reading %s (the newest recording here)", path);
    return path;
}

/* Takes `path` over, also when it fails. */
static int add_path(struct input_paths *paths, char *path, struct err *err)
{
    char **items = path ? realloc(paths->items, (paths->count + 1) * sizeof *items) : NULL;
    if (!items) {
        free(path);
        return err_set(err, "out of memory");
    }
    paths->items = items;
    paths->items[paths->count++] = path;
    return 0;
}

static int by_path(const void *left, const void *right)
{
    return strcmp(((const struct folder_entry *)left)->path, ((const struct folder_entry *)right)->path);
}

/* By name, so that ranks come in order and a sum does not depend on who finished last. Runs in it are runs of their own
 * and not meant. */
static int add_folder(struct input_paths *paths, const char *path, struct err *err)
{
    struct folder folder = {0};
    if (folder_read(path, 0, &folder, err) != 0)
        return -1;
    int result = 0;
    size_t before = paths->count;
    if (folder.count == 0 && tau_folder_is(path))
        result = add_path(paths, strdup(path), err);
    else if (folder.count)
        qsort(folder.entries, folder.count, sizeof *folder.entries, by_path);
    for (size_t index = 0; index < folder.count && result == 0; index++)
        result = folder.entries[index].first ? 0 : add_path(paths, strdup(folder.entries[index].path), err);
    if (result == 0 && paths->count > before && folder.spoilt)
        message_warn(folder.spoilt_count > 1 ? "%s and %zu more files are no recordings: left out"
                                             : "%s is no recording: left out",
                     folder.spoilt, folder.spoilt_count - 1);
    if (result == 0 && paths->count == before)
        result = err_set(err, "the folder %s holds no recording%s", path,
                         folder.count ? ", but runs; name one of these" : "");
    folder_clear(&folder);
    return result;
}

/* A file, or the folder of a run. Takes `path` over. */
static int add_recording(struct input_paths *paths, char *path, struct err *err)
{
    if (!path || !folder_is(path))
        return add_path(paths, path, err);
    int result = add_folder(paths, path, err);
    free(path);
    return result;
}

/* "@N" → N; 0 when the word is not of that form, or is the name of a file. */
static size_t place_of(const char *word)
{
    char *end;
    if (word[0] != '@' || word[1] < '1' || word[1] > '9' || access(word, F_OK) == 0)
        return 0;
    unsigned long place = strtoul(word + 1, &end, 10);
    return *end ? 0 : place;
}

/* A quoted 'base.*.part' reaches us as it is. Names come sorted. */
static int add_matches(struct input_paths *paths, const char *pattern, struct err *err)
{
    glob_t found = {0};
    int result = glob(pattern, 0, NULL, &found) == 0 ? 0 : err_set(err, "no file matches '%s'", pattern);
    for (size_t index = 0; index < found.gl_pathc && result == 0; index++)
        result = add_path(paths, strdup(found.gl_pathv[index]), err);
    globfree(&found);
    return result;
}

static bool is_pattern(const char *word)
{
    return strpbrk(word, "*?[") && access(word, F_OK) != 0;
}

static int add_word(struct input_paths *paths, const char *word, struct err *err)
{
    size_t place = place_of(word);
    if (is_pattern(word))
        return add_matches(paths, word, err);
    if (place == 0)
        return add_recording(paths, strdup(word), err);
    char *path = nth_newest(place, err);
    if (!path)
        return -1;
    message_note("reading %s (%s)", path, word);
    return add_recording(paths, path, err);
}

int input_expand(int argc, char **argv, struct input_paths *paths, struct err *err)
{
    int result = 0;
    if (argc == 0) {
        char *newest = find_newest(err);
        result = newest ? add_recording(paths, newest, err) : -1;
    }
    for (int index = 0; index < argc && result == 0; index++)
        result = add_word(paths, argv[index], err);
    if (result != 0)
        input_clear(paths);
    return result;
}

void input_clear(struct input_paths *paths)
{
    for (size_t index = 0; index < paths->count; index++)
        free(paths->items[index]);
    free(paths->items);
    *paths = (struct input_paths){0};
}

static int read_sum(const struct input_paths *paths, struct recording *recording, struct err *err)
{
    struct merge merge = {0};
    int result = 0;
    for (size_t index = 0; index < paths->count && result == 0; index++) {
        struct recording one = {0};
        result = input_read(paths->items[index], &one, err);
        if (result == 0)
            result = merge_add(&merge, &one, err);
        recording_clear(&one);
    }
    if (result == 0)
        result = merge_take(&merge, recording, err);
    merge_clear(&merge);
    return result;
}

static char *heading(const struct input_paths *paths)
{
    char *text = NULL;
    const char *first = strcmp(paths->items[0], "-") == 0 ? "standard input" : paths->items[0];
    if (paths->count == 1)
        return strdup(first);
    if (asprintf(&text, "%s and %zu more, summed", first, paths->count - 1) < 0)
        return NULL;
    return text;
}

int input_read_all(int argc, char **argv, struct recording *recording, char **name, struct err *err)
{
    struct input_paths paths = {0};
    if (input_expand(argc, argv, &paths, err) != 0)
        return -1;
    int result =
        paths.count == 1 ? input_read(paths.items[0], recording, err) : read_sum(&paths, recording, err);
    if (result == 0)
        result = rank_times_align(recording, err);
    if (result == 0 && name) {
        *name = heading(&paths);
        if (!*name)
            result = err_set(err, "out of memory");
    }
    input_clear(&paths);
    return result;
}
