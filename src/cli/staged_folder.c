#include "cli/staged_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"

#define OPEN_FOLDERS_MAX 8

/* Whether a folder may be put there. */
static int check_path(const char *path, struct err *err)
{
    struct stat status;
    if (strcmp(path, "-") == 0 || !path[0])
        return err_set(err, "this format is a folder of files; name one with -o");
    if (lstat(path, &status) != 0)
        return errno == ENOENT ? 0 : err_set_errno(err, "cannot write %s", path);
    if (!S_ISDIR(status.st_mode))
        return err_set(err, "%s is a file, and this format is a folder of files; name another with -o", path);
    DIR *stream = opendir(path);
    if (!stream)
        return err_set_errno(err, "cannot read the folder %s", path);
    int names = 0;
    while (readdir(stream))
        names++;
    closedir(stream);
    return names <= 2 ? 0 : err_set(err, "the folder %s is not empty; name another with -o", path);
}

int staged_folder_open(struct staged_folder *folder, const char *path, struct err *err)
{
    size_t size = strlen(path);
    *folder = (struct staged_folder){.path = path};
    if (check_path(path, err) < 0)
        return -1;
    while (size > 1 && path[size - 1] == '/')
        size--;
    if (asprintf(&folder->temporary, "%.*s.%d.tmp", (int)size, path, (int)getpid()) < 0) {
        *folder = (struct staged_folder){0};
        return err_set(err, "out of memory");
    }
    if (mkdir(folder->temporary, 0777) == 0)
        return 0;
    err_set_errno(err, "cannot write %s", folder->temporary);
    free(folder->temporary);
    *folder = (struct staged_folder){0};
    return -1;
}

int staged_folder_add(struct staged_folder *folder, const char *name, const void *data, size_t size,
                      struct err *err)
{
    char *path = NULL;
    if (asprintf(&path, "%s/%s", folder->temporary, name) < 0)
        return err_set(err, "out of memory");
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool written = fd >= 0 && bytes_write(fd, data, size);
    if (fd >= 0 && close(fd) != 0)
        written = false;
    if (!written)
        err_set_errno(err, "cannot write %s", path);
    free(path);
    folder->files += written;
    return written ? 0 : -1;
}

/* rename replaces an empty folder. */
int staged_folder_commit(struct staged_folder *folder, struct err *err)
{
    if (rename(folder->temporary, folder->path) != 0) {
        err_set_errno(err, "cannot write %s", folder->path);
        staged_folder_discard(folder);
        return -1;
    }
    free(folder->temporary);
    *folder = (struct staged_folder){0};
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *position)
{
    (void)status, (void)type, (void)position;
    return remove(path);
}

void staged_folder_discard(struct staged_folder *folder)
{
    if (!folder->temporary)
        return;
    nftw(folder->temporary, remove_one, OPEN_FOLDERS_MAX, FTW_DEPTH | FTW_PHYS);
    free(folder->temporary);
    *folder = (struct staged_folder){0};
}
