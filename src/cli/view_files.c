#include "cli/view_files.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/input.h"
#include "cli/output.h"
#include "store/reader.h"

#define PIECE_BYTES ((size_t)1 << 20)
#define HEAD_BYTES  8 /* enough to recognise a recording */

static int read_whole(struct view_file *file, int fd, struct bytes *bytes, struct err *err)
{
    struct stat status;
    if (strcmp(file->path, "-") == 0 || fd < 0)
        return bytes_read_file(bytes, file->path, BYTES_MAX_DEFAULT, err);
    if (fstat(fd, &status) != 0 || !bytes_reserve(bytes, (size_t)status.st_size + 1))
        return err_set(err, "not enough memory for %s", file->path);
    ssize_t got = 0;
    while (bytes->size < (size_t)status.st_size &&
           (got = pread(fd, bytes->data + bytes->size, (size_t)status.st_size - bytes->size,
                        (off_t)bytes->size)) > 0)
        bytes->size += (size_t)got;
    file->size_bytes = (off_t)bytes->size;
    return got < 0 ? err_set_errno(err, "cannot read %s", file->path) : 0;
}

/* ---- while it is written ---- */

/* From where we are to its end. */
static int feed(struct opened_recording *row, struct view_file *file, int fd, struct err *err)
{
    struct bytes piece = {0};
    ssize_t got = 0;
    int result = bytes_reserve(&piece, PIECE_BYTES) ? 0 : err_set(err, "out of memory");
    while (result == 0 && (got = pread(fd, piece.data, PIECE_BYTES, file->size_bytes)) > 0) {
        file->size_bytes += got;
        result = opened_feed(row, piece.data, (size_t)got, err);
    }
    bytes_clear(&piece);
    return result == 0 && got < 0 ? err_set_errno(err, "cannot read %s", file->path) : result;
}

static int replace(struct opened_recording *row, struct view_file *file, int fd, struct err *err)
{
    struct bytes bytes = {0};
    int result = read_whole(file, fd, &bytes, err);
    if (result == 0)
        result = opened_replace(row, bytes.data, bytes.size, err);
    bytes_clear(&bytes);
    return result;
}

int view_files_catch_up(struct opened_recording *row, struct view_file *file, int fd, struct err *err)
{
    if (!row->is_fed)
        return replace(row, file, fd, err);
    if (feed(row, file, fd, err) < 0)
        return -1;
    int settled = opened_settle(row, err);
    return settled == OPENED_MUST_REPLACE ? replace(row, file, fd, err) : settled;
}

/* ---- opening ---- */

static bool is_recording(int fd)
{
    uint8_t head[HEAD_BYTES];
    ssize_t got = pread(fd, head, sizeof head, 0);
    return got > 0 && reader_recognises(head, (size_t)got);
}

static int open_live(struct view_files *files, struct view_file *file, int fd, struct err *err)
{
    if (opened_add_live(&files->opened, file->path, err) < 0)
        return -1;
    return view_files_catch_up(&files->opened.rows[files->opened.count - 1], file, fd, err);
}

static int open_whole(struct view_files *files, struct view_file *file, int fd, struct err *err)
{
    struct bytes bytes = {0};
    const char *name = strcmp(file->path, "-") == 0 ? "standard input" : file->path;
    int result = read_whole(file, fd, &bytes, err);
    if (result == 0)
        result = opened_add(&files->opened, name, bytes.data, bytes.size, err);
    bytes_clear(&bytes);
    return result;
}

static bool is_being_made(const struct view_files *files, int fd)
{
    return files->is_being_made ? files->is_being_made(files->context) : output_is_being_written(fd);
}

static int open_one(struct view_files *files, const char *path, struct err *err)
{
    struct view_file *file = &files->files[files->opened.count < OPENED_MAX ? files->opened.count : 0];
    struct stat status;
    *file = (struct view_file){.path = path};
    int fd = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        file->device = status.st_dev;
        file->number = status.st_ino;
    } else if (fd >= 0) {
        close(fd);
        fd = -1;
    }
    int result = fd >= 0 && is_recording(fd) && is_being_made(files, fd) ? open_live(files, file, fd, err)
                                                                         : open_whole(files, file, fd, err);
    if (fd >= 0)
        close(fd);
    return result;
}

int view_files_open(struct view_files *files, const struct input_paths *paths, struct err *err)
{
    if (paths->count > OPENED_MAX)
        return err_set(
            err, "%zu recordings are too many for one page; name at most %d, or add them up: sonde merge",
            paths->count, OPENED_MAX);
    for (size_t i = 0; i < paths->count; i++)
        if (open_one(files, paths->items[i], err) < 0)
            return -1;
    return 0;
}

void view_files_close(struct view_files *files)
{
    opened_clear(&files->opened);
}

/* ---- looking again ---- */

static bool is_replaced(const struct view_file *file, const struct stat *status)
{
    return status->st_dev != file->device || status->st_ino != file->number ||
           status->st_size < file->size_bytes;
}

/* A recording that was closed may still grow: names of native functions are appended. One that another took the place
 * of is read anew. */
static enum view_change look_at(struct view_files *files, uint32_t number, int fd, const struct stat *status,
                                struct err *err)
{
    struct opened_recording *row = &files->opened.rows[number];
    struct view_file *file = &files->files[number];
    bool replaced = is_replaced(file, status), was_live = row->is_live;
    bool changed = replaced || status->st_size != file->size_bytes;
    if (!changed && !was_live)
        return VIEW_SAME;
    bool live = is_being_made(files, fd); /* before reading: what it writes last is then not missed */
    if (!changed && live)
        return VIEW_SAME;
    file->device = status->st_dev;
    file->number = status->st_ino;
    int result = replaced ? replace(row, file, fd, err) : view_files_catch_up(row, file, fd, err);
    row->is_live = live;
    if (result < 0)
        return VIEW_FAILED;
    return was_live && !live ? VIEW_ENDED : VIEW_GROWN;
}

/* It was deleted: what was read stays. */
static enum view_change look_at_nothing(struct opened_recording *row)
{
    bool was_live = row->is_live;
    row->is_live = false;
    return was_live ? VIEW_ENDED : VIEW_SAME;
}

enum view_change view_files_look(struct view_files *files, uint32_t number, struct err *err)
{
    struct view_file *file = &files->files[number];
    struct stat status;
    if (!file->number)
        return VIEW_SAME;
    int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return look_at_nothing(&files->opened.rows[number]);
    enum view_change change = VIEW_SAME;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
        change = look_at(files, number, fd, &status, err);
    close(fd);
    return change;
}
