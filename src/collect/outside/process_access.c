#include "collect/outside/process_access.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"

#define CAPABILITY_SYS_PTRACE 19
#define KERNEL_THREAD_FLAG    0x00200000u /* PF_KTHREAD of the kernel */

enum { STATUS_BYTES_MAX = 1 << 16 };

/* The file of a process under /proc as text. False when it cannot be read. */
static bool read_text(uint32_t pid, const char *name, struct bytes *text)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/%s", pid, name);
    bytes_reset(text);
    bool got = bytes_read_file(text, path, STATUS_BYTES_MAX, NULL) == 0;
    bytes_put_u8(text, 0);
    return got && !text->failed;
}

/* The number in a line "KEY:\t NUMBER" of a status file. */
static uint64_t number_of(const struct bytes *text, const char *key, int base)
{
    const char *found = strstr((const char *)text->data, key);
    return found ? strtoull(found + strlen(key), NULL, base) : 0;
}

static void read_status(struct process_access *access, const struct bytes *text)
{
    const char *state = strstr((const char *)text->data, "\nState:");
    access->state = state ? state[7 + strspn(state + 7, "\t ")] : 0;
    access->leader = (uint32_t)number_of(text, "\nTgid:", 10);
    access->parent = (uint32_t)number_of(text, "\nPPid:", 10);
    access->tracer = (uint32_t)number_of(text, "\nTracerPid:", 10);
    access->owner = (uint32_t)number_of(text, "\nUid:", 10);
}

/* Field 9 of stat. */
static bool is_kernel_thread(const struct bytes *text)
{
    const char *end = strrchr((const char *)text->data, ')');
    unsigned flags = 0;
    return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & KERNEL_THREAD_FLAG;
}

static void read_tracer_name(struct process_access *access, struct bytes *text)
{
    if (access->tracer && read_text(access->tracer, "comm", text))
        snprintf(access->tracer_name, sizeof access->tracer_name, "%.*s",
                 (int)strcspn((char *)text->data, "\n"), (char *)text->data);
}

static bool is_32_bit(uint32_t pid)
{
    char path[64];
    unsigned char ident[EI_NIDENT] = {0};
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, ident, sizeof ident) : 0;
    if (fd >= 0)
        close(fd);
    return got == EI_NIDENT && ident[EI_CLASS] == ELFCLASS32;
}

static int memory_error(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    close(fd);
    return 0;
}

/* By a process of its own: what that one traces is let go of when it ends, without having been stopped. */
static int hold_error(uint32_t pid)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(ptrace(PTRACE_SEIZE, (pid_t)pid, NULL, NULL) == 0 ? 0 : errno);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void read_own_rights(struct process_access *access, struct bytes *text)
{
    access->user = (uint32_t)geteuid();
    if (read_text((uint32_t)getpid(), "status", text))
        access->may_trace_others = number_of(text, "\nCapEff:", 16) >> CAPABILITY_SYS_PTRACE & 1;
    FILE *scope = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (scope && fscanf(scope, "%d", &access->ptrace_scope) != 1)
        access->ptrace_scope = 0;
    if (scope)
        fclose(scope);
}

/* The kernel asks in this order, too: Yama's last word, the user or the capability, Yama's other words, the rest. */
static int explain_refusal(const struct process_access *access, struct err *err)
{
    uint32_t pid = access->pid;
    struct passwd *owner = getpwuid(access->owner);
    if (access->ptrace_scope >= 3)
        return err_set(
            err,
            "process %u cannot be attached to: this machine forbids it until it is restarted "
            "(kernel.yama.ptrace_scope is 3); start the program with sonde instead: sonde record -- "
            "COMMAND",
            pid);
    if (access->user == 0 && !access->may_trace_others)
        return err_set(
            err,
            "process %u cannot be attached to: this root has no SYS_PTRACE, as in a container; start "
            "the container with --cap-add=SYS_PTRACE",
            pid);
    if (access->may_trace_others)
        return err_set(
            err,
            "process %u cannot be attached to, though this user has SYS_PTRACE: a security module "
            "(SELinux, AppArmor) or the container's seccomp profile forbids it, or the process is not of "
            "this container; use sonde outside the container, or sonde record -- COMMAND",
            pid);
    if (access->owner != access->user && access->ptrace_scope == 0)
        return err_set(err,
                       "process %u belongs to user %s (%u); run sonde as that user, or as root with sudo",
                       pid, owner ? owner->pw_name : "?", access->owner);
    if (access->owner != access->user)
        return err_set(
            err,
            "process %u belongs to user %s (%u); run sonde as root with sudo (kernel.yama.ptrace_scope is "
            "%d: as that user it would be refused, too)",
            pid, owner ? owner->pw_name : "?", access->owner, access->ptrace_scope);
    if (access->ptrace_scope == 2)
        return err_set(err,
                       "process %u cannot be attached to: this machine allows it to root alone "
                       "(kernel.yama.ptrace_scope is 2); use sudo",
                       pid);
    if (access->ptrace_scope == 1)
        return err_set(
            err,
            "process %u cannot be attached to: this machine lets a program attach only to those that it "
            "has started itself (kernel.yama.ptrace_scope is 1); use sudo, or sonde record -- COMMAND, or "
            "once: sudo sysctl kernel.yama.ptrace_scope=0",
            pid);
    return err_set(
        err,
        "process %u protects itself (it changed its user or its rights), or a security module or the "
        "container's seccomp profile forbids to attach; use sudo, or in a container "
        "--cap-add=SYS_PTRACE",
        pid);
}

/* Its memory is there to be read; only to hold its threads is forbidden. */
static int explain_hold(const struct process_access *access, struct err *err)
{
    return err_set(
        err,
        "process %u can be read, but its threads cannot be held (ptrace: %s): the seccomp profile of this "
        "container or sandbox forbids it; start it with --cap-add=SYS_PTRACE or --security-opt "
        "seccomp=unconfined, or use sonde outside",
        access->pid, strerror(access->hold_error));
}

int process_access_explain(const struct process_access *access, struct err *err)
{
    uint32_t pid = access->pid;
    if (access->is_kernel_thread)
        return err_set(err, "process %u is a thread of the kernel, not a program", pid);
    if (access->leader && access->leader != pid)
        return err_set(err, "%u is a thread of process %u; use -p %u", pid, access->leader, access->leader);
    if (access->state == 'Z' || access->state == 'X')
        return err_set(err, "process %u has ended already; its parent, process %u, has not taken notice yet",
                       pid, access->parent);
    if (access->tracer)
        return err_set(
            err,
            "process %u is being traced by process %u (%s); only one can do that at a time: end that "
            "one first",
            pid, access->tracer, access->tracer_name);
    if (access->memory_error == ENOENT || access->memory_error == ESRCH || access->hold_error == ESRCH)
        return err_set(err, "process %u has just ended", pid);
    if (access->memory_error)
        return explain_refusal(access, err);
    if (access->is_32_bit)
        return err_set(err, "process %u is a 32-bit program; sonde reads 64-bit Pythons only", pid);
    return access->hold_error ? explain_hold(access, err) : 0;
}

int process_access_check(uint32_t pid, struct err *err)
{
    struct process_access access = {.pid = pid};
    struct bytes text = {0};
    if (!read_text(pid, "status", &text)) {
        bytes_clear(&text);
        bool hidden = kill((pid_t)pid, 0) == 0 || errno == EPERM;
        return hidden ? err_set(err, "process %u is hidden from this user; use sudo", pid)
                      : err_set(err, "there is no process %u", pid);
    }
    read_status(&access, &text);
    read_tracer_name(&access, &text);
    access.is_kernel_thread = read_text(pid, "stat", &text) && is_kernel_thread(&text);
    read_own_rights(&access, &text);
    bytes_clear(&text);
    access.memory_error = memory_error(pid);
    access.is_32_bit = !access.memory_error && is_32_bit(pid);
    /* One that is stopped would move, from one kind of standing still to another and back. */
    if (!access.memory_error && !access.tracer && access.state != 'Z' && access.state != 'T')
        access.hold_error = hold_error(pid);
    return process_access_explain(&access, err);
}
