#include <signal.h>

#include "base/bytes.h"
#include "base/err.h"
#include "collect/agent/session.h"
#include "collect/recorder/launch.h"
#include "collect/recorder/listener.h"
#include "collect/recorder/recorder_state.h"

/* ---- a process that runs already ---- */

static int start_attached(struct recorder *recorder, struct err *err)
{
    const struct recorder_options *options = recorder->options;
    recorder->start = clock_read_pair(clock_has_counter());
    recorder->result->start_ns = recorder->start.ns;
    recorder->target = (pid_t)options->pid;
    recorder->attach = (struct attach){.period_ns = options->period_ns,
                                       .native = options->native,
                                       .tasks = options->tasks,
                                       .cpu_clock = options->cpu_clock,
                                       .children = options->children,
                                       .begins = recorder_take_attached,
                                       .ends = recorder_end_attached,
                                       .context = recorder};
    if (attach_open(&recorder->attach, options->pid, err) < 0)
        return -1;
    if (options->duration_ns) /* to read its code for native frames took a while */
        recorder->over_ns = clock_monotonic_ns() + options->duration_ns;
    return 0;
}

/* ---- a process that counts its own allocations ---- */

/* What a session begins with. */
static int put_session(const struct recorder *recorder, const char *socket, struct bytes *settings,
                       struct err *err)
{
    const struct recorder_options *options = recorder->options;
    bytes_putf(settings, "version=%u\nsocket=%s\nagent=%s\n%s", SESSION_VERSION, socket, options->agent,
               options->settings);
    if (options->heap)
        bytes_putf(settings, "heap_library=%s\n", options->heap);
    bytes_put_u8(settings, 0);
    return settings->failed ? err_set(err, "out of memory") : 0;
}

static int start_invited(struct recorder *recorder, const char *socket, struct err *err)
{
    const struct recorder_options *options = recorder->options;
    struct bytes settings = {0};
    recorder->start = clock_read_pair(clock_has_counter());
    recorder->result->start_ns = recorder->start.ns;
    recorder->target = (pid_t)options->pid;
    int result = put_session(recorder, socket, &settings, err);
    if (result == 0)
        result =
            invitation_send(&recorder->invitation, options->pid, options->inside, (char *)settings.data, err);
    bytes_clear(&settings);
    return result;
}

/* ---- a program that is only looked at ---- */

static int launch_target(struct recorder *recorder, struct bytes *settings, struct err *err)
{
    const struct launch launch = {.argv = recorder->options->argv,
                                  .agent = recorder->options->agent,
                                  .heap = recorder->options->heap,
                                  .settings = (char *)settings->data,
                                  .group = recorder->options->group,
                                  .mask = &recorder->signals.old_mask,
                                  .child_action = &recorder->signals.old_child_action};
    recorder->start = clock_read_pair(clock_has_counter());
    recorder->result->start_ns = recorder->start.ns;
    return launch_start(&launch, err);
}

/* The agent comes along for what the program tells of itself; without it all else is recorded. */
static int launch_observed(struct recorder *recorder, struct err *err)
{
    char name[64];
    struct bytes settings = {0};
    recorder->listener = listener_open(name, sizeof name, NULL);
    if (recorder->listener >= 0 && put_session(recorder, name, &settings, NULL) < 0)
        bytes_clear(&settings);
    int target = launch_target(recorder, &settings, err);
    bytes_clear(&settings);
    return target;
}

static int start_observed(struct recorder *recorder, struct err *err)
{
    const struct recorder_options *options = recorder->options;
    recorder->start = clock_read_pair(clock_has_counter());
    recorder->result->start_ns = recorder->start.ns;
    recorder->target = options->pid ? (pid_t)options->pid : launch_observed(recorder, err);
    if (recorder->target <= 0)
        return -1;
    recorder->counters.memory = options->observe->memory;
    recorder->counters.interval_ns = options->observe->interval_ns;
    recorder->observed = (struct observed){.writer = options->writer,
                                           .counters = &recorder->counters,
                                           .describe = options->describe,
                                           .children = options->observe->children};
    observed_begin(&recorder->observed, (uint32_t)recorder->target);
    if (options->duration_ns)
        recorder_end_sampling_at(recorder, clock_monotonic_ns() + options->duration_ns);
    return 0;
}

int recorder_start(struct recorder *recorder, struct err *err)
{
    char name[64];
    if (signals_open(&recorder->signals, recorder->options->group, err) < 0)
        return -1;
    if (recorder->options->observe)
        return start_observed(recorder, err);
    if (recorder->options->pid && !recorder->options->heap)
        return start_attached(recorder, err);
    recorder->listener = listener_open(name, sizeof name, err);
    if (recorder->listener < 0)
        return -1;
    if (recorder->options->pid)
        return start_invited(recorder, name, err);
    struct bytes settings = {0};
    int settled = put_session(recorder, name, &settings, err);
    recorder->target = settled < 0 ? -1 : launch_target(recorder, &settings, err);
    bytes_clear(&settings);
    /* A file that may not grow is a failed write, not our death. The target has its own disposition already. */
    signal(SIGXFSZ, SIG_IGN);
    return recorder->target > 0 ? 0 : -1;
}
