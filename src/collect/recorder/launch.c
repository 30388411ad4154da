#include "collect/recorder/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/agent/session.h"

/* In the child: the environment is this process's own now. */
static int set_environment(const struct launch *launch)
{
    const char *preload = getenv("LD_PRELOAD");
    const char *heap = launch->heap ? launch->heap : "";
    size_t size = strlen(launch->settings) + strlen(launch->agent) + strlen(heap) +
                  (preload ? strlen(preload) : 0) + 64;
    char *text = malloc(size);
    if (!text)
        return -1;
    /* The agent comes last: sanitizers insist on being first. What counts allocations stands before all allocators. */
    snprintf(text, size, "%s%s%s%s%s", heap, *heap ? ":" : "", preload ? preload : "",
             preload && *preload ? ":" : "", launch->agent);
    int result = setenv("LD_PRELOAD", text, 1);
    snprintf(text, size, "%smain_pid=%ld\n", launch->settings, (long)getpid());
    result |= setenv(SESSION_VARIABLE, text, 1);
    free(text);
    return result;
}

static _Noreturn void become_target(const struct launch *launch, int report)
{
    if (launch->group)
        setpgid(0, launch->group);
    unsetenv("SONDE_PYTHON");
    unsetenv("SONDE_PYTHON_FLAGS");
    if (!launch->settings || set_environment(launch) == 0) {
        sigaction(SIGCHLD, launch->child_action, NULL);
        sigprocmask(SIG_SETMASK, launch->mask, NULL);
        execvp(launch->argv[0], launch->argv);
    }
    int code = errno;
    ssize_t sent = write(report, &code, sizeof code);
    _exit(sent == (ssize_t)sizeof code ? 127 : 126);
}

/* The pipe closes by itself when exec succeeds; an errno comes through it when it does not. */
static int wait_for_exec(int pipe, pid_t pid, const char *name, struct err *err)
{
    int code = 0;
    ssize_t got;
    do
        got = read(pipe, &code, sizeof code);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof code)
        return 0;
    waitpid(pid, NULL, 0);
    errno = code;
    return err_set_errno(err, "cannot run %s", name);
}

pid_t launch_start(const struct launch *launch, struct err *err)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return err_set_errno(err, "cannot make a pipe");
    pid_t pid = fork();
    if (pid == 0)
        become_target(launch, ends[1]);
    close(ends[1]);
    int result = pid < 0 ? err_set_errno(err, "cannot start a process") : 0;
    if (result == 0)
        result = wait_for_exec(ends[0], pid, launch->argv[0], err);
    close(ends[0]);
    return result == 0 ? pid : -1;
}
