#include "cli/marks_option.h"

#include "base/bytes.h"
#include "base/err.h"
#include "cli/marks_file.h"
#include "collect/agent/session.h"

/* All of a session is one entry of the environment, which may have 128 KiB. */
#define SETTINGS_BYTES_MAX (96 << 10)

int marks_option_check(const struct marks_option *marks, uint32_t pid, struct err *err)
{
    if (!pid || (!marks->files.count && !marks->nvtx))
        return 0;
    return err_set(err, "%s needs a program that sonde starts: it cannot go with -p",
                   marks->nvtx ? "--nvtx" : "--marks");
}

int marks_option_put_settings(const struct marks_option *marks, struct bytes *settings, struct err *err)
{
    size_t before = settings->size;
    bytes_putf(settings, "nvtx=%d\nnvtx_in=%d\n", marks->nvtx, marks->nvtx_in);
    for (size_t i = 0; i < marks->files.count; i++)
        if (marks_file_read(marks->files.items[i], settings, err) < 0)
            return -1;
    size_t rows = 0;
    for (size_t at = before; !settings->failed && at < settings->size; at++)
        rows += settings->data[at] == '\n';
    if (rows > SESSION_MARKS || settings->size - before > SETTINGS_BYTES_MAX)
        return err_set(err, "%s: with it there are more than %d marks, or their texts are longer than %d KiB",
                       marks->files.items[marks->files.count - 1], SESSION_MARKS, SETTINGS_BYTES_MAX >> 10);
    return settings->failed ? err_set(err, "out of memory") : 0;
}
