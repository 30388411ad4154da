#include "export/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "store/record.h"
#include "store/recording.h"
#include "store/writer.h"

#define ALL_BYTES_MAX ((size_t)16 << 20)
#define FILES_MAX     8192

const char *const sources_choices[] = {"auto", "yes", "no", NULL};

/* Why a file is not kept. What lies elsewhere was not asked for, and is not counted. */
enum reason { KEPT, ELSEWHERE, GONE, CHANGED, NO_TEXT, TOO_LARGE, REASONS };

struct keeping {
    struct writer *writer;
    bool everywhere;
    char folder[PATH_MAX]; /* the working directory, with a slash at its end */
    int64_t start_ns;      /* since 1970, of the first process */
    size_t bytes, files;
    unsigned left_out[REASONS];
    struct bytes text;
};

/* Processes that ran already when they were attached to count from there: earlier changes cannot be seen. */
static int64_t first_start_ns(const struct recording *known)
{
    uint64_t first = clock_monotonic_ns();
    for (uint32_t i = 1; i < known->processes_count; i++)
        if (known->processes[i].start_ns && known->processes[i].start_ns < first)
            first = known->processes[i].start_ns;
    return (int64_t)clock_real_ns() - (int64_t)(clock_monotonic_ns() - first);
}

static int64_t since_1970_ns(const struct statx_timestamp *time)
{
    return time->tv_sec * 1000000000 + time->tv_nsec;
}

static bool is_changed(const struct keeping *keeping, const struct statx *status)
{
    return since_1970_ns(&status->stx_mtime) >= keeping->start_ns ||
           since_1970_ns(&status->stx_ctime) >= keeping->start_ns;
}

/* stat and fstat (of fd, when the name is empty) by a name that old C libraries have, too: this is loaded into programs. */
static bool look_at(int fd, const char *name, struct statx *status)
{
    return statx(fd, name, name[0] ? 0 : AT_EMPTY_PATH, STATX_BASIC_STATS, status) == 0;
}

/* The file that a name leads to through all links, if it is one that was asked for. */
static enum reason find_file(const struct keeping *keeping, const char *name, char path[PATH_MAX])
{
    if (name[0] == '<' || name[0] == '~' || !name[0])
        return ELSEWHERE;
    if (!realpath(name, path))
        return name[0] == '/' && strncmp(name, keeping->folder, strlen(keeping->folder)) != 0 &&
                       !keeping->everywhere
                   ? ELSEWHERE
                   : GONE;
    if (keeping->everywhere)
        return KEPT;
    bool below = strncmp(path, keeping->folder, strlen(keeping->folder)) == 0;
    return below && !labels_library_path(path) ? KEPT : ELSEWHERE;
}

static bool is_text(const struct bytes *bytes)
{
    return bytes->size == 0 || !memchr(bytes->data, 0, bytes->size);
}

/* What was opened, not what the name means by now, is looked at. */
static enum reason read_open(struct keeping *keeping, int fd)
{
    struct statx before, after;
    struct bytes *text = &keeping->text;
    bytes_reset(text);
    if (!look_at(fd, "", &before) || !S_ISREG(before.stx_mode))
        return NO_TEXT;
    if (before.stx_size > RECORD_SOURCE_MAX || keeping->bytes + (size_t)before.stx_size > ALL_BYTES_MAX ||
        keeping->files >= FILES_MAX)
        return TOO_LARGE;
    if (is_changed(keeping, &before) || !bytes_reserve(text, (size_t)before.stx_size + 1))
        return CHANGED;
    ssize_t got = read(fd, text->data, (size_t)before.stx_size + 1);
    if (got < 0 || (uint64_t)got != before.stx_size || !look_at(fd, "", &after) ||
        is_changed(keeping, &after))
        return CHANGED;
    text->size = (size_t)got;
    return is_text(text) ? KEPT : NO_TEXT;
}

static enum reason read_file(struct keeping *keeping, const char *name)
{
    char path[PATH_MAX];
    enum reason reason = find_file(keeping, name, path);
    if (reason != KEPT)
        return reason;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return GONE;
    reason = read_open(keeping, fd);
    close(fd);
    return reason;
}

static void keep_file(struct keeping *keeping, uint32_t file)
{
    enum reason reason = read_file(keeping, recording_text(writer_known(keeping->writer), file));
    keeping->left_out[reason] += reason != KEPT && reason != ELSEWHERE;
    if (reason != KEPT)
        return;
    writer_source(keeping->writer, file, keeping->text.data, keeping->text.size);
    keeping->bytes += keeping->text.size;
    keeping->files++;
}

/* Each file once, in the order in which they were met. */
static void keep_files(struct keeping *keeping)
{
    const struct recording *known = writer_known(keeping->writer);
    uint32_t count = known->strings.count, codes = known->codes_count;
    bool *seen = calloc((size_t)count + 1, sizeof *seen);
    for (uint32_t i = 1; seen && i < codes; i++) {
        uint32_t file = known->codes[i].file;
        if (file < count && !seen[file] && known->codes[i].kind == CODE_PYTHON)
            keep_file(keeping, file);
        seen[file] = true;
    }
    free(seen);
}

static void say_left_out(const struct keeping *keeping, char *text, size_t size)
{
    static const char *const words[REASONS] = {[GONE] = "not found",
                                               [CHANGED] = "changed since the start",
                                               [NO_TEXT] = "no text",
                                               [TOO_LARGE] = "too large (1 MiB each, 16 MiB in all)"};
    size_t at = 0;
    text[0] = '\0';
    for (int reason = GONE; reason < REASONS && at < size; reason++)
        if (keeping->left_out[reason])
            at += (size_t)snprintf(text + at, size - at, "%s%u %s", at ? ", " : "", keeping->left_out[reason],
                                   words[reason]);
}

void sources_keep(struct writer *writer, const char *which, char *left_out, size_t size)
{
    struct keeping keeping = {.writer = writer, .everywhere = which && strcmp(which, "yes") == 0};
    left_out[0] = '\0';
    if (!which || strcmp(which, "no") == 0 || !getcwd(keeping.folder, sizeof keeping.folder - 1))
        return;
    if (keeping.folder[strlen(keeping.folder) - 1] != '/')
        strcat(keeping.folder, "/");
    keeping.start_ns = first_start_ns(writer_known(writer));
    keep_files(&keeping);
    bytes_clear(&keeping.text);
    say_left_out(&keeping, left_out, size);
}

/* "" = it cannot be read, or is no text. When it was changed last, since 1970. */
static int64_t load_text(const char *name, struct bytes *text)
{
    struct statx status;
    bytes_reset(text);
    if (!look_at(AT_FDCWD, name, &status) || !S_ISREG(status.stx_mode) ||
        bytes_read_file(text, name, ALL_BYTES_MAX, NULL) < 0 || !is_text(text)) {
        bytes_reset(text);
        return 0;
    }
    return since_1970_ns(&status.stx_mtime);
}

static int note_change(struct recording *recording, uint32_t file)
{
    struct bytes text = {0};
    bytes_putf(&text, "%s was changed after the recording was made: its lines may not be those that ran",
               recording_text(recording, file));
    struct note note = {
        .kind = NOTE_WARNING,
        .text = text.failed ? UINT32_MAX
                            : strings_intern(&recording->strings, (const char *)text.data, text.size)};
    bytes_clear(&text);
    return note.text == UINT32_MAX || recording_add_note(recording, &note) == UINT32_MAX ? -1 : 0;
}

static int load_file(struct recording *recording, uint32_t file, int64_t recorded_ns, struct bytes *text)
{
    int64_t changed_ns = load_text(recording_text(recording, file), text);
    if (!text->size)
        return 0;
    if (recording_add_source(recording, file, text->data, text->size) == UINT32_MAX)
        return -1;
    return changed_ns > recorded_ns ? note_change(recording, file) : 0;
}

int sources_load(struct recording *recording, const char *file)
{
    struct bytes text = {0};
    struct statx status;
    uint32_t count = recording->strings.count;
    int64_t recorded_ns =
        file && look_at(AT_FDCWD, file, &status) ? since_1970_ns(&status.stx_mtime) : INT64_MAX;
    bool *seen = calloc((size_t)count + 1, sizeof *seen);
    int result = seen ? 0 : -1;
    uint32_t times = recording->lines_count, rows = times + recording->line_memory_count;
    for (uint32_t i = 0; result == 0 && i < rows; i++) {
        uint32_t code = i < times ? recording->lines[i].code : recording->line_memory[i - times].code;
        uint32_t name = recording->codes[code].file;
        if (!seen[name] && !recording_source(recording, name))
            result = load_file(recording, name, recorded_ns, &text);
        seen[name] = true;
    }
    bytes_clear(&text);
    free(seen);
    return result;
}
