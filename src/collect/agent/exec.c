#include "collect/agent/exec.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/agent/sampler.h"
#include "collect/agent/seccomp_watch.h"
#include "collect/agent/session.h"

#define EXPORT        __attribute__((visibility("default")))
#define PRELOAD       "LD_PRELOAD="
#define PRELOAD_BYTES 8192

static const char *agent_path; /* NULL = children are not followed */
static const char *heap_path;  /* NULL = allocations are not counted */
static char *session_entry;    /* "SONDE_SESSION=…" */

static struct {
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    int (*system)(const char *);
} real;

static void find_real(void)
{
    if (real.execve)
        return;
    *(void **)&real.execvpe = dlsym(RTLD_NEXT, "execvpe");
    *(void **)&real.fexecve = dlsym(RTLD_NEXT, "fexecve");
    *(void **)&real.posix_spawn = dlsym(RTLD_NEXT, "posix_spawn");
    *(void **)&real.posix_spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
    *(void **)&real.system = dlsym(RTLD_NEXT, "system");
    *(void **)&real.execve = dlsym(RTLD_NEXT, "execve");
}

/* Takes `path` out of a list separated by colons or spaces, in place. */
static void remove_from_list(char *list, const char *path)
{
    size_t size = strlen(path);
    for (char *at = list; (at = strstr(at, path)); at += size) {
        bool begins = at == list || at[-1] == ':' || at[-1] == ' ';
        bool ends = at[size] == '\0' || at[size] == ':' || at[size] == ' ';
        if (!begins || !ends)
            continue;
        char *from = at + size + (at[size] != '\0');
        if (at != list && at[size] == '\0')
            at--;
        memmove(at, from, strlen(from) + 1);
        return;
    }
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* By hand, because a program may bring functions of its own named unsetenv and setenv (bash does), which are
 * not ready for use yet. */
static void clean_environment(const struct session *session)
{
    char **kept = environ;
    for (char **entry = environ; entry && *entry; entry++) {
        if (starts_with(*entry, SESSION_VARIABLE "="))
            continue;
        bool preload = starts_with(*entry, PRELOAD);
        if (preload)
            remove_from_list(*entry + sizeof PRELOAD - 1, session->agent);
        if (preload && session->heap_library)
            remove_from_list(*entry + sizeof PRELOAD - 1, session->heap_library);
        if (!preload || (*entry)[sizeof PRELOAD - 1])
            *kept++ = *entry;
    }
    if (kept)
        *kept = NULL;
}

/* While a shell runs, the program ignores SIGINT and SIGQUIT. Several threads may wait for shells: the first to
 * come remembers the program's own handlers, the last to go puts them back. */
static struct {
    pthread_mutex_t lock;
    unsigned shells;
    struct sigaction interrupt, quit;
} ignoring = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The threads that waited are not in a forked child. */
static void forget_shells(void)
{
    const pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
    ignoring.lock = free_lock;
    ignoring.shells = 0;
}

void exec_init(const struct session *session, const char *text)
{
    find_real();
    pthread_atfork(NULL, NULL, forget_shells);
    clean_environment(session);
    size_t size = sizeof SESSION_VARIABLE + strlen(text) + 1;
    session_entry = malloc(size);
    if (!session_entry || (!session->follow && (uint64_t)getpid() != session->main_pid))
        return;
    strcpy(session_entry, SESSION_VARIABLE "=");
    strcat(session_entry, text);
    agent_path = session->agent;
    heap_path = session->heap_library;
}

static size_t count(char *const *environment)
{
    size_t entries = 0;
    while (environment && environment[entries])
        entries++;
    return entries;
}

/* "LD_PRELOAD=" + what counts allocations, before all allocators + what is there already + the agent, which comes last:
 * sanitizers insist on being first. */
static bool write_preload(char *out, const char *existing)
{
    size_t used = strlen(existing), more = strlen(agent_path) + (heap_path ? strlen(heap_path) + 1 : 0);
    if (used + more + sizeof PRELOAD + 1 > PRELOAD_BYTES)
        return false;
    strcpy(out, PRELOAD);
    if (heap_path) {
        strcat(out, heap_path);
        strcat(out, ":");
    }
    if (used) {
        strcat(out, existing);
        strcat(out, ":");
    }
    strcat(out, agent_path);
    return true;
}

/* Copies the environment into `out` (room for two more entries and the end) with the session added; false when
 * it should go on unchanged: not following, another sonde's session is there, the agent cannot be seen from
 * here (a chroot), where the loader would complain about it, or it would be killed. */
static bool add_session(char *const *environment, char **out, char *preload)
{
    if (agent_path && seccomp_watch_is_deadly())
        sampler_note_unfollowed();
    if (!agent_path || seccomp_watch_is_deadly() || access(agent_path, R_OK) != 0)
        return false;
    const char *existing = "";
    size_t entries = 0;
    for (; environment && *environment; environment++) {
        if (starts_with(*environment, SESSION_VARIABLE "="))
            return false;
        if (starts_with(*environment, PRELOAD))
            existing = *environment + sizeof PRELOAD - 1;
        else
            out[entries++] = *environment;
    }
    if (!write_preload(preload, existing))
        return false;
    out[entries++] = preload;
    out[entries++] = session_entry;
    out[entries] = NULL;
    return true;
}

/* An exec returns only when it has failed. */
static int back_from_exec(int result)
{
    sampler_exec_failed();
    return result;
}

/* Declares `name`: the environment to use. On the stack, see exec.h. */
#define WITH_SESSION(environment, name)                                                                      \
    find_real();                                                                                             \
    int saved_errno = errno;                                                                                 \
    char *extended[count(environment) + 3];                                                                  \
    char preload[PRELOAD_BYTES];                                                                             \
    char *const *name = add_session(environment, extended, preload) ? extended : (environment);              \
    errno = saved_errno

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    WITH_SESSION(envp, environment);
    sampler_before_exec();
    return back_from_exec(real.execve(path, argv, environment));
}

EXPORT int execv(const char *path, char *const argv[])
{
    WITH_SESSION(environ, environment);
    sampler_before_exec();
    return back_from_exec(real.execve(path, argv, environment));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    WITH_SESSION(envp, environment);
    sampler_before_exec();
    return back_from_exec(real.execvpe(file, argv, environment));
}

EXPORT int execvp(const char *file, char *const argv[])
{
    WITH_SESSION(environ, environment);
    sampler_before_exec();
    return back_from_exec(real.execvpe(file, argv, environment));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    WITH_SESSION(envp, environment);
    sampler_before_exec();
    return back_from_exec(real.fexecve(fd, argv, environment));
}

/* The forms with a list of arguments (perl starts its shells with one), which the C library would not pass through
 * the functions above: declares `argv`, and leaves `list` behind the final NULL. */
#define ARGUMENTS(first)                                                                                     \
    va_list list;                                                                                            \
    size_t words = 1;                                                                                        \
    va_start(list, first);                                                                                   \
    while (va_arg(list, char *))                                                                             \
        words++;                                                                                             \
    va_end(list);                                                                                            \
    char *argv[words + 1];                                                                                   \
    argv[0] = (char *)(size_t)(first);                                                                       \
    va_start(list, first);                                                                                   \
    for (size_t i = 1; i <= words; i++)                                                                      \
    argv[i] = va_arg(list, char *)

EXPORT int execl(const char *path, const char *first, ...)
{
    ARGUMENTS(first);
    va_end(list);
    return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    ARGUMENTS(first);
    va_end(list);
    return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    ARGUMENTS(first);
    char *const *environment = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, environment);
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    WITH_SESSION(envp, environment);
    return real.posix_spawn(pid, path, actions, attributes, argv, environment);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[], char *const envp[])
{
    WITH_SESSION(envp, environment);
    return real.posix_spawnp(pid, file, actions, attributes, argv, environment);
}

/* Fills in which of the two signals the shell is to have its default for. */
static void begin_ignoring(sigset_t *defaults)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    pthread_mutex_lock(&ignoring.lock);
    if (ignoring.shells++ == 0) {
        sigaction(SIGINT, &ignore, &ignoring.interrupt);
        sigaction(SIGQUIT, &ignore, &ignoring.quit);
    }
    sigemptyset(defaults);
    if (ignoring.interrupt.sa_handler != SIG_IGN)
        sigaddset(defaults, SIGINT);
    if (ignoring.quit.sa_handler != SIG_IGN)
        sigaddset(defaults, SIGQUIT);
    pthread_mutex_unlock(&ignoring.lock);
}

static void end_ignoring(void)
{
    pthread_mutex_lock(&ignoring.lock);
    if (--ignoring.shells == 0) {
        sigaction(SIGINT, &ignoring.interrupt, NULL);
        sigaction(SIGQUIT, &ignoring.quit, NULL);
    }
    pthread_mutex_unlock(&ignoring.lock);
}

/* What system(3) promises: the caller ignores SIGINT and SIGQUIT and blocks SIGCHLD until the shell is done. */
static int run_shell(const char *command)
{
    sigset_t block, mask, defaults;
    sigemptyset(&block);
    sigaddset(&block, SIGCHLD);
    begin_ignoring(&defaults);
    sigprocmask(SIG_BLOCK, &block, &mask);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &mask);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)(size_t)command, NULL};
    int status = 127 << 8;
    pid_t pid;
    if (posix_spawn(&pid, "/bin/sh", NULL, &attributes, argv, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    posix_spawnattr_destroy(&attributes);
    end_ignoring();
    sigprocmask(SIG_SETMASK, &mask, NULL);
    return status;
}

/* The C library's own system() would not pass through posix_spawn above. */
EXPORT int system(const char *command)
{
    find_real();
    return agent_path && command ? run_shell(command) : real.system(command);
}
