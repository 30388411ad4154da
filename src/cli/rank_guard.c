#include "cli/rank_guard.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"

/* Those that a terminal uses to stop and continue do so to the guard as to the program. */
static void fill_passed_on(sigset_t *set)
{
    static const int left[] = {SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    sigfillset(set);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        sigdelset(set, left[i]);
}

static _Noreturn void guard(pid_t recorder, const sigset_t *passed_on)
{
    int status = 0;
    prctl(PR_SET_NAME, "sonde-guard");
    for (;;) {
        int number = sigwaitinfo(passed_on, NULL);
        if (number == SIGCHLD && waitpid(recorder, &status, WNOHANG) == recorder)
            exit(run_exit_as(status));
        if (number > 0 && number != SIGCHLD)
            kill(recorder, number);
    }
}

pid_t rank_guard_start(void)
{
    sigset_t passed_on, old;
    struct sigaction old_action;
    const struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    pid_t group = getpgrp();
    fill_passed_on(&passed_on);
    sigprocmask(SIG_BLOCK, &passed_on, &old);
    sigaction(SIGCHLD, &usual, &old_action); /* whoever started us may ignore it */
    pid_t recorder = fork();
    if (recorder > 0) {
        setpgid(recorder, recorder);
        guard(recorder, &passed_on);
    }
    if (recorder == 0)
        setpgid(0, 0);
    sigaction(SIGCHLD, &old_action, NULL);
    sigprocmask(SIG_SETMASK, &old, NULL);
    return recorder == 0 ? group : 0;
}
