#include "collect/recorder/recorder_roster.h"

#include <poll.h>
#include <stdlib.h>

#include "base/clock.h"
#include "collect/agent/session.h"
#include "collect/recorder/listener.h"
#include "collect/recorder/recorder_state.h"
#include "collect/recorder/recorder_sums.h"

#define MEMORY_OF_DEAD_NS 60000000000u /* a child that announces itself late still finds its parent */

struct followed *recorder_roster_find(struct recorder *recorder, pid_t pid)
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

void recorder_roster_finish(struct recorder *recorder, struct followed *followed, bool ended,
                            int32_t exit_code)
{
    struct clock_rate rate = recorder_state_rate(recorder);
    followed_finish(followed, &rate);
    recorder_sums_add(recorder->result, followed);
    if (!followed->is_guest)
        counters_end(&recorder->counters, (uint32_t)followed->pid);
    followed_close(followed, recorder->options->writer, ended, exit_code);
}

/* The nearest ancestor that records: there may be shells between. */
static uint32_t parent_of(struct recorder *recorder, pid_t pid, pid_t parent_pid)
{
    struct followed *known = recorder_roster_find(recorder, parent_pid);
    for (int generation = 0; generation < 16 && pid > 1 && !known; generation++) {
        pid = listener_parent(pid);
        known = recorder_roster_find(recorder, pid);
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

void recorder_roster_finish_process(struct recorder *recorder, pid_t pid, int32_t exit_code)
{
    for (size_t i = 0; i < recorder->count; i++)
        if (recorder->followed[i].pid == pid && recorder->followed[i].memory)
            recorder_roster_finish(recorder, &recorder->followed[i], true, exit_code);
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
            recorder_roster_finish_process(recorder, pid, INT32_MIN);
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

void recorder_roster_take(struct recorder *recorder, const struct session_hello *hello, pid_t pid, int fd)
{
    const struct recorder_options *options = recorder->options;
    if (is_overtaken(recorder, pid, hello))
        return;
    struct followed *added = new_followed(recorder), opened;
    if (!added)
        return;
    recorder->count--; /* until it is known to be one */
    const struct followed *same = find_same(recorder, pid, hello->message);
    struct followed *before = recorder_roster_find(recorder, pid);
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

/* A program may start any number of processes. */
void recorder_roster_drop_long_dead(struct recorder *recorder)
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
    recorder_roster_finish(recorder, followed, true, INT32_MIN);
    if (followed->pid != recorder->target)
        return;
    recorder->target_ended = true;
    recorder->result->end_ns = clock_monotonic_ns();
}

void recorder_roster_finish_ended(struct recorder *recorder)
{
    for (size_t i = 0; i < recorder->count; i++) {
        struct followed *followed = &recorder->followed[i];
        if (tells_end(recorder, followed) && followed_has_ended(followed))
            take_end(recorder, followed);
    }
}

void recorder_roster_take_ends(struct recorder *recorder, const struct pollfd *polled, size_t count)
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

uint32_t recorder_roster_running(const struct recorder *recorder)
{
    uint32_t running = 0;
    for (size_t i = 0; i < recorder->count; i++)
        running += recorder->followed[i].memory && !recorder->followed[i].is_guest;
    return running;
}
