#include "cli/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rank.h"
#include "cli/collectors.h"
#include "cli/installation.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/rank_guard.h"
#include "cli/rank_summary.h"
#include "cli/redact.h"
#include "cli/run_check.h"
#include "cli/run_files.h"
#include "cli/run_metas.h"
#include "cli/run_tell.h"
#include "cli/run_totals.h"
#include "collect/outside/attach.h"
#include "collect/recorder/recorder.h"
#include "store/compress.h"
#include "store/writer.h"

/* Everything that lives as long as the recording is being made. */
struct making {
    const struct run_options *options;
    const struct collectors *collectors;
    pid_t group; /* the process group of the program; 0 = ours */
    struct installation installation;
    bool lacks_mpi; /* calls of MPI were to be followed, and there were none */
    struct target target;
    struct bytes marks; /* lines for the session */
    struct run_files files;
    struct live_view live;
    struct writer *writer;
    struct recorder_result recorded;
    struct run *run;
    run_close *close;
    const void *values; /* for it */
    int64_t start_s;    /* by the clock of files */
    bool closed;
    int code; /* of closing; 0 = the target's counts */
};

static int open_live(struct making *making, struct err *err)
{
    const struct live_view_subject subject = {.path = making->files.recording.path,
                                              .fd = making->files.recording.fd,
                                              .run = making->files.context.run_id,
                                              .rank = making->files.context.rank};
    if (making->options->request->live.at && !recording_file_is_plain(&making->files.recording))
        return err_set(err, "--live follows the recording, which must be a file; %s is none",
                       making->files.recording.path);
    return live_view_open(&making->live, &making->options->request->live, &subject, err);
}

static int open_all(struct making *making, struct err *err)
{
    uint32_t pid = making->options->target.pid;
    output_context_init(&making->files.context);
    making->start_s = time(NULL) - 1;
    if (marks_option_put_settings(&making->options->request->marks, &making->marks, err) < 0)
        return -1;
    /* Before the output is created, which may replace an earlier recording. */
    if (pid && run_check_process(pid, making->options, err) < 0)
        return -1;
    if (pid && attach_is_stopped(pid))
        run_tell_stopped(pid, "is");
    if (target_resolve(&making->options->target, &making->target, err) < 0 ||
        installation_find(&making->installation, err) < 0 ||
        run_files_open(&making->files, making->options, making->target.name, err) < 0)
        return -1;
    const struct writer_options options = {.sink = recording_file_append,
                                           .context = &making->files.recording,
                                           .compress = compress_zstd,
                                           .rank_number =
                                               making->files.context.rank + 1}; /* RANK_NONE becomes 0 */
    making->writer = writer_new(&options, err);
    if (!making->writer)
        return -1;
    run_metas_begin(making->writer, &(struct run_metas){making->options, &making->target,
                                                        &making->files.context, &making->files.ranks});
    return open_live(making, err);
}

static void close_all(struct making *making)
{
    if (making->writer)
        writer_abandon(making->writer);
    live_view_close(&making->live);
    run_files_close(&making->files);
    installation_clear(&making->installation);
    target_clear(&making->target);
    bytes_clear(&making->marks);
}

static void tell_progress(void *context, const struct recorder_progress *progress)
{
    (void)context;
    progress_show(progress->elapsed_ns, progress->samples, progress->errors);
}

/* Asked for, and in vain. */
static bool lacks_mpi(const struct making *making)
{
    return making->options->request->mpi && writer_known(making->writer)->communicators_count <= 1;
}

static void fill_run(struct making *making)
{
    making->lacks_mpi = lacks_mpi(making);
    const struct recorder_result *result = &making->recorded;
    *making->run = (struct run){
        .status = result->status,
        .processes = result->processes,
        .left_running = result->left_running,
        .recorded = result->processes > 0,
        .elapsed_ns = result->end_ns - result->start_ns,
        .overhead_ns = result->overhead_ns + (making->options->rate_hz ? result->slowdown_ns : 0),
        .memory_bytes = result->memory_bytes,
        .counted = result->counted,
        .samples = result->samples,
        .errors = result->errors,
        .sampler_cpu_ns = result->sampler_cpu_ns,
        .reached_hz = run_totals_reached_hz(result),
        .native = result->native,
    };
}

/* What was left out is told in the recording, and here when all was asked for. */
static void keep_sources(struct making *making)
{
    char left_out[128];
    sources_keep(making->writer, making->options->request->embed_source, left_out, sizeof left_out);
    if (!left_out[0])
        return;
    writer_meta(making->writer, "sources_left_out", left_out);
    if (strcmp(making->options->request->embed_source, "yes") == 0)
        message_note("source files that are not kept: %s", left_out);
}

/* Closes the file and makes what was asked for of it; failures are told here, because the target's end must be
 * passed on all the same. */
static void finish(struct making *making, struct run *run)
{
    struct err err = {0};
    struct run_files *files = &making->files;
    run_totals_put(making->writer, making->options, run, &making->recorded);
    run_metas_end(making->writer, making->options, &making->recorded);
    if (run->recorded)
        keep_sources(making);
    uint32_t rank = writer_rank(making->writer);
    int result = writer_close(making->writer, &err);
    making->writer = NULL;
    recorder_release_signals(&making->recorded);
    run_files_take_rank(files, rank);
    bool plain = recording_file_is_plain(&files->recording);
    if (result == 0 && making->options->finalize && run->recorded && plain)
        run_files_name_native(files);
    if (result == 0 && run->recorded)
        result = run_files_make_result(files, making->options, making->target.name, run->samples > 0, &err);
    if (result < 0)
        run_files_tell_failure(files, run->recorded, &err);
    run->failed = result < 0;
    if (!run->recorded) {
        recording_file_remove(&files->recording);
        return;
    }
    run->can_be_read = plain && (!files->result || conversion_can_be_read(files->format));
    /* line_profiler's file has no time without callees. */
    if (files->is_spare && files->format == conversion_find("lprof", NULL))
        run->source = files->recording.path;
    run->path = run_files_take_kept(files);
}

static int close_recorded(const struct making *making)
{
    const struct run *run = making->run;
    uint32_t pid = making->options->target.pid;
    if (!run->recorded) {
        if (making->recorded.target_refused || pid)
            message_warn("no Python program was recorded, so there is no recording");
        else
            run_tell_unrecorded(&making->target, &making->installation);
        return 0;
    }
    if (run->goes_on)
        message_hint("%s has ended, the program goes on", making->options->heap ? "counting" : "sampling");
    else if (run->left_running)
        message_warn("%" PRIu32 " %s recorded up to here", run->left_running,
                     run->left_running == 1 ? "process still runs and is" : "processes still run and are");
    if (pid && attach_is_stopped(pid))
        run_tell_stopped(pid, run->samples ? "is now" : "was and is");
    if (making->lacks_mpi)
        message_warn("--mpi: no call of MPI was met. The program does not initialise it, or the library is "
                     "linked into it statically, or another tool stands before it");
    return making->close(run, making->values);
}

/* Whether the program that we started writes to the terminal or reads from it; its standard error is always ours. */
static bool shares_terminal(const struct making *making)
{
    return !making->options->target.pid && (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO));
}

static void print_rank_summary(const struct making *making)
{
    char *pattern = run_ranks_pattern(&making->files.ranks);
    rank_summary_print(pattern ? pattern : making->options->request->output, making->start_s);
    free(pattern);
}

static void close_run(struct making *making, bool goes_on)
{
    progress_wipe();
    progress_share(goes_on && shares_terminal(making));
    fill_run(making);
    making->run->goes_on = goes_on;
    finish(making, making->run);
    live_view_ended(&making->live);
    run_ranks_hush(&making->files.ranks);
    making->code = making->run->failed ? 0 : close_recorded(making);
    run_ranks_tell(&making->files.ranks, making->options->request->ranks, making->run);
    if (making->run->can_be_read && !goes_on)
        print_rank_summary(making);
    if (making->files.is_spare && !making->live.pid)
        recording_file_remove(&making->files.recording);
    making->closed = true;
}

static bool is_watched(void *context)
{
    const struct making *making = context;
    return live_view_is_watched(&making->live);
}

static void tell_written(void *context)
{
    struct making *making = context;
    live_view_grown(&making->live);
}

static void end_early(void *context)
{
    close_run(context, true);
}

/* All lines for the session. */
static void put_settings(const struct making *making, struct bytes *out)
{
    const struct installation *installation = &making->installation;
    bytes_putf(out, "inside=%s\npackage=%s\n", installation->inside, installation->package);
    collectors_put_settings(making->collectors, making->options->settings, out);
    if (making->options->request->mpi)
        bytes_putf(out, "mpi_library=%s\n", installation->mpi);
    run_request_put_settings(making->options->request, out);
    bytes_put(out, making->marks.data, making->marks.size);
    bytes_put_u8(out, 0);
}

static int record(struct making *making, struct err *err)
{
    struct bytes settings = {0};
    progress_share(shares_terminal(making));
    put_settings(making, &settings);
    const struct recorder_options options = {
        .argv = making->target.argv,
        .pid = making->options->target.pid,
        .cpu_clock = making->options->clock && strcmp(making->options->clock, "cpu") == 0,
        .period_ns = making->options->rate_hz ? 1000000000u / making->options->rate_hz : 0,
        .native = making->options->native,
        .tasks = making->options->tasks,
        .children = making->options->children,
        .observe = making->options->observe,
        .agent = making->installation.agent,
        .heap = making->options->heap ? making->installation.heap : NULL,
        .inside = making->installation.inside,
        .settings = settings.failed ? "" : (char *)settings.data,
        .writer = making->writer,
        .describe = redact_words,
        .refused = run_tell_refusal,
        .duration_ns = making->options->duration_ns,
        .hot = making->options->hot,
        .group = making->group,
        .ends_at_interrupt = making->options->ends_at_interrupt,
        .context = making,
        .progress = making->options->rate_hz && progress_is_wanted() ? tell_progress : NULL,
        .is_watched = making->live.pid ? is_watched : NULL,
        .written = tell_written,
        .ended = end_early,
    };
    int outcome = recorder_run(&options, &making->recorded, err);
    bytes_clear(&settings);
    if (outcome == 0 && !making->closed)
        close_run(making, false);
    recorder_release_signals(&making->recorded); /* also of a run that was closed before its program ended */
    making->run->status = making->recorded.status;
    if (outcome == 0)
        live_view_linger(&making->live);
    if (making->files.is_spare && making->live.pid) /* those who looked on have read it now */
        recording_file_remove(&making->files.recording);
    return outcome;
}

static int record_run(struct making *making, struct err *err)
{
    int result = open_all(making, err);
    bool is_first = making->files.context.rank == RANK_NONE ||
                    making->files.context.rank == 0; /* the others wait for it */
    bool waits = result == 0 && making->options->request->live.wait && is_first;
    int ended_by = waits ? live_view_wait(&making->live) : 0;
    if (ended_by)
        making->run->status = ended_by; /* as of a program that was killed by it */
    else if (result == 0)
        result = record(making, err);
    if ((result < 0 || ended_by) && making->files.recording.fd >= 0)
        recording_file_remove(&making->files.recording);
    close_all(making);
    return result;
}

int run_exit_as(int status)
{
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    fflush(NULL);
    int number = WTERMSIG(status);
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number;
}

static int run_unrecorded(const struct run_options *options, const struct rank *rank)
{
    const char *wanted = options->request->ranks;
    if (rank->number == 0 && rank->size && ranks_option_count(wanted, rank->size) == 0)
        message_warn("none of the %" PRIu32 " ranks is in --ranks %s: nothing is recorded", rank->size,
                     wanted);
    return ranks_option_run_plainly(&options->target);
}

int run_command(const struct run_options *own, run_close *close, const void *values)
{
    struct run run = {0};
    struct collectors collectors;
    struct run_options all = *own;
    const struct run_options *options = &all;
    struct making making = {.options = options,
                            .collectors = &collectors,
                            .files = {.recording = {.fd = -1}},
                            .run = &run,
                            .close = close,
                            .values = values};
    struct err err = {0};
    struct rank rank = rank_detect();
    bool is_wanted;
    if (collectors_add(&collectors, &all, &err) < 0)
        return message_fail(&err);
    if (run_request_check(options->request, options->observe != NULL, &err) < 0)
        return message_fail(&err);
    if (ranks_option_has(options->request->ranks, rank.number, &is_wanted, &err) < 0)
        return message_fail(&err);
    if (!is_wanted && rank.number != RANK_NONE && !options->target.pid)
        return run_unrecorded(options, &rank);
    if (rank.number != RANK_NONE && !options->target.pid && !isatty(STDIN_FILENO))
        making.group = rank_guard_start();
    if (record_run(&making, &err) < 0)
        return message_fail(&err);
    int code = making.code ? making.code : run.failed ? MESSAGE_EXIT_MISTAKE : run_exit_as(run.status);
    free(run.path);
    return code;
}
