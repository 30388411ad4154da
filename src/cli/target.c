#include "cli/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/config.h"

enum { COMMAND_BYTES_MAX = 1 << 22 };

static int push(struct target *target, const char *word, struct err *err)
{
    if (target->count + 2 > target->capacity) {
        size_t capacity = target->capacity * 2 + 16;
        char **grown = realloc(target->argv, capacity * sizeof *grown);
        if (!grown)
            return err_set(err, "out of memory");
        target->argv = grown;
        target->capacity = capacity;
    }
    char *copy = strdup(word);
    if (!copy)
        return err_set(err, "out of memory");
    target->argv[target->count++] = copy;
    target->argv[target->count] = NULL;
    return 0;
}

static int push_all(struct target *target, int argc, char **argv, struct err *err)
{
    int result = 0;
    for (int i = 0; i < argc && result == 0; i++)
        result = push(target, argv[i], err);
    return result;
}

char *target_find_program(const char *name)
{
    const char *list = getenv("PATH");
    for (const char *at = list ? list : "/usr/bin:/bin"; at;
         at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        char path[PATH_MAX];
        int size = (int)strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/%s", size ? size : 1, size ? at : ".", name);
        struct stat status;
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0)
            return strdup(path);
    }
    return NULL;
}

/* The flags of the interpreter that was asked to run sonde are the program's own. */
static int push_flags(struct target *target, struct err *err)
{
    const char *text = getenv("SONDE_PYTHON_FLAGS");
    if (!text)
        return 0;
    struct config config = {0};
    char **words = NULL;
    size_t count = 0;
    int result = config_split(&config, text, &words, &count, err);
    for (size_t i = 0; i < count && result == 0; i++)
        result = push(target, words[i], err);
    free(words);
    config_clear(&config);
    return result;
}

static int push_interpreter(struct target *target, struct err *err)
{
    const char *given = getenv("SONDE_PYTHON");
    char *found = given && *given ? strdup(given) : target_find_program("python3");
    if (!found)
        found = target_find_program("python");
    if (!found)
        return err_set(err, "there is no python3 on PATH; name one: sonde trace -- /path/to/python x.py");
    int result = push(target, found, err);
    free(found);
    return result < 0 ? result : push_flags(target, err);
}

enum content { CONTENT_PYTHON, CONTENT_PYTHON_SHEBANG, CONTENT_OTHER_SHEBANG, CONTENT_BINARY };

/* What the first bytes of a file tell. Zip files (which Python runs) and compiled modules are Python's. */
static int look_into(const char *path, enum content *content, struct err *err)
{
    char head[512] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, head, sizeof head - 1) : -1;
    if (size < 0)
        err_set_errno(err, "cannot read %s", path);
    if (fd >= 0)
        close(fd);
    if (size < 0)
        return -1;
    char *line_end = strchr(head, '\n');
    if (strncmp(head, "#!", 2) == 0) {
        if (line_end)
            *line_end = '\0';
        *content = strstr(head, "python") ? CONTENT_PYTHON_SHEBANG : CONTENT_OTHER_SHEBANG;
    } else if (memcmp(head, "PK\3\4", 4) == 0 ||
               (memcmp(head, "\177ELF", 4) != 0 && !memchr(head, '\0', (size_t)size))) {
        *content = CONTENT_PYTHON;
    } else {
        *content = CONTENT_BINARY;
    }
    return 0;
}

static bool has_python_suffix(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".py") == 0 || strcmp(dot, ".pyw") == 0 || strcmp(dot, ".pyc") == 0 ||
                   strcmp(dot, ".pyz") == 0);
}

static int refuse_content(const char *path, enum content content, struct err *err)
{
    return err_set(err, "%s is %s, not a Python program; to follow what it starts, put -- before it", path,
                   content == CONTENT_BINARY ? "a binary file" : "a script of another language");
}

/* A program with its own interpreter line runs under that interpreter, as it would from the shell. */
static int push_file(struct target *target, const char *path, bool runs_itself, struct err *err)
{
    struct stat status;
    enum content content = CONTENT_PYTHON;
    if (stat(path, &status) != 0)
        return err_set_errno(err, "cannot open %s", path);
    bool suffix = has_python_suffix(path);
    /* What is read of a pipe (/dev/stdin, a shell's process substitution) would be missing in the program. */
    if (S_ISREG(status.st_mode) && look_into(path, &content, err) < 0)
        return -1;
    if (!suffix && content >= CONTENT_OTHER_SHEBANG)
        return refuse_content(path, content, err);
    if (runs_itself && !suffix && content == CONTENT_PYTHON_SHEBANG)
        return push(target, path, err);
    return push_interpreter(target, err) < 0 ? -1 : push(target, path, err);
}

/* A folder is a program if it holds a __main__.py. */
static bool is_plain_folder(const char *path)
{
    char main_file[PATH_MAX];
    struct stat status;
    snprintf(main_file, sizeof main_file, "%s/__main__.py", path);
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode) && access(main_file, F_OK) != 0;
}

static int push_script(struct target *target, const char *script, struct err *err)
{
    if (access(script, F_OK) == 0 && (strchr(script, '/') || !is_plain_folder(script)))
        return push_file(target, script, access(script, X_OK) == 0, err);
    char *found = strchr(script, '/') ? NULL : target_find_program(script);
    if (!found)
        return err_set(err, "there is no program %s%s", script,
                       strchr(script, '/') ? "" : ", neither here nor on PATH; a module is run with -m");
    int result = push_file(target, found, true, err);
    free(found);
    return result;
}

/* Found out before the output is created, which may replace an earlier recording. */
static int check_command(const char *command, struct err *err)
{
    char *found = strchr(command, '/') ? NULL : target_find_program(command);
    bool runs = found || (strchr(command, '/') && access(command, X_OK) == 0);
    free(found);
    errno = errno == EACCES ? EACCES : ENOENT;
    return runs ? 0 : err_set_errno(err, "cannot run %s", command);
}

/* The script of "python3 -O dir/x.py", the module of "python -m pkg.mod", else the command itself. */
static const char *name_of_command(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/');
    if (strncmp(slash ? slash + 1 : argv[0], "python", 6) != 0)
        return argv[0];
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-m") == 0 && i + 1 < argc)
            return argv[i + 1];
        if (strcmp(argv[i], "-c") == 0)
            return "command";
        if (strcmp(argv[i], "-X") == 0 || strcmp(argv[i], "-W") == 0)
            i++;
        else if (argv[i][0] != '-')
            return argv[i];
    }
    return argv[0];
}

static int resolve_words(const struct target_request *request, struct target *target, const char **name,
                         struct err *err)
{
    int argc = request->argc;
    char **argv = request->argv;
    if (argc > 0 && strcmp(argv[0], "--") == 0) {
        if (argc < 2)
            return err_set(err, "a command must follow the --, as in: -- python3 x.py");
        *name = name_of_command(argc - 1, argv + 1);
        if (check_command(argv[1], err) < 0)
            return -1;
        return push_all(target, argc - 1, argv + 1, err);
    }
    if (argc == 0)
        return err_set(err, "nothing to run; name a script, -m MODULE, -c CODE, or -- and a command");
    bool from_stdin = strcmp(argv[0], "-") == 0;
    *name = from_stdin ? "stdin" : argv[0];
    if (from_stdin ? push_interpreter(target, err) < 0 || push(target, "-", err) < 0
                   : push_script(target, argv[0], err) < 0)
        return -1;
    return push_all(target, argc - 1, argv + 1, err);
}

static int resolve_option(const struct target_request *request, struct target *target, const char **name,
                          struct err *err)
{
    *name = request->module ? request->module : "command";
    if (push_interpreter(target, err) < 0 || push(target, request->module ? "-m" : "-c", err) < 0 ||
        push(target, request->module ? request->module : request->code, err) < 0)
        return -1;
    return push_all(target, request->argc, request->argv, err);
}

/* As /proc tells it: words that end in zero bytes. */
static int resolve_process(const struct target_request *request, struct target *target, const char **name,
                           struct err *err)
{
    char path[64];
    struct bytes text = {0};
    int result = 0;
    snprintf(path, sizeof path, "/proc/%u/cmdline", request->pid);
    if (bytes_read_file(&text, path, COMMAND_BYTES_MAX, err) < 0)
        return -1;
    bytes_put_u8(&text, 0);
    const char *words = (const char *)text.data;
    for (size_t at = 0; at + 1 < text.size && result == 0; at += strlen(words + at) + 1)
        result = push(target, words + at, err);
    bytes_clear(&text);
    *name = target->count ? name_of_command((int)target->count, target->argv) : "process";
    return result;
}

int target_check_pid(int64_t pid, struct err *err)
{
    if (pid == TARGET_NO_PID || (pid > 0 && pid <= INT32_MAX))
        return 0;
    return err_set(err, "-p (--pid) must be the number of a process, which %" PRId64 " is not", pid);
}

int target_check_options(const struct target_options *options, int argc, struct err *err)
{
    if (target_check_pid(options->pid, err) < 0)
        return -1;
    if (options->pid != TARGET_NO_PID && (argc || options->module || options->code))
        return err_set(err, "-p names a process that runs already; there is nothing to start beside it");
    return 0;
}

bool target_is_pytest(const struct target_request *request)
{
    const char *name = request->module;
    int argc = request->argc;
    if (!name && argc > 1 && strcmp(request->argv[0], "--") == 0)
        name = name_of_command(argc - 1, request->argv + 1);
    else if (!name && !request->code && argc > 0)
        name = request->argv[0];
    const char *slash = name ? strrchr(name, '/') : NULL;
    name = slash ? slash + 1 : name;
    return name && (strcmp(name, "pytest") == 0 || strcmp(name, "py.test") == 0);
}

int target_resolve(const struct target_request *request, struct target *target, struct err *err)
{
    *target = (struct target){0};
    const char *name = NULL;
    int result = request->pid                       ? resolve_process(request, target, &name, err)
                 : request->module || request->code ? resolve_option(request, target, &name, err)
                                                    : resolve_words(request, target, &name, err);
    if (result == 0) {
        target->name = strdup(name);
        result = target->name ? 0 : err_set(err, "out of memory");
    }
    if (result < 0)
        target_clear(target);
    return result;
}

void target_clear(struct target *target)
{
    for (size_t i = 0; i < target->count; i++)
        free(target->argv[i]);
    free(target->argv);
    free(target->name);
    *target = (struct target){0};
}
