/*
 * run: a recording from the command to the file: what every recording command does. The file is .sonde while
 * the target runs; another format is made from it at the end, and the .sonde file is kept if that fails.
 */
#ifndef SONDE_CLI_RUN_H
#define SONDE_CLI_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/conversion.h"
#include "cli/target.h"

struct err;
struct recording;

struct run_options {
    const char *mode;   /* "trace" */
    const char *output; /* pattern of the result; NULL = made up */
    const char *format; /* NULL = by suffix */
    struct conversion
        conversion;       /* how another format than .sonde is made; the format itself is found here */
    const char *settings; /* lines for the session */
    uint64_t rate_hz;     /* of sampling; 0 = a trace */
    struct target_request target;
};

struct run {
    char *path;       /* of the recording; NULL = none was made */
    int status;       /* the target's, as waitpid gives it */
    bool recorded;    /* at least one Python process was */
    bool can_be_read; /* `path` is a file, not a device */
    bool failed;      /* the recording could not be written or converted: told already */
    uint32_t processes, left_running;
    uint64_t elapsed_ns, overhead_ns, memory_bytes;
    uint64_t samples, errors, sampler_cpu_ns; /* of a sampled run */
};

/* Runs and records. -1 when the target could not be started or the output not be opened; what goes wrong later
 * is told on standard error and leaves `failed`. */
int run_record(const struct run_options *options, struct run *run, struct err *err);
void run_clear(struct run *run);

/* Ends this program as the target ended: the same exit code, or killed by the same signal. */
int run_exit(const struct run *run);

#endif
