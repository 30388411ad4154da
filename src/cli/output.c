#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rank.h"
#include "cli/folder.h"
#include "cli/message.h"
#include "cli/staged.h"
#include "import/formats.h"

#define PATH_BYTES_MAX 4096

static const struct suffix {
    const char *suffix, *format;
} suffixes[] = {
    {".sonde", "sonde"}, {".prof", "pstats"}, {".pstats", "pstats"}, {".lprof", "lprof"},
    {".dot", "dot"},     {".svg", "svg"},     {".png", "png"},       {".pdf", "pdf"},
    {".json", "json"},   {".csv", "csv"},     {NULL, NULL},
};

const char *output_format(const char *format, const char *path, const char *otherwise)
{
    if (format)
        return format;
    size_t size = path ? strlen(path) : 0;
    for (const struct suffix *row = suffixes; row->suffix; row++) {
        size_t suffix_size = strlen(row->suffix);
        if (size > suffix_size && strcmp(path + size - suffix_size, row->suffix) == 0)
            return row->format;
    }
    return otherwise;
}

/* Seconds are not enough to tell runs apart that one loop starts: two more digits, of 1/1024 s. */
static void make_run_id(char *run_id)
{
    static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz"; /* none that are mistaken for others */
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    unsigned fraction = (unsigned)(now.tv_nsec * 1024 / 1000000000);
    size_t used = strftime(run_id, OUTPUT_RUN_ID_SIZE, "%Y%m%d-%H%M%S", &local);
    int64_t task = rank_array_task();
    used += (size_t)snprintf(run_id + used, OUTPUT_RUN_ID_SIZE - used, "-%c%c", digits[fraction / 32],
                             digits[fraction % 32]);
    if (task >= 0)
        snprintf(run_id + used, OUTPUT_RUN_ID_SIZE - used, ".task-%" PRId64, task);
}

void output_context_init(struct output_context *context)
{
    *context = (struct output_context){.rank = rank_detect().number, .pid = (uint64_t)getpid()};
    make_run_id(context->run_id);
    if (gethostname(context->host, sizeof context->host - 1) != 0)
        strcpy(context->host, "localhost");
    context->host[strcspn(context->host, ".")] = '\0';
}

/* Expansion. */

static uint32_t rank_or_zero(const struct output_context *context)
{
    return context->rank == RANK_NONE ? 0 : context->rank;
}

/* `at` points behind "%{"; the number of characters used, or 0. */
static size_t put_variable(struct bytes *out, const char *at, struct err *err)
{
    size_t size = strcspn(at, "}");
    char name[256];
    if (at[size] != '}' || size == 0 || size >= sizeof name)
        return err_set(err, "in the output path, '%%{%.40s' does not end with '}'", at), 0;
    memcpy(name, at, size);
    name[size] = '\0';
    const char *value = getenv(name);
    if (!value || !*value)
        return err_set(err, "the output path names the environment variable %s, which is not set", name), 0;
    bytes_put_text(out, value);
    return size + 1;
}

/* One escape; `at` points behind the percent sign. The number of characters used, or 0. */
static size_t put_escape(struct bytes *out, const char *at, const struct output_context *context,
                         struct err *err)
{
    size_t used;
    switch (*at) {
    case '%':
        return bytes_put_u8(out, '%'), 1;
    case 'r':
        return bytes_putf(out, "%" PRIu32, rank_or_zero(context)), 1;
    case 'p':
        return bytes_putf(out, "%" PRIu64, context->pid), 1;
    case 'h':
        return bytes_put_text(out, context->host), 1;
    case '{':
        used = put_variable(out, at + 1, err);
        return used ? used + 1 : 0;
    default:
        err_set(err, "in the output path, '%%%.1s' means nothing; there are %%r, %%p, %%h, %%{NAME} and %%%%",
                at);
        return 0;
    }
}

static int put_pattern(struct bytes *out, const char *pattern, const struct output_context *context,
                       struct err *err)
{
    while (*pattern) {
        size_t used = 1;
        if (*pattern == '%') {
            used = put_escape(out, pattern + 1, context, err);
            if (used++ == 0)
                return -1;
        } else {
            bytes_put_u8(out, (uint8_t)*pattern);
        }
        pattern += used;
    }
    return 0;
}

/* "dir/x.py" → "x", so that the recording lies in the working directory and is named after the program. */
static void put_default_name(struct bytes *out, const char *program_name, const char *suffix,
                             const struct output_context *context)
{
    const char *name = program_name ? program_name : "";
    const char *slash = strrchr(name, '/');
    name = slash ? slash + 1 : name;
    size_t size = strlen(name);
    if (size > 3 && strcmp(name + size - 3, ".py") == 0)
        size -= 3;
    if (size == 0 || name[0] == '-' || name[0] == '.' || name[0] == '<')
        bytes_put_text(out, "python");
    else
        bytes_put(out, name, size < 100 ? size : 100);
    bytes_putf(out, ".%s%s", context->run_id, suffix);
}

static int take_path(struct bytes *out, char **path, struct err *err)
{
    size_t size;
    bytes_put_u8(out, 0);
    if (out->failed)
        return err_set(err, "the output path is longer than %d characters", PATH_BYTES_MAX);
    *path = (char *)bytes_take(out, &size);
    return 0;
}

int output_expand(const char *pattern, const struct output_context *context, char **path, struct err *err)
{
    struct bytes out = {.max = PATH_BYTES_MAX};
    int result = put_pattern(&out, pattern ? pattern : "", context, err);
    if (result == 0)
        result = take_path(&out, path, err);
    bytes_clear(&out);
    return result;
}

static bool names_folder(const char *path)
{
    return !*path || folder_is(path) || path[strlen(path) - 1] == '/';
}

int output_path(const char *pattern, const char *program_name, const char *suffix,
                const struct output_context *context, char **path, struct err *err)
{
    struct bytes out = {.max = PATH_BYTES_MAX};
    char *given = NULL;
    int result = output_expand(pattern, context, &given, err);
    if (result == 0) {
        size_t size = strlen(given);
        bytes_put(&out, given, size);
        if (size && folder_is(given) && given[size - 1] != '/')
            bytes_put_u8(&out, '/');
        if (names_folder(given))
            put_default_name(&out, program_name, suffix, context);
        result = take_path(&out, path, err);
    }
    bytes_clear(&out);
    free(given);
    return result;
}

/* Creating. */

enum claim { CLAIM_TAKEN, CLAIM_OURS, CLAIM_FAILED };

/* Whether the open file may be emptied: a recording, nothing yet, or no plain file at all (/dev/null). */
static bool may_replace(int fd, const struct stat *status)
{
    uint8_t head[4096];
    if (!S_ISREG(status->st_mode) || status->st_size == 0)
        return true;
    ssize_t got = pread(fd, head, sizeof head, 0);
    return got > 0 && formats_find(head, (size_t)got);
}

/* The path exists already. A rank takes it for its neighbour's; else a lock says that it is being written.
 * File systems without locks cannot tell, and there the newer run wins, as with other tools. */
static enum claim claim_existing(const char *path, const struct output_context *context, int *fd,
                                 struct err *err)
{
    struct stat status;
    *fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (*fd < 0 && (errno == EACCES || errno == EINVAL || errno == ENXIO || errno == EPERM))
        *fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY); /* a pipe or a terminal that is write-only */
    if (*fd < 0 || fstat(*fd, &status) != 0)
        return err_set_errno(err, "cannot write %s", path), CLAIM_FAILED;
    if (!S_ISREG(status.st_mode))
        return CLAIM_OURS;
    if (context->rank != RANK_NONE || (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK))
        return CLAIM_TAKEN;
    if (!may_replace(*fd, &status))
        return err_set(err, "%s exists and is no recording; remove it, or name another output with -o", path),
               CLAIM_FAILED;
    if (ftruncate(*fd, 0) != 0)
        return err_set_errno(err, "cannot empty %s", path), CLAIM_FAILED;
    return CLAIM_OURS;
}

static enum claim claim(const char *path, const struct output_context *context, int *fd, struct err *err)
{
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd >= 0) {
        flock(*fd, LOCK_EX | LOCK_NB); /* where it does not work, the name is all that protects */
        return CLAIM_OURS;
    }
    if (errno == EEXIST)
        return claim_existing(path, context, fd, err);
    err_set_errno(err, "cannot create %s", path);
    return CLAIM_FAILED;
}

/* "x.sonde" → "x.sonde.<rank>.<pid>". */
char *output_second_name(const char *path, const struct output_context *context)
{
    char *name;
    int made = asprintf(&name, "%s.%" PRIu32 ".%" PRIu64, path, rank_or_zero(context), context->pid);
    return made < 0 ? NULL : name;
}

int output_create(char **path, const struct output_context *context, struct err *err)
{
    int fd;
    enum claim claimed = claim(*path, context, &fd, err);
    if (claimed == CLAIM_TAKEN) {
        close(fd);
        char *other = output_second_name(*path, context);
        if (!other)
            return err_set(err, "out of memory");
        fd = open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0)
            err_set_errno(err, "cannot create %s", other);
        else
            message_warn("%s has another writer; this run goes to %s", *path, other);
        free(*path);
        *path = other;
        return fd;
    }
    if (claimed == CLAIM_FAILED && fd >= 0)
        close(fd);
    return claimed == CLAIM_OURS ? fd : -1;
}

/* A lock of our own must not be met by a writer that looks for one. */
bool output_is_being_written(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return errno == EWOULDBLOCK;
    flock(fd, LOCK_UN);
    return false;
}

int output_write(const char *path, const void *data, size_t size, struct err *err)
{
    struct staged staged = {0};
    if (staged_open(&staged, path, err) != 0)
        return -1;
    if (staged_append(&staged, data, size, err) == 0)
        return staged_commit(&staged, err);
    staged_discard(&staged);
    return -1;
}

int output_print(struct bytes *text)
{
    struct err err = {0};
    int result =
        text->failed ? err_set(&err, "out of memory") : output_write("-", text->data, text->size, &err);
    bytes_clear(text);
    return result == 0 ? 0 : message_fail(&err);
}
