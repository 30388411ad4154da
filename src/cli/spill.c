#include "cli/spill.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"

static const char *folder(void)
{
    const char *chosen = getenv("TMPDIR");
    return chosen && *chosen ? chosen : "/tmp";
}

int spill_open(struct spill *spill, struct err *err)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/sonde-XXXXXX", folder());
    *spill = (struct spill){.fd = mkostemp(path, O_CLOEXEC)};
    if (spill->fd > 0)
        return unlink(path) == 0 ? 0 : err_set_errno(err, "cannot remove %s", path);
    spill->fd = 0;
    return err_set_errno(err, "cannot make a temporary file in %s; TMPDIR may name another folder", folder());
}

void spill_close(struct spill *spill)
{
    if (spill->fd > 0)
        close(spill->fd);
    *spill = (struct spill){0};
}

int spill_append(void *context, const void *data, size_t size, struct err *err)
{
    struct spill *spill = context;
    spill->held_bytes += size;
    if (bytes_write(spill->fd, data, size))
        return 0;
    return err_set_errno(err, "cannot write a temporary file in %s; TMPDIR may name another folder",
                         folder());
}

int spill_read(struct spill *spill, void *data, size_t size, struct err *err)
{
    if (!spill->is_read && lseek(spill->fd, 0, SEEK_SET) != 0)
        return err_set_errno(err, "cannot read a temporary file in %s", folder());
    spill->is_read = true;
    if (spill->held_bytes == 0)
        return 0;
    if (size > spill->held_bytes || bytes_read(spill->fd, data, size) < size)
        return err_set(err, "a temporary file in %s cannot be read", folder());
    spill->held_bytes -= size;
    return 1;
}
