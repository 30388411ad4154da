#include "collect/agent/seccomp_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define ACTION 0xffff0000u /* of an answer; the rest is data */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0
#endif

/* What the agent calls in the handler, at the start of a program, at a fork and before an exec. The sampler's own
 * calls are not among them: it is a process of its own, and may die of one. */
static const int ours[] = {
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_gettid,
    SYS_getpid,
    SYS_process_vm_readv,
    SYS_clock_gettime,
    SYS_openat,
    SYS_read,
    SYS_close,
    SYS_clone,
    SYS_sched_yield,
    SYS_rt_sigaction,
    SYS_rt_sigtimedwait,
    SYS_memfd_create,
    SYS_ftruncate,
    SYS_mmap,
    SYS_munmap,
    SYS_socket,
    SYS_connect,
    SYS_sendmsg,
    SYS_setsockopt,
    SYS_getppid,
    SYS_futex,
#ifdef SYS_readlink
    SYS_readlink,
    SYS_access,
#endif
};

/* The machine that a filter is a program for. Jumps go forward only, so that every run ends. */
struct machine {
    uint32_t a, x, memory[BPF_MEMWORDS];
    struct seccomp_data data;
};

static bool load(struct machine *m, const struct sock_filter *step, uint32_t *into)
{
    switch (BPF_MODE(step->code)) {
    case BPF_IMM:
        *into = step->k;
        return true;
    case BPF_ABS:
        if (step->k % 4 || step->k > sizeof m->data - 4)
            return false;
        memcpy(into, (const char *)&m->data + step->k, 4);
        return true;
    case BPF_LEN:
        *into = sizeof m->data;
        return true;
    case BPF_MEM:
        if (step->k < BPF_MEMWORDS)
            *into = m->memory[step->k];
        return step->k < BPF_MEMWORDS;
    default:
        return false;
    }
}

static bool compute(struct machine *m, const struct sock_filter *step)
{
    uint32_t b = BPF_SRC(step->code) == BPF_X ? m->x : step->k;
    switch (BPF_OP(step->code)) {
    case BPF_ADD:
        m->a += b;
        return true;
    case BPF_SUB:
        m->a -= b;
        return true;
    case BPF_MUL:
        m->a *= b;
        return true;
    case BPF_DIV:
        m->a = b ? m->a / b : 0;
        return b != 0;
    case BPF_AND:
        m->a &= b;
        return true;
    case BPF_OR:
        m->a |= b;
        return true;
    case BPF_XOR:
        m->a ^= b;
        return true;
    case BPF_LSH:
        m->a = b < 32 ? m->a << b : 0;
        return true;
    case BPF_RSH:
        m->a = b < 32 ? m->a >> b : 0;
        return true;
    case BPF_NEG:
        m->a = -m->a;
        return true;
    default:
        return false;
    }
}

/* How many steps to leave out. */
static uint32_t jump(const struct machine *m, const struct sock_filter *step)
{
    uint32_t b = BPF_SRC(step->code) == BPF_X ? m->x : step->k;
    bool is_true;
    switch (BPF_OP(step->code)) {
    case BPF_JA:
        return step->k;
    case BPF_JEQ:
        is_true = m->a == b;
        break;
    case BPF_JGT:
        is_true = m->a > b;
        break;
    case BPF_JGE:
        is_true = m->a >= b;
        break;
    default:
        is_true = (m->a & b) != 0;
        break;
    }
    return is_true ? step->jt : step->jf;
}

static bool store(struct machine *m, const struct sock_filter *step, uint32_t value)
{
    if (step->k < BPF_MEMWORDS)
        m->memory[step->k] = value;
    return step->k < BPF_MEMWORDS;
}

static bool move(struct machine *m, const struct sock_filter *step)
{
    if (BPF_MISCOP(step->code) == BPF_TAX)
        m->x = m->a;
    else
        m->a = m->x;
    return true;
}

/* Everything that is neither a jump nor the end. */
static bool perform(struct machine *m, const struct sock_filter *step)
{
    switch (BPF_CLASS(step->code)) {
    case BPF_LD:
        return load(m, step, &m->a);
    case BPF_LDX:
        return load(m, step, &m->x);
    case BPF_ST:
        return store(m, step, m->a);
    case BPF_STX:
        return store(m, step, m->x);
    case BPF_ALU:
        return compute(m, step);
    case BPF_MISC:
        return move(m, step);
    default:
        return false;
    }
}

unsigned seccomp_filter_answer(const struct sock_fprog *filter, int call)
{
    struct machine m = {.data = {.nr = call, .arch = ARCHITECTURE}};
    for (uint64_t at = 0; at < filter->len; at++) {
        const struct sock_filter *step = &filter->filter[at];
        if (BPF_CLASS(step->code) == BPF_RET)
            return BPF_RVAL(step->code) == BPF_A ? m.a : step->k;
        if (BPF_CLASS(step->code) == BPF_JMP)
            at += jump(&m, step);
        else if (!perform(&m, step))
            return SECCOMP_RET_KILL_PROCESS;
    }
    return SECCOMP_RET_KILL_PROCESS;
}

static bool is_allowed(const struct sock_fprog *filter, int call)
{
    unsigned action = seccomp_filter_answer(filter, call) & ACTION;
    return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

bool seccomp_filter_is_deadly(const struct sock_fprog *filter)
{
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (!is_allowed(filter, ours[i]) &&
            (seccomp_filter_answer(filter, ours[i]) & ACTION) != SECCOMP_RET_ERRNO)
            return true;
    return !is_allowed(filter, SYS_rt_sigreturn); /* nobody comes back from a handler then */
}
