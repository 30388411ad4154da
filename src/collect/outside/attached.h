/*
 * attached: one process that is sampled from outside, by a thread of ours.
 *
 * It fills a sample area as a launched program's own sampler does, so that the recorder drains both alike. Threads
 * that sleep are read as they are; one that runs is held for the microseconds that its stack takes to be copied.
 * Whatever becomes of us, the process runs on.
 */
#ifndef SONDE_COLLECT_OUTSIDE_ATTACHED_H
#define SONDE_COLLECT_OUTSIDE_ATTACHED_H

#include <stdbool.h>
#include <stdint.h>

struct attached;
struct err;
struct session_hello;

enum attached_state {
    ATTACHED_SAMPLING,
    ATTACHED_ENDED,    /* the process has ended */
    ATTACHED_REPLACED, /* it has become another program (exec) */
};

/* Finds the interpreter; nothing runs yet. NULL with err set where it cannot be read. */
struct attached *attached_open(uint32_t pid, uint64_t period_ns, bool native, struct err *err);
/* Before it is started: samples are to stand for CPU time. */
void attached_use_cpu_clock(struct attached *attached);
/* Likewise: samples show the tasks of asyncio and who awaits them. */
void attached_show_tasks(struct attached *attached);
/* What the process would have said of itself, and the memory that the samples go to (stays ours). */
int attached_describe(const struct attached *attached, struct session_hello *hello);
int attached_start(struct attached *attached, struct err *err);
enum attached_state attached_state(const struct attached *attached);
/* Ends sampling: when it returns, no thread is held and all samples are in the area. */
void attached_stop(struct attached *attached);
void attached_free(struct attached *attached);

#endif
