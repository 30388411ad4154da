#include "cli/page_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/input.h"
#include "cli/staged.h"
#include "export/page_writer.h"
#include "export/stream.h"
#include "import/formats.h"
#include "query/opened.h"
#include "store/recording.h"

/* Whoever opens the page must not be the first to see that a file is no recording. */
static int read_one(const char *path, struct bytes *bytes, struct page_writer_file *file, struct err *err)
{
    struct recording recording = {0};
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    int result = bytes_read_file(bytes, path, BYTES_MAX_DEFAULT, err);
    if (result == 0)
        result = formats_read(bytes->data, bytes->size, name, &recording, err);
    recording_clear(&recording);
    *file = (struct page_writer_file){.name = name, .data = bytes->data, .size = bytes->size};
    return result;
}

static int write_with(const char *path, const struct page_writer_file *files, size_t count, struct err *err)
{
    struct staged staged = {0};
    if (staged_open(&staged, path, err) < 0)
        return -1;
    struct stream stream = {.sink = staged_append, .context = &staged};
    int result = page_writer_write(files, count, &stream, err);
    if (result == 0)
        result = stream_finish(&stream, err);
    stream_clear(&stream);
    if (result == 0)
        return staged_commit(&staged, err);
    staged_discard(&staged);
    return -1;
}

int page_file_write(const char *path, const struct input_paths *paths, struct err *err)
{
    size_t count = paths ? paths->count : 0;
    if (count > OPENED_MAX)
        return err_set(err, "%zu recordings are too many for one page; name at most %d", count, OPENED_MAX);
    struct bytes bytes[OPENED_MAX] = {0};
    struct page_writer_file files[OPENED_MAX];
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++)
        result = read_one(paths->items[i], &bytes[i], &files[i], err);
    if (result == 0)
        result = write_with(path, files, count, err);
    for (size_t i = 0; i < count; i++)
        bytes_clear(&bytes[i]);
    return result;
}
