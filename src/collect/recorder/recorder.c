#include "collect/recorder/recorder.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "collect/agent/session.h"
#include "collect/recorder/followed_kinds.h"
#include "collect/recorder/listener.h"
#include "collect/recorder/recorder_roster.h"
#include "collect/recorder/recorder_state.h"
#include "store/writer.h"

#define FIRST_CHECKPOINT_NS 100000000u
#define LAST_INTERVAL_NS    10000000000u
#define FOLLOWED_NS         1000000000u /* of samples, which cost next to nothing: somebody may look while it runs */
#define WATCHED_NS          250000000u /* while somebody does */
#define ORPHAN_GRACE_NS     100000000u /* for children that end together with the target */
#define BUSY_GRACE_NS                                                                                        \
    1000000000u /* for those that are doing something just then: on a busy machine ending takes time */
#define RING_INTERVAL_MS    20
#define LOADING_INTERVAL_MS 2 /* while a process loads libraries: its threads wait for their rows */
#define PROGRESS_NS         200000000u
#define INTERRUPT_GRACE_NS  200000000u /* for a program that an interrupt ends: its exit code is recorded */
#define POLLED_MAX          1024  /* descriptors in one poll; more processes are looked for at checkpoints */
#define CLOCK_TOLERANCE     0.001 /* a counter that changes its rate by more is not to be trusted */

/* The earliest counts. */
void recorder_end_sampling_at(struct recorder *recorder, uint64_t ns)
{
    if (!recorder->over_ns || ns < recorder->over_ns)
        recorder->over_ns = ns;
}

static void note_words(struct recorder *recorder, pid_t pid, const char *why)
{
    bool is_target = pid == recorder->target;
    recorder->result->target_refused |= is_target;
    recorder->options->refused((uint64_t)pid, is_target, why);
    struct writer *writer = recorder->options->writer;
    const struct note note = {
        .kind = NOTE_REFUSED, .count = 1, .text = writer_string(writer, why, strlen(why))};
    writer_note(writer, &note);
}

static void note_refusal(struct recorder *recorder, const struct session_hello *hello, pid_t pid)
{
    char why[sizeof hello->text + 1];
    size_t size = hello->text_bytes < sizeof hello->text ? hello->text_bytes : sizeof hello->text;
    snprintf(why, sizeof why, "%.*s", (int)size, hello->text);
    note_words(recorder, pid, why);
}

static void checkpoint(struct recorder *recorder);

/* Somebody waits for the byte. */
static void answer_flush(struct recorder *recorder, int fd)
{
    checkpoint(recorder);
    send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* or else who has waited is gone */
}

static void take_messages(struct recorder *recorder)
{
    struct listener_message message;
    uint32_t user = recorder->invitation.pid ? recorder->invitation.user : (uint32_t)getuid();
    while (listener_take(recorder->listener, user, &message)) {
        const struct session_hello *hello = &message.hello;
        if (followed_kinds_find(hello->message))
            recorder_roster_take(recorder, hello, message.pid, message.fd);
        else if (hello->message == SESSION_REFUSED)
            note_refusal(recorder, hello, message.pid);
        else if (hello->message == SESSION_FLUSH)
            answer_flush(recorder, message.fd);
        if (message.fd >= 0)
            close(message.fd);
    }
}

static int32_t exit_code_of(int status)
{
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void reap_target(struct recorder *recorder)
{
    int status;
    siginfo_t ended = {0};
    waitid(P_PID, (id_t)recorder->target, &ended, WEXITED | WNOHANG | WNOWAIT);
    if (ended.si_pid == recorder->target)
        counters_end(&recorder->counters, (uint32_t)recorder->target);
    if (waitpid(recorder->target, &status, WNOHANG) != recorder->target)
        return;
    recorder->target_ended = true;
    recorder->result->status = status;
    if (recorder->over)
        return;
    recorder->result->end_ns = clock_monotonic_ns();
    take_messages(recorder);
    recorder_roster_finish_process(recorder, recorder->target, exit_code_of(status));
    observed_end(&recorder->observed, (uint32_t)recorder->target, exit_code_of(status));
}

static void forward(struct recorder *recorder, const struct signalfd_siginfo *info)
{
    if (!signals_went_to_group(&recorder->signals, info) && !recorder->target_ended)
        kill(recorder->target, (int)info->ssi_signo);
    if (info->ssi_signo == SIGINT && recorder->options->ends_at_interrupt)
        recorder_end_sampling_at(recorder, clock_monotonic_ns() + INTERRUPT_GRACE_NS);
}

/* The process is not ours: signals are for us, and those that usually end a program end the recording. */
static void take_own_signal(struct recorder *recorder, const struct signalfd_siginfo *info)
{
    switch (info->ssi_signo) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        recorder_end_sampling_at(recorder, clock_monotonic_ns());
    }
}

static void take_pending_signals(struct recorder *recorder)
{
    struct signalfd_siginfo info;
    while (signals_take(&recorder->signals, &info)) {
        if (recorder->options->pid)
            take_own_signal(recorder, &info);
        else if (info.ssi_signo == SIGCHLD)
            reap_target(recorder);
        else
            forward(recorder, &info);
    }
}

static void checkpoint(struct recorder *recorder)
{
    struct clock_rate rate = recorder_state_rate(recorder);
    if (recorder->first_rate == 0)
        recorder->first_rate = rate.ns_per_tick;
    recorder_roster_finish_ended(recorder);
    recorder_roster_drop_long_dead(recorder);
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->followed[i].memory)
            followed_drain(&recorder->followed[i], &rate);
    counters_write(&recorder->counters);
    writer_flush(recorder->options->writer);
    if (recorder->options->written)
        recorder->options->written(recorder->options->context);
    recorder->written_ns = clock_monotonic_ns();
    recorder->next_ns = recorder->written_ns + recorder->interval_ns;
    bool follows = recorder->options->period_ns || recorder->options->heap;
    uint64_t last_ns = follows ? FOLLOWED_NS : LAST_INTERVAL_NS;
    if (!recorder->options->checkpoint_ns)
        recorder->interval_ns = recorder->interval_ns * 2 < last_ns ? recorder->interval_ns * 2 : last_ns;
}

/* Who looks on need not wait for the next checkpoint. */
static void hurry(struct recorder *recorder)
{
    const struct recorder_options *options = recorder->options;
    uint64_t soon_ns = recorder->written_ns + WATCHED_NS;
    if (options->is_watched && soon_ns < recorder->next_ns && options->is_watched(options->context))
        recorder->next_ns = soon_ns;
}

static size_t list_descriptors(const struct recorder *recorder, struct pollfd *polled)
{
    size_t count = 0;
    polled[count++] = (struct pollfd){.fd = recorder->signals.fd, .events = POLLIN};
    polled[count++] = (struct pollfd){.fd = recorder->listener, .events = POLLIN};
    for (size_t i = 0; i < recorder->count && count < POLLED_MAX; i++)
        if (recorder->followed[i].pidfd >= 0 && recorder->followed[i].memory && !recorder->attach.begins)
            polled[count++] = (struct pollfd){.fd = recorder->followed[i].pidfd, .events = POLLIN};
    return count;
}

static void wait_and_handle(struct recorder *recorder, int timeout_ms)
{
    struct pollfd polled[POLLED_MAX];
    size_t count = list_descriptors(recorder, polled);
    if (poll(polled, count, timeout_ms) <= 0)
        return;
    take_messages(recorder);
    take_pending_signals(recorder);
    recorder_roster_take_ends(recorder, polled, count);
}

/* Rings are small: they are emptied between checkpoints, too. How long to wait until the next time. */
static uint64_t empty_rings(struct recorder *recorder)
{
    struct clock_rate rate = recorder_state_rate(recorder);
    uint64_t wait_ms = UINT64_MAX;
    for (size_t i = 0; i < recorder->count; i++) {
        if (!recorder->followed[i].memory || !followed_has_rings(&recorder->followed[i]))
            continue;
        bool soon = followed_empty_rings(&recorder->followed[i], &rate);
        if (soon || wait_ms > RING_INTERVAL_MS)
            wait_ms = soon ? LOADING_INTERVAL_MS : RING_INTERVAL_MS;
    }
    return wait_ms;
}

/* Processes that come later are asked for the same, when more is found or when they are next looked at. */
static void ask_for_hot(struct recorder *recorder, uint64_t now)
{
    const struct recording *known = writer_known(recorder->options->writer);
    hot_functions_find(&recorder->hot, known, now);
    for (size_t i = 0; i < recorder->count && recorder->hot.found_count; i++) {
        const struct followed *followed = &recorder->followed[i];
        if (followed->memory && followed->purpose == SESSION_LINES)
            hot_functions_ask(&recorder->hot, known, followed->memory);
    }
}

static void tell_progress(struct recorder *recorder, uint64_t now)
{
    const struct recorder_options *options = recorder->options;
    struct recorder_progress progress = {.elapsed_ns = now - recorder->result->start_ns,
                                         .samples = recorder->result->samples,
                                         .errors = recorder->result->errors};
    if (!options->progress || now < recorder->progress_ns)
        return;
    for (size_t i = 0; i < recorder->count; i++) {
        if (!recorder->followed[i].memory || !followed_samples(&recorder->followed[i]))
            continue;
        struct sample_counts counts = sample_drain_counts(followed_samples(&recorder->followed[i]));
        progress.samples += counts.samples;
        progress.errors += counts.errors;
    }
    recorder->progress_ns = now + PROGRESS_NS;
    options->progress(options->context, &progress);
}

/* How long nothing has to be done, in milliseconds. */
static int patience_ms(struct recorder *recorder, uint64_t now)
{
    uint64_t until = recorder->next_ns;
    if (recorder->over_ns && recorder->over_ns < until)
        until = recorder->over_ns;
    if (recorder->options->progress && recorder->progress_ns < until)
        until = recorder->progress_ns;
    if (counters_next_ns(&recorder->counters) < until)
        until = counters_next_ns(&recorder->counters);
    if (recorder->options->is_watched && now + WATCHED_NS < until)
        until = now + WATCHED_NS;
    uint64_t wait_ms = until > now ? (until - now) / 1000000u + 1 : 0, rings_ms = empty_rings(recorder);
    return (int)(rings_ms < wait_ms ? rings_ms : wait_ms);
}

static void look_at_counters(struct recorder *recorder, uint64_t now)
{
    if (counters_next_ns(&recorder->counters) > now)
        return;
    counters_look(&recorder->counters, now);
    bool runs = !recorder->options->observe || observed_step(&recorder->observed, now);
    if (runs || !recorder->options->pid)
        return;
    recorder->target_ended = true;
    recorder->result->end_ns = clock_monotonic_ns();
}

/* Whether those that are left may be about to end, though the program has ended so long ago. */
static bool is_worth_waiting(const struct recorder *recorder, uint64_t since_ns)
{
    bool busy = false;
    for (size_t i = 0; since_ns >= ORPHAN_GRACE_NS && i < recorder->count && !busy; i++)
        busy = recorder->followed[i].memory && followed_is_busy(&recorder->followed[i]);
    return since_ns < (busy ? BUSY_GRACE_NS : ORPHAN_GRACE_NS);
}

static int follow_until_end(struct recorder *recorder, struct err *err)
{
    while (!recorder->target_ended) {
        uint64_t now = clock_monotonic_ns();
        if (recorder->over_ns && now >= recorder->over_ns)
            return 0;
        if (invitation_check(&recorder->invitation, err) < 0)
            return -1;
        attach_step(&recorder->attach);
        if (recorder->hot.limit)
            ask_for_hot(recorder, now);
        tell_progress(recorder, now);
        look_at_counters(recorder, now);
        hurry(recorder);
        if (now >= recorder->next_ns)
            checkpoint(recorder);
        else
            wait_and_handle(recorder, patience_ms(recorder, now));
    }
    uint64_t ended_ns = clock_monotonic_ns();
    while (recorder_roster_running(recorder) && is_worth_waiting(recorder, clock_monotonic_ns() - ended_ns)) {
        wait_and_handle(recorder, 10);
        recorder_roster_finish_ended(recorder);
        recorder_roster_drop_long_dead(recorder);
    }
    return 0;
}

static void note_clock(struct recorder *recorder)
{
    struct clock_rate rate = recorder_state_rate(recorder);
    double change = recorder->first_rate > 0 ? rate.ns_per_tick / recorder->first_rate - 1 : 0;
    if (change < CLOCK_TOLERANCE && change > -CLOCK_TOLERANCE)
        return;
    static const char text[] = "the machine's counter changed its rate during the run: times are less exact";
    const struct note note = {.kind = NOTE_CLOCK,
                              .count = 1,
                              .text = writer_string(recorder->options->writer, text, sizeof text - 1)};
    writer_note(recorder->options->writer, &note);
}

static void finish_all(struct recorder *recorder)
{
    recorder->result->processes += recorder->observed.met;
    recorder->result->left_running = recorder_roster_running(recorder) + observed_finish(&recorder->observed);
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->followed[i].memory)
            recorder_roster_finish(recorder, &recorder->followed[i], false, INT32_MIN);
    note_clock(recorder);
    writer_flush(recorder->options->writer);
}

/* The program goes on without being sampled; sonde stays its parent, passes signals on and ends as it does. */
static void see_off(struct recorder *recorder)
{
    recorder->over = true;
    recorder->result->end_ns = clock_monotonic_ns();
    attach_stop(&recorder->attach);
    take_messages(recorder); /* it may have come just now */
    invitation_end(&recorder->invitation);
    if (recorder->listener >= 0)
        close(recorder->listener); /* processes that start from now on find nobody */
    recorder->listener = -1;
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->followed[i].memory)
            followed_stop(&recorder->followed[i]);
    finish_all(recorder);
    if (recorder->options->ended)
        recorder->options->ended(recorder->options->context);
    while (!recorder->target_ended && !recorder->options->pid)
        wait_and_handle(recorder, -1);
}

/* ---- a process that runs already ---- */

void recorder_take_attached(void *context, uint32_t pid, const struct session_hello *hello, int fd)
{
    recorder_roster_take(context, hello, (pid_t)pid, fd);
}

void recorder_end_attached(void *context, uint32_t pid, bool is_program, const char *why)
{
    struct recorder *recorder = context;
    struct followed *followed = recorder_roster_find(recorder, (pid_t)pid);
    if (followed && followed->memory)
        recorder_roster_finish(recorder, followed, !why, INT32_MIN);
    if (why)
        note_words(recorder, (pid_t)pid, why);
    if (!is_program)
        return;
    recorder->target_ended = true;
    recorder->result->end_ns = clock_monotonic_ns();
}

int recorder_run(const struct recorder_options *options, struct recorder_result *result, struct err *err)
{
    *result = (struct recorder_result){0};
    struct recorder recorder = {.options = options,
                                .result = result,
                                .listener = -1,
                                .signals = {.fd = -1},
                                .hot = {.limit = options->hot},
                                .native_files = {.writer = options->writer},
                                .counters = {.writer = options->writer}};
    int outcome = recorder_start(&recorder, err);
    if (outcome == 0) {
        recorder.interval_ns = options->checkpoint_ns ? options->checkpoint_ns : FIRST_CHECKPOINT_NS;
        recorder.next_ns = result->start_ns + recorder.interval_ns;
        outcome = follow_until_end(&recorder, err);
    }
    if (outcome == 0 && recorder.target_ended)
        finish_all(&recorder);
    else if (outcome == 0)
        see_off(&recorder);
    attach_clear(&recorder.attach);
    invitation_clear(&recorder.invitation);
    if (recorder.listener >= 0)
        close(recorder.listener);
    free(recorder.followed);
    observed_clear(&recorder.observed);
    counters_clear(&recorder.counters);
    hot_functions_clear(&recorder.hot);
    native_files_clear(&recorder.native_files);
    signals_close(&recorder.signals);
    result->holds_signals = recorder.signals.is_blocking;
    result->old_mask = recorder.signals.old_mask;
    return outcome;
}

void recorder_release_signals(struct recorder_result *result)
{
    if (!result->holds_signals)
        return;
    if (WIFSIGNALED(result->status) && WTERMSIG(result->status) != SIGINT)
        signal(WTERMSIG(result->status), SIG_IGN);
    sigprocmask(SIG_SETMASK, &result->old_mask, NULL);
    result->holds_signals = false;
}
