#include "collect/recorder/signals.h"

#include <unistd.h>

#include "base/err.h"

/* All that a user or a batch system may send and that would end us; besides these the real-time signals. */
static const int handled[] = {SIGCHLD, SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGUSR1,  SIGUSR2,
                              SIGXCPU, SIGALRM, SIGPROF, SIGIO,  SIGPWR,  SIGVTALRM};

int signals_open(struct signals *signals, pid_t group, struct err *err)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(&set, handled[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaddset(&set, number);
    sigprocmask(SIG_BLOCK, &set, &signals->old_mask);
    signals->is_blocking = true;
    /* Whoever started us may ignore SIGCHLD: the end of a child would then never be heard of. That a thread which we
     * hold has stopped is none. */
    const struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    sigaction(SIGCHLD, &usual, &signals->old_child_action);
    witness_open(&signals->witness, &set, group);
    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0 ? 0 : err_set_errno(err, "cannot watch signals");
}

bool signals_take(struct signals *signals, struct signalfd_siginfo *info)
{
    return read(signals->fd, info, sizeof *info) == (ssize_t)sizeof *info;
}

bool signals_went_to_group(struct signals *signals, const struct signalfd_siginfo *info)
{
    return witness_saw(&signals->witness, (int)info->ssi_signo) || info->ssi_code == SI_KERNEL;
}

void signals_close(struct signals *signals)
{
    if (signals->fd >= 0)
        close(signals->fd);
    signals->fd = -1;
    witness_close(&signals->witness);
}
