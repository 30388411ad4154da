#include "cli/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"

static const char *name_of(const struct staged *staged)
{
    return strcmp(staged->path, "-") == 0 ? "to standard output" : staged->path;
}

int staged_open(struct staged *staged, const char *path, struct err *err)
{
    *staged = (struct staged){.path = path};
    struct stat status;
    if (strcmp(path, "-") == 0) {
        fflush(stdout);
        staged->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    } else if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        staged->fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    } else if (asprintf(&staged->temporary, "%s.%d.tmp", path, (int)getpid()) < 0) {
        staged->temporary = NULL;
        return err_set(err, "out of memory");
    } else {
        staged->fd = open(staged->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    if (staged->fd >= 0)
        return 0;
    err_set_errno(err, "cannot write %s", name_of(staged));
    free(staged->temporary);
    *staged = (struct staged){0};
    return -1;
}

int staged_append(void *context, const void *data, size_t size, struct err *err)
{
    const struct staged *staged = context;
    return bytes_write(staged->fd, data, size) ? 0 : err_set_errno(err, "cannot write %s", name_of(staged));
}

/* Closing can tell of a write that failed late (NFS, quotas). */
int staged_commit(struct staged *staged, struct err *err)
{
    int result = close(staged->fd);
    if (result == 0 && staged->temporary)
        result = rename(staged->temporary, staged->path);
    if (result != 0) {
        err_set_errno(err, "cannot write %s", name_of(staged));
        if (staged->temporary)
            unlink(staged->temporary);
    }
    free(staged->temporary);
    *staged = (struct staged){0};
    return result;
}

void staged_discard(struct staged *staged)
{
    if (!staged->path)
        return;
    close(staged->fd);
    if (staged->temporary)
        unlink(staged->temporary);
    free(staged->temporary);
    *staged = (struct staged){0};
}
