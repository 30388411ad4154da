#include "collect/recorder/witness.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE_MS 20       /* between the moments at which one signal reaches two processes of a group */
#define ANSWER_MS   1000     /* of the witness, on a busy machine */
#define QUESTION    SIGRTMAX /* from the recorder itself; the kernel gives it out after all that came before */
#define ANSWER      0

static _Noreturn void report(const sigset_t *signals, int reports, pid_t recorder)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "sonde-witness");
    while (getppid() == recorder) {
        siginfo_t info;
        int number = sigwaitinfo(signals, &info);
        uint8_t byte = number == QUESTION && info.si_pid == recorder ? ANSWER : (uint8_t)number;
        if (number > 0 && number != SIGCHLD && write(reports, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

void witness_open(struct witness *witness, const sigset_t *signals, pid_t group)
{
    *witness = (struct witness){.reports = -1};
    int ends[2];
    pid_t recorder = getpid();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        /* Nothing of the recorder's must be held open by it, least of all a terminal or a pipe of the user's. */
        for (int fd = 0; fd < 1024; fd++)
            if (fd != ends[1])
                close(fd);
        report(signals, ends[1], recorder);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return;
    }
    if (group)
        setpgid(pid, group);
    *witness = (struct witness){.pid = pid, .reports = ends[0]};
}

void witness_close(struct witness *witness)
{
    if (!witness->pid)
        return;
    kill(witness->pid, SIGKILL);
    waitpid(witness->pid, NULL, 0);
    close(witness->reports);
    *witness = (struct witness){.reports = -1};
}

static void take_reports(struct witness *witness, int patience_ms)
{
    uint8_t bytes[64];
    struct pollfd polled = {.fd = witness->reports, .events = POLLIN};
    ssize_t size = poll(&polled, 1, patience_ms) > 0 ? read(witness->reports, bytes, sizeof bytes) : 0;
    for (ssize_t i = 0; i < size; i++)
        if (bytes[i] < sizeof witness->seen)
            witness->seen[bytes[i]] = true;
}

/* A witness that has not had the processor yet has seen nothing: it must have answered first. */
bool witness_saw(struct witness *witness, int number)
{
    if (!witness->pid || number <= 0 || number > 64)
        return false;
    witness->seen[ANSWER] = false;
    bool is_asked = kill(witness->pid, QUESTION) == 0;
    for (int look = 0; is_asked && look < 8 && !witness->seen[number] && !witness->seen[ANSWER]; look++)
        take_reports(witness, ANSWER_MS / 8);
    if (!witness->seen[number])
        take_reports(witness, PATIENCE_MS);
    bool seen = witness->seen[number];
    witness->seen[number] = false;
    return seen;
}
