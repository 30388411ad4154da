/*
 * process_access: whether another process may be read and held by us, and if not, which of the usual remedies helps.
 */
#ifndef SONDE_COLLECT_OUTSIDE_PROCESS_ACCESS_H
#define SONDE_COLLECT_OUTSIDE_PROCESS_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* What decides it, as the kernel tells. */
struct process_access {
    uint32_t pid;
    uint32_t leader; /* the process that it is a thread of; itself for a process */
    char state;      /* 'R', 'S', 'Z', … */
    uint32_t parent;
    uint32_t tracer; /* 0 = none */
    char tracer_name[32];
    bool is_kernel_thread;
    bool is_32_bit;
    uint32_t owner; /* user */
    /* about us */
    uint32_t user;
    bool may_trace_others; /* CAP_SYS_PTRACE */
    int ptrace_scope;      /* of Yama; 0 where there is none */
    int memory_error;      /* errno, when its memory could not be opened; 0 = it could */
    int hold_error;        /* the same of ptrace */
};

int process_access_check(uint32_t pid, struct err *err);
/* The decision alone. */
int process_access_explain(const struct process_access *access, struct err *err);

#endif
