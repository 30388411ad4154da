#include "cli/spill.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* ---- for another process ---- */

/* The number of a process and of its descriptor are found again on every machine and in every container: what makes the
 * place the one that was meant is the file's identity there, and the machine's. */
struct place {
    char machine[40]; /* since it was started */
    uint64_t device, file, held_bytes;
    int32_t process, fd;
};

static bool find_machine(struct place *place)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    size_t size = fd >= 0 ? bytes_read(fd, place->machine, sizeof place->machine) : 0;
    if (fd >= 0)
        close(fd);
    return size > 0;
}

static bool find_file(struct place *place, int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return false;
    place->device = status.st_dev;
    place->file = status.st_ino;
    return true;
}

void spill_put_place(const struct spill *spill, struct bytes *place)
{
    struct place found = {
        .held_bytes = spill->held_bytes, .process = (int32_t)getpid(), .fd = (int32_t)spill->fd};
    if (find_machine(&found) && find_file(&found, spill->fd))
        bytes_put(place, &found, sizeof found);
}

bool spill_open_place(struct spill *spill, const struct bytes *place)
{
    struct place meant, found = {0};
    char path[64];
    *spill = (struct spill){0};
    if (place->size != sizeof meant)
        return false;
    memcpy(&meant, place->data, sizeof meant);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", meant.process, meant.fd);
    if (!find_machine(&found) || memcmp(found.machine, meant.machine, sizeof found.machine) != 0)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd <= 0)
        return false;
    *spill = (struct spill){.fd = fd, .held_bytes = meant.held_bytes};
    if (find_file(&found, fd) && found.device == meant.device && found.file == meant.file)
        return true;
    spill_close(spill);
    return false;
}
