#include "collect/recorder/recorder.h"

#include <errno.h>
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
#include "collect/recorder/recorder_state.h"
#include "collect/recorder/recorder_sums.h"
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
#define POLLED_MAX          1024 /* descriptors in one poll; more processes are looked for at checkpoints */
#define MEMORY_OF_DEAD_NS   60000000000u /* a child that announces itself late still finds its parent */
#define CLOCK_TOLERANCE     0.001        /* a counter that changes its rate by more is not to be trusted */

static struct clock_rate current_rate(const struct recorder *recorder)
{
    bool counter = clock_has_counter();
    return clock_rate_between(recorder->start, clock_read_pair(counter), counter);
}

static struct followed *find_followed(struct recorder *recorder, pid_t pid)
{
    for (size_t i = recorder->count; i-- > 0;)
        if (recorder->followed[i].pid == pid)
            return &recorder->followed[i];
    return NULL;
}

static const struct followed *find_id(const struct recorder *recorder, uint32_t id)
{
    for (size_t i = recorder->count; id && i-- > 0;)
        if (recorder->followed[i].id == id)
            return &recorder->followed[i];
    return NULL;
}

static void finish(struct recorder *recorder, struct followed *followed, bool ended, int32_t exit_code)
{
    struct clock_rate rate = current_rate(recorder);
    followed_finish(followed, &rate);
    recorder_sums_add(recorder->result, followed);
    if (!followed->is_guest)
        counters_end(&recorder->counters, (uint32_t)followed->pid);
    followed_close(followed, recorder->options->writer, ended, exit_code);
}

/* The nearest ancestor that records: there may be shells between. */
static uint32_t parent_of(struct recorder *recorder, pid_t pid, pid_t parent_pid)
{
    struct followed *known = find_followed(recorder, parent_pid);
    for (int generation = 0; generation < 16 && pid > 1 && !known; generation++) {
        pid = listener_parent(pid);
        known = find_followed(recorder, pid);
    }
    return known ? known->id : 0;
}

static struct followed *new_followed(struct recorder *recorder)
{
    if (recorder->count == recorder->capacity) {
        size_t capacity = recorder->capacity * 2 + 16;
        struct followed *grown = realloc(recorder->followed, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        recorder->followed = grown;
        recorder->capacity = capacity;
    }
    return &recorder->followed[recorder->count++];
}

/* The earliest counts. */
void recorder_end_sampling_at(struct recorder *recorder, uint64_t ns)
{
    if (!recorder->over_ns || ns < recorder->over_ns)
        recorder->over_ns = ns;
}

static void finish_process(struct recorder *recorder, pid_t pid, int32_t exit_code)
{
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->followed[i].pid == pid && recorder->followed[i].memory)
            finish(recorder, &recorder->followed[i], true, exit_code);
}

/* The same process, if it records in another way already; one that announces a way again has become another program. */
static const struct followed *find_same(struct recorder *recorder, pid_t pid, uint32_t purpose)
{
    struct followed *same = NULL;
    for (size_t i = 0; i < recorder->count; i++) {
        struct followed *followed = &recorder->followed[i];
        if (followed->pid != pid || !followed->memory)
            continue;
        if (followed->purpose == purpose) {
            finish_process(recorder, pid, INT32_MIN);
            return NULL;
        }
        same = followed;
    }
    return same;
}

/* Whether the process has become another program since, which has announced itself faster than the old one's
 * sampler. */
static bool is_overtaken(const struct recorder *recorder, pid_t pid, const struct session_hello *hello)
{
    for (size_t i = 0; i < recorder->count && hello->start_ns; i++) {
        const struct followed *followed = &recorder->followed[i];
        if (followed->pid == pid && followed->purpose == hello->message &&
            followed->process.start_ns > hello->start_ns)
            return true;
    }
    return false;
}

static void take_process(struct recorder *recorder, const struct session_hello *hello, pid_t pid, int fd)
{
    const struct recorder_options *options = recorder->options;
    if (is_overtaken(recorder, pid, hello))
        return;
    struct followed *added = new_followed(recorder), opened;
    if (!added)
        return;
    recorder->count--; /* until it is known to be one */
    const struct followed *same = find_same(recorder, pid, hello->message);
    struct followed *before = find_followed(recorder, pid);
    uint32_t parent_id = before ? before->process.parent : parent_of(recorder, pid, (pid_t)hello->parent_pid);
    const struct followed_origin origin = {
        .pid = pid,
        .parent_id = parent_id,
        .forker = find_id(recorder, parent_id),
        .same = same,
        .observed = options->observe
                        ? observed_meet(&recorder->observed, (uint32_t)pid, (uint32_t)hello->parent_pid)
                        : 0};
    if (followed_open(&opened, &origin, hello, fd, &recorder->native_files, options->describe) < 0)
        return;
    *added = opened;
    if (followed_samples(&opened) && options->hot)
        sample_drain_count_for(followed_samples(&opened), &recorder->hot);
    recorder->count++;
    if ((uint32_t)pid == recorder->invitation.pid)
        invitation_accept(&recorder->invitation);
    bool is_new = !same && !opened.is_guest;
    recorder->result->processes += is_new;
    if (is_new)
        counters_add(&recorder->counters, (uint32_t)pid, opened.id, clock_monotonic_ns());
    if (options->duration_ns && !opened.is_guest)
        recorder_end_sampling_at(recorder, opened.process.start_ns + options->duration_ns);
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
            take_process(recorder, hello, message.pid, message.fd);
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
    finish_process(recorder, recorder->target, exit_code_of(status));
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

/* A program may start any number of processes. */
static void drop_long_dead(struct recorder *recorder)
{
    uint64_t now_ns = clock_monotonic_ns();
    size_t kept = 0;
    for (size_t i = 0; i < recorder->count; i++) {
        const struct followed *followed = &recorder->followed[i];
        if (followed->memory || now_ns - followed->process.end_ns < MEMORY_OF_DEAD_NS)
            recorder->followed[kept++] = *followed;
    }
    recorder->count = kept;
}

/* Of a process that is sampled from outside the thread that does it tells; of one that we started SIGCHLD, with its exit
 * code. */
static bool tells_end(const struct recorder *recorder, const struct followed *followed)
{
    return followed->memory && !recorder->attach.begins &&
           (followed->pid != recorder->target || recorder->options->pid);
}

static void take_end(struct recorder *recorder, struct followed *followed)
{
    finish(recorder, followed, true, INT32_MIN);
    if (followed->pid != recorder->target)
        return;
    recorder->target_ended = true;
    recorder->result->end_ns = clock_monotonic_ns();
}

static void finish_ended(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->count; i++) {
        struct followed *followed = &recorder->followed[i];
        if (tells_end(recorder, followed) && followed_has_ended(followed))
            take_end(recorder, followed);
    }
}

static void checkpoint(struct recorder *recorder)
{
    struct clock_rate rate = current_rate(recorder);
    if (recorder->first_rate == 0)
        recorder->first_rate = rate.ns_per_tick;
    finish_ended(recorder);
    drop_long_dead(recorder);
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

static void take_ends(struct recorder *recorder, const struct pollfd *polled, size_t count)
{
    for (size_t p = 2; p < count; p++) {
        if (!(polled[p].revents & POLLIN))
            continue;
        for (size_t i = 0; i < recorder->count; i++) {
            struct followed *followed = &recorder->followed[i];
            if (followed->pidfd == polled[p].fd && tells_end(recorder, followed))
                take_end(recorder, followed);
        }
    }
}

static void wait_and_handle(struct recorder *recorder, int timeout_ms)
{
    struct pollfd polled[POLLED_MAX];
    size_t count = list_descriptors(recorder, polled);
    if (poll(polled, count, timeout_ms) <= 0)
        return;
    take_messages(recorder);
    take_pending_signals(recorder);
    take_ends(recorder, polled, count);
}

static uint32_t still_running(const struct recorder *recorder)
{
    uint32_t running = 0;
    for (size_t i = 0; i < recorder->count; i++)
        running += recorder->followed[i].memory && !recorder->followed[i].is_guest;
    return running;
}

/* Rings are small: they are emptied between checkpoints, too. How long to wait until the next time. */
static uint64_t empty_rings(struct recorder *recorder)
{
    struct clock_rate rate = current_rate(recorder);
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
    while (still_running(recorder) && is_worth_waiting(recorder, clock_monotonic_ns() - ended_ns)) {
        wait_and_handle(recorder, 10);
        finish_ended(recorder);
        drop_long_dead(recorder);
    }
    return 0;
}

static void note_clock(struct recorder *recorder)
{
    struct clock_rate rate = current_rate(recorder);
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
    recorder->result->left_running = still_running(recorder) + observed_finish(&recorder->observed);
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->followed[i].memory)
            finish(recorder, &recorder->followed[i], false, INT32_MIN);
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
    take_process(context, hello, (pid_t)pid, fd);
}

void recorder_end_attached(void *context, uint32_t pid, bool is_program, const char *why)
{
    struct recorder *recorder = context;
    struct followed *followed = find_followed(recorder, (pid_t)pid);
    if (followed && followed->memory)
        finish(recorder, followed, !why, INT32_MIN);
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
