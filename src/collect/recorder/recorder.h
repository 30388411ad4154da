/*
 * recorder: the parent's side of a recording. Starts the target, takes in the arenas of all processes that
 * announce themselves, writes what they hold at checkpoints (first after 0.1 s, then at doubling intervals up to
 * 10 s, of samples 1 s), and salvages what a killed process left. Prints nothing.
 */
#ifndef SONDE_COLLECT_RECORDER_RECORDER_H
#define SONDE_COLLECT_RECORDER_RECORDER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/recorder/followed.h"
#include "collect/recorder/mark_rows.h"
#include "collect/recorder/sample_drain.h"

struct err;
struct observed_options;

struct recorder_progress {
    uint64_t elapsed_ns, samples, errors;
};

struct recorder_options {
    char *const *argv;  /* the target */
    uint32_t pid;       /* instead of it: a process that runs already, to be sampled from outside; 0 = none */
    uint64_t period_ns; /* of sampling it */
    bool native;        /* its native frames, too */
    bool tasks;         /* likewise: the tasks of asyncio */
    bool cpu_clock;     /* likewise: samples stand for CPU time */
    bool children;      /* those that it starts, too */
    const struct observed_options
        *observe;      /* the program is only looked at, and need not be Python; NULL = no */
    const char *agent; /* path of libsonde_agent.so */
    const char *heap;  /* path of libsonde_heap.so when allocations are to be counted; else NULL */
    const char
        *inside; /* path of the extension: for a process that runs already and counts its own allocations */
    const char
        *settings; /* lines "key=value" for the session (collect/agent/session.h), without the socket */
    struct writer *writer;
    followed_describe *describe;
    /* Told at once when a Python cannot be recorded. */
    void (*refused)(uint64_t pid, bool is_target, const char *why);
    uint32_t hot;           /* lines are timed of so many functions that samples find; 0 = of none */
    uint64_t duration_ns;   /* sampling ends so long after it began; 0 = with the program */
    pid_t group;            /* the process group that the target joins; 0 = it has ours */
    bool ends_at_interrupt; /* sampling ends at SIGINT, which the program gets as well */
    uint64_t checkpoint_ns; /* between two checkpoints; 0 = at doubling intervals */
    void *context;          /* for what follows; each may be NULL */
    void (*progress)(void *context, const struct recorder_progress *progress); /* a few times a second */
    /* Whether somebody looks at what is written: then it is a few times a second, and each time is told. */
    bool (*is_watched)(void *context);
    void (*written)(void *context);
    /* Sampling has ended, the program goes on and is waited for; all has been given to the writer. */
    void (*ended)(void *context);
};

struct recorder_result {
    int status; /* the target's, as waitpid gives it */
    uint64_t start_ns, end_ns;
    uint32_t processes;    /* that recorded */
    uint32_t left_running; /* of these, still running when the target ended */
    uint64_t overhead_ns;  /* estimated from the number of calls */
    uint64_t memory_bytes; /* of the largest call tree */
    uint64_t samples, errors;
    uint64_t sampler_cpu_ns;
    struct sample_native_counts native;
    uint64_t looks, sampled_ns;               /* of all processes: achieved rate */
    uint64_t counted;                         /* calls, and hits of lines */
    uint64_t lateness[SAMPLE_DRAIN_LATENESS]; /* instants that were less than 2^n microseconds late */
    uint64_t slowdown_ns;   /* estimated from the number of signals and the time in their handler */
    uint64_t targets_found; /* bit i: the session's line target i meant a function that was called */
    struct mark_rows marks;
    bool target_refused; /* the target itself cannot be recorded and was not run */
    bool holds_signals;  /* until recorder_release_signals */
    sigset_t old_mask;
};

/* 0 when the target ran, whatever became of it; -1 when it could not be started. Signals that would end this process
 * are held back from then on: a launcher that ends a run sends them more than once, and the file is not closed yet. */
int recorder_run(const struct recorder_options *options, struct recorder_result *result, struct err *err);
/* The file is whole. The signal that the target died of is not let in any more (but for Ctrl-C): whoever exits as the
 * target did dies of it in the end. Does nothing the second time. */
void recorder_release_signals(struct recorder_result *result);

#endif
