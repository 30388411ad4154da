/*
 * run: a recording from the command to the file: what every recording command does. The file is .sonde while
 * the target runs; another format is made from it at the end, and the .sonde file is kept if that fails.
 */
#ifndef SONDE_CLI_RUN_H
#define SONDE_CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/conversion.h"
#include "cli/run_request.h"
#include "collect/recorder/sample_drain.h"

struct err;
struct observed_options;
struct option_list;
struct recording;

struct run_options {
    const char *mode; /* "trace" */
    const struct run_request *request;
    struct target_request target;
    struct conversion conversion; /* how another format is made; which one is found here */
    const char *settings;         /* lines for the session, besides those of the request */
    const char *line_targets; /* functions whose lines are timed, in words; NULL or "" = none were named */
    const struct option_list *line_functions; /* the same, one by one; NULL = none */
    uint64_t rate_hz;                         /* of sampling; 0 = a trace */
    const char *clock;                        /* of sampling: "wall" or "cpu" */
    bool ends_at_interrupt;                   /* Ctrl-C ends the recording, not the program */
    bool heap;                                /* allocations are counted */
    uint64_t heap_sample_bytes; /* of these: mean distance of sampled bytes; 0 = every block counts */
    uint64_t duration_ns;       /* of sampling; 0 = until the program ends or Ctrl-C is pressed */
    bool finalize;              /* native frames are named at the end */
    const struct observed_options *observe; /* the program is only looked at; NULL = its Pythons record */
    bool native;                            /* of a process that ran already: native frames, too */
    bool tasks;                             /* likewise: the tasks of asyncio */
    uint32_t hot;                           /* lines are timed of so many functions that samples find */
    bool children; /* of a process that ran already: those that it starts are sampled, too */
};

struct run {
    char *path; /* of the recording; NULL = none was made */
    const char
        *source;   /* a recording that has more than `path`, while the run is closed; NULL = there is none */
    int status;    /* the target's, as waitpid gives it */
    bool recorded; /* at least one process was */
    bool can_be_read; /* `path` is a file that sonde reads, not a device or a picture */
    bool failed;      /* the recording could not be written or converted: told already */
    uint32_t processes, left_running;
    uint64_t elapsed_ns, overhead_ns, memory_bytes;
    uint64_t counted; /* calls, and hits of lines */
    uint64_t samples, errors,
        sampler_cpu_ns;                 /* of a sampled run; overhead_ns is then what it slowed the program */
    uint64_t reached_hz;                /* samples a second; 0 = not known */
    bool goes_on;                       /* sampling has ended and the program has not */
    struct sample_native_counts native; /* of it, too */
};

/* Tells what came of a run that recorded something; an exit code other than 0 counts more than the target's. */
typedef int run_close(const struct run *run, const void *values);

/* A recording command from its options to its exit code: that of the target, whose death by a signal is died too. */
int run_command(const struct run_options *options, run_close *close, const void *values);

/* The exit code of a target that ended with this status of waitpid; does not return when it was killed by a signal. */
int run_exit_as(int status);

#endif
