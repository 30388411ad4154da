#include "cli/run_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/run.h"
#include "collect/outside/attach.h"
#include "collect/outside/remote_script.h"
#include "collect/recorder/observed.h"

#define DURATION_MAX 1e9 /* seconds: 30 years */
#define RATE_MAX     20000

int run_check_duration(const char *text, uint64_t *duration_ns, struct err *err)
{
    *duration_ns = 0;
    if (!text || strcmp(text, "unlimited") == 0)
        return 0;
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds <= DURATION_MAX))
        return err_set(err, "--duration must be a number of seconds, or unlimited; '%s' is neither", text);
    *duration_ns = (uint64_t)(seconds * 1e9);
    return 0;
}

int run_check_rate(int64_t rate_hz, struct err *err)
{
    if (rate_hz < 1 || rate_hz > RATE_MAX)
        return err_set(err, "--rate must be between 1 and %d samples a second", RATE_MAX);
    return 0;
}

/* Why not, and what else there is. */
static int check_counting(uint32_t pid, struct err *err)
{
    struct err why = {0};
    if (attach_check(pid, err) < 0)
        return -1;
    if (remote_script_check(pid, &why) == 0)
        return 0;
    return err_set(
        err,
        "%s. To load code into it at any other moment could make it hang. What it occupies is seen from "
        "outside: sonde mem --rss --pid %" PRIu32 "; or start the program under sonde mem",
        why.text, pid);
}

int run_check_process(uint32_t pid, const struct run_options *options, struct err *err)
{
    if (options->request->mpi)
        return err_set(err,
                       "calls of MPI are followed from a program's beginning on: --mpi cannot go with --pid");
    if (options->heap)
        return check_counting(pid, err);
    return options->observe ? counters_check(pid, options->observe->memory, err) : attach_check(pid, err);
}
