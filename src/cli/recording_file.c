#include "cli/recording_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/message.h"

static void tell_failure(struct recording_file *file, const struct err *err)
{
    file->failed = true;
    message_warn("%s; the program goes on, but no more of it is recorded", err->text);
    if (recording_file_is_plain(file) && ftruncate(file->fd, (off_t)file->whole_bytes) != 0)
        message_warn("%s ends in the middle of a chunk, which readers leave out", file->path);
}

int recording_file_append(void *context, const void *data, size_t size, struct err *err)
{
    struct recording_file *file = context;
    if (bytes_write(file->fd, data, size)) {
        file->whole_bytes += size;
        return 0;
    }
    err_set_errno(err, "cannot write %s", file->path);
    tell_failure(file, err);
    return -1;
}

bool recording_file_is_plain(const struct recording_file *file)
{
    struct stat status;
    return fstat(file->fd, &status) == 0 && S_ISREG(status.st_mode);
}

void recording_file_remove(const struct recording_file *file)
{
    if (recording_file_is_plain(file))
        unlink(file->path);
}

void recording_file_close(struct recording_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    free(file->path);
    *file = (struct recording_file){.fd = -1};
}
