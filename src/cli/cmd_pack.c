/* sonde pack: the files of a run → one file. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/folder.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/staged.h"
#include "store/pack.h"

#define PROGRESS_FILES 50
#define SUFFIX         ".sondepack"

struct values {
    const char *output;
};

/* Paths of the files to be packed, sorted by name: ranks that are neighbours are most alike. */
struct members {
    char **paths;
    size_t count;
};

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int by_name(const void *left, const void *right)
{
    return strcmp(name_of(*(char *const *)left), name_of(*(char *const *)right));
}

static void members_clear(struct members *members)
{
    for (size_t i = 0; i < members->count; i++)
        free(members->paths[i]);
    free(members->paths);
    *members = (struct members){0};
}

static int add_member(struct members *members, const char *folder, const char *name, struct err *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s%s%s", folder ? folder : "", folder ? "/" : "", name) < 0)
        return err_set(err, "out of memory");
    char **paths = realloc(members->paths, (members->count + 1) * sizeof *paths);
    if (!paths) {
        free(path);
        return err_set(err, "out of memory");
    }
    members->paths = paths;
    members->paths[members->count++] = path;
    return 0;
}

/* Half-written results, packs, hidden files and folders stay behind. */
static bool is_member(DIR *stream, const char *name)
{
    struct stat status;
    const char *suffix = strrchr(name, '.');
    if (suffix && (strcmp(suffix, ".tmp") == 0 || strcmp(suffix, SUFFIX) == 0))
        return false;
    return name[0] != '.' && fstatat(dirfd(stream), name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

static int add_folder(struct members *members, const char *folder, struct err *err)
{
    DIR *stream = opendir(folder);
    if (!stream)
        return err_set_errno(err, "cannot read the folder %s", folder);
    int result = 0;
    for (struct dirent *item; result == 0 && (item = readdir(stream));)
        if (is_member(stream, item->d_name))
            result = add_member(members, folder, item->d_name, err);
    closedir(stream);
    return result;
}

static int check_members(const struct members *members, struct err *err)
{
    if (members->count == 0)
        return err_set(err, "there is nothing to pack");
    for (size_t i = 0; i < members->count; i++) {
        const char *name = name_of(members->paths[i]);
        if (!pack_is_name(name, strlen(name)))
            return err_set(err, "%s has a name that cannot be packed; give it another", members->paths[i]);
        if (i && strcmp(name, name_of(members->paths[i - 1])) == 0)
            return err_set(err, "two files are called %s: pack their folders one by one", name);
    }
    return 0;
}

static int find_members(int argc, char **argv, struct members *members, struct err *err)
{
    int result = 0;
    for (int i = 0; i < argc && result == 0; i++)
        result =
            folder_is(argv[i]) ? add_folder(members, argv[i], err) : add_member(members, NULL, argv[i], err);
    if (members->count)
        qsort(members->paths, members->count, sizeof *members->paths, by_name);
    return result == 0 ? check_members(members, err) : -1;
}

/* "run.slurm-1.0/" → "run.slurm-1.0.sondepack", where the user is. */
static char *default_output(const char *word, struct err *err)
{
    char *path = NULL, *whole = realpath(word, NULL);
    if (!whole)
        err_set_errno(err, "cannot read %s", word);
    else if (asprintf(&path, "%s" SUFFIX, name_of(whole)) < 0)
        path = NULL;
    free(whole);
    return path;
}

struct job {
    struct staged file;
    struct pack pack;
    uint64_t read_bytes, packed_bytes;
};

static int put(void *context, const void *data, size_t size, struct err *err)
{
    struct job *job = context;
    job->packed_bytes += size;
    return staged_append(&job->file, data, size, err);
}

static int add_file(struct job *job, const char *path, struct err *err)
{
    struct bytes bytes = {0};
    int result = bytes_read_file(&bytes, path, BYTES_MAX_DEFAULT, err);
    if (result == 0)
        result = pack_add(&job->pack, name_of(path), bytes.data, bytes.size, err);
    job->read_bytes += bytes.size;
    bytes_clear(&bytes);
    return result;
}

static int pack_members(struct job *job, const struct members *members, struct err *err)
{
    bool shown = members->count >= PROGRESS_FILES && progress_is_wanted();
    int result = pack_open(&job->pack, put, job, err);
    for (size_t i = 0; i < members->count && result == 0; i++) {
        if (shown && i % (members->count / 100 + 1) == 0)
            progress_show_part("packing", i, members->count);
        result = add_file(job, members->paths[i], err);
    }
    progress_wipe();
    return result == 0 ? pack_end(&job->pack, err) : -1;
}

static int refuse_foreign(const char *output, struct err *err)
{
    char head[PACK_HEADER_BYTES];
    struct stat status;
    if (stat(output, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return 0;
    int fd = open(output, O_RDONLY | O_CLOEXEC);
    bool is_pack = fd >= 0 && pack_recognises(head, bytes_read(fd, head, sizeof head));
    if (fd >= 0)
        close(fd);
    if (is_pack)
        return 0;
    return err_set(err, "%s exists and is no packed run; remove it, or name another output with -o", output);
}

static int pack_into(const char *output, const struct members *members, struct err *err)
{
    struct job job = {0};
    int result = refuse_foreign(output, err);
    if (result == 0)
        result = staged_open(&job.file, output, err);
    if (result == 0)
        result = pack_members(&job, members, err);
    if (result == 0)
        result = staged_commit(&job.file, err);
    pack_clear(&job.pack);
    staged_discard(&job.file);
    if (result == 0)
        message_note("packed %zu file%s, %s, into %s, %s", members->count, members->count == 1 ? "" : "s",
                     quantity_bytes((double)job.read_bytes).text, output,
                     quantity_bytes((double)job.packed_bytes).text);
    return result;
}

static int run(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    struct members members = {0};
    if (argc == 0) {
        err_set(&err, "pack must be told what to pack");
        return message_fail_with(&err, "for example: sonde pack run.slurm-1234.0");
    }
    char *output = values->output ? strdup(values->output) : default_output(argv[0], &err);
    int result = output ? find_members(argc, argv, &members, &err) : err_set(&err, "out of memory");
    if (result == 0)
        result = pack_into(output, &members, &err);
    members_clear(&members);
    free(output);
    return result == 0 ? 0 : message_fail(&err);
}

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL,
     "Where the pack goes; otherwise the folder's name with .sondepack, in the working directory."},
    {0},
};

const struct command command_pack = {
    .name = "pack",
    .group = "Convert",
    .summary = "Put a run of many ranks into one small file",
    .arguments = "FOLDER|FILE... [-o FILE]",
    .description = "Makes one file of all files of a run, to carry it to another machine. What the ranks "
                   "have in common is kept once. "
                   "'sonde unpack' gives the files back as they were.",
    .examples = "sonde pack run.slurm-1234.0\tmakes run.slurm-1234.0.sondepack\n"
                "sonde unpack run.slurm-1234.0.sondepack\tat home\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
