/* sonde unpack: a packed run → the folder that it was. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/staged_folder.h"
#include "store/unpack.h"

#define SUFFIX      ".sondepack"
#define PIECE_BYTES (1u << 20)

struct values {
    const char *output;
    bool keep_going;
};

static int put_file(void *context, const char *name, const void *data, size_t size, struct err *err)
{
    return staged_folder_add(context, name, data, size, err);
}

static int feed(struct unpack *unpack, int fd, struct err *err)
{
    uint8_t *piece = malloc(PIECE_BYTES);
    int result = piece ? 0 : err_set(err, "out of memory");
    for (size_t got = PIECE_BYTES; result == 0 && got == PIECE_BYTES;) {
        errno = 0;
        got = bytes_read(fd, piece, PIECE_BYTES);
        if (got < PIECE_BYTES && errno)
            result = err_set_errno(err, "cannot read %s", unpack->name);
        else
            result = unpack_feed(unpack, piece, got, err);
    }
    free(piece);
    return result == 0 ? unpack_end(unpack, err) : -1;
}

static int unpack_file(const char *path, struct unpack *unpack, struct staged_folder *folder, struct err *err)
{
    bool is_input = strcmp(path, "-") == 0;
    int fd = is_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(err, "cannot read %s", path);
    int result = unpack_open(unpack, is_input ? "standard input" : path, put_file, folder, err);
    if (result == 0)
        result = feed(unpack, fd, err);
    if (!is_input)
        close(fd);
    return result;
}

/* "x/run.slurm-1.0.sondepack" → "run.slurm-1.0", where the user is. */
static char *default_output(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t size = strlen(name), suffix = strlen(SUFFIX);
    if (size <= suffix || strcmp(name + size - suffix, SUFFIX) != 0) {
        err_set(err, "%s does not end in %s, so the folder must be named with -o", path, SUFFIX);
        return NULL;
    }
    char *output = strndup(name, size - suffix);
    if (!output)
        err_set(err, "out of memory");
    return output;
}

static void tell(const struct unpack *unpack, const char *output)
{
    message_note("unpacked %llu file%s into %s", (unsigned long long)unpack->files,
                 unpack->files == 1 ? "" : "s", output);
    if (unpack->other_files)
        message_note("the zstd in this sonde is not the one that made them: %llu hold the same recording in "
                     "other bytes",
                     (unsigned long long)unpack->other_files);
}

static int unpack_into(const char *path, const char *output, bool keep_going, struct err *err)
{
    struct staged_folder folder = {0};
    struct unpack unpack = {0};
    int result = staged_folder_open(&folder, output, err);
    if (result == 0)
        result = unpack_file(path, &unpack, &folder, err);
    if (result != 0 && keep_going && unpack.files) {
        message_warn("%s", err->text);
        *err = (struct err){0};
        result = 0;
    }
    if (result == 0)
        result = staged_folder_commit(&folder, err);
    else
        staged_folder_discard(&folder);
    if (result == 0)
        tell(&unpack, output);
    unpack_clear(&unpack);
    return result;
}

static int run(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    struct err err = {0};
    if (argc != 1) {
        err_set(&err, "unpack must be told which packed run");
        return message_fail_with(&err, "for example: sonde unpack run.slurm-1234.0.sondepack");
    }
    char *output = values->output ? strdup(values->output) : default_output(argv[0], &err);
    int result = output ? unpack_into(argv[0], output, values->keep_going, &err) : -1;
    free(output);
    return result == 0 ? 0 : message_fail(&err);
}

static const struct option options[] = {
    {"output", 'o', OPTION_TEXT, "FOLDER", offsetof(struct values, output), NULL,
     "The folder to make; otherwise the pack's name without .sondepack, in the working directory."},
    {"keep-going", 'k', OPTION_FLAG, NULL, offsetof(struct values, keep_going), NULL,
     "Of a pack that is damaged or cut off, keep the files that are whole."},
    {0},
};

const struct command command_unpack = {
    .name = "unpack",
    .group = "Convert",
    .summary = "Give back the files of a packed run",
    .arguments = "FILE [-o FOLDER]",
    .description =
        "Makes the folder again that 'sonde pack' has put into a file. It appears when it is whole.",
    .examples = "sonde unpack run.slurm-1234.0.sondepack\tmakes the folder run.slurm-1234.0\n",
    .options = options,
    .values_size = sizeof(struct values),
    .run = run,
};
