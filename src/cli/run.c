#include "cli/run.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/rank.h"
#include "cli/finalize.h"
#include "cli/input.h"
#include "cli/installation.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/rank_guard.h"
#include "cli/rank_summary.h"
#include "cli/recording_file.h"
#include "cli/redact.h"
#include "cli/run_metas.h"
#include "cli/run_ranks.h"
#include "cli/run_totals.h"
#include "cli/unrecorded.h"
#include "collect/outside/attach.h"
#include "collect/outside/remote_script.h"
#include "collect/recorder/observed.h"
#include "collect/recorder/recorder.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/writer.h"

#define DURATION_MAX 1e9 /* seconds: 30 years */
#define RATE_MAX     20000

/* Everything that lives as long as the recording is being made. */
struct making {
    const struct run_options *options;
    struct output_context context;
    struct run_ranks ranks;
    pid_t group; /* the process group of the program; 0 = ours */
    struct installation installation;
    bool lacks_mpi; /* calls of MPI were to be followed, and there were none */
    struct target target;
    struct bytes marks; /* lines for the session */
    struct recording_file file;
    struct live_view live;
    char *result; /* of the converted file; NULL = the .sonde file is the result */
    const struct conversion_format *format;
    struct writer *writer;
    struct recorder_result recorded;
    struct run *run;
    run_close *close;
    const void *values; /* for it */
    int64_t start_s;    /* by the clock of files */
    bool closed;
    bool is_spare; /* another file was made of the recording */
    int code;      /* of closing; 0 = the target's counts */
};

/* The path of the result: in the folder of a run of several ranks, or what -o says. */
static int choose_wanted(struct making *making, char **wanted, struct err *err)
{
    const struct run_options *options = making->options;
    const char *suffix = conversion_suffix(making->format);
    if (run_ranks_open(&making->ranks, options->request->output, options->request->format,
                       making->target.name, &making->context, err) < 0)
        return -1;
    if (!making->ranks.folder.path)
        return output_path(options->request->output, making->target.name, suffix, &making->context, wanted,
                           err);
    *wanted = run_ranks_file(&making->ranks, suffix);
    return *wanted ? 0 : err_set(err, "out of memory");
}

/* Where the .sonde file goes, and whether something else is to be made of it. */
static int choose_paths(struct making *making, struct err *err)
{
    const struct run_options *options = making->options;
    const struct conversion_format *sonde = conversion_find("sonde", NULL);
    char *wanted = NULL;
    making->format = options->request->format ? conversion_find(options->request->format, NULL) : sonde;
    if (choose_wanted(making, &wanted, err) < 0)
        return -1;
    making->format = conversion_find(options->request->format, wanted);
    /* A profile of times may be called .dat as well as one of memory: only `sonde mem` takes the name as mprof's. */
    if (!options->request->format && making->format == conversion_find("mprof", NULL) &&
        strcmp(options->mode, "mem") != 0)
        making->format = sonde;
    if (!making->format || making->format == sonde) {
        making->file.path = wanted;
        return strcmp(wanted, "-") == 0
                   ? err_set(err, "standard output is the program's; name a file with -o, "
                                  "or a format that is text with -f")
                   : 0;
    }
    making->result = wanted;
    making->file.path = malloc(strlen(wanted) + 7);
    if (!making->file.path)
        return err_set(err, "out of memory");
    sprintf(making->file.path, "%s.sonde", wanted);
    return 0;
}

/* Whether what will be made of the recording has another writer: the recording itself has, or a rank beside this one
 * has ended already. */
static bool is_result_taken(const struct making *making)
{
    struct stat status;
    size_t size = strlen(making->result);
    bool renamed = strncmp(making->file.path, making->result, size) != 0 ||
                   strcmp(making->file.path + size, ".sonde") != 0;
    return renamed || (making->context.rank != RANK_NONE && lstat(making->result, &status) == 0 &&
                       S_ISREG(status.st_mode));
}

static int settle_result(struct making *making, struct err *err)
{
    if (!making->result || !is_result_taken(making))
        return 0;
    char *other = output_second_name(making->result, &making->context);
    if (!other)
        return err_set(err, "out of memory");
    message_note("%s has another writer, too; this run goes to %s", making->result, other);
    free(making->result);
    making->result = other;
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

static int check_process(uint32_t pid, const struct run_options *options, struct err *err)
{
    if (options->request->mpi)
        return err_set(err,
                       "calls of MPI are followed from a program's beginning on: --mpi cannot go with --pid");
    if (options->heap)
        return check_counting(pid, err);
    return options->observe ? counters_check(pid, options->observe->memory, err) : attach_check(pid, err);
}

static int open_live(struct making *making, struct err *err)
{
    const struct live_view_subject subject = {.path = making->file.path,
                                              .fd = making->file.fd,
                                              .run = making->context.run_id,
                                              .rank = making->context.rank};
    if (making->options->request->live.at && !recording_file_is_plain(&making->file))
        return err_set(err, "--live follows the recording, which must be a file; %s is none",
                       making->file.path);
    return live_view_open(&making->live, &making->options->request->live, &subject, err);
}

static int open_all(struct making *making, struct err *err)
{
    uint32_t pid = making->options->target.pid;
    output_context_init(&making->context);
    making->start_s = time(NULL) - 1;
    if (marks_option_put_settings(&making->options->request->marks, &making->marks, err) < 0)
        return -1;
    /* Before the output is created, which may replace an earlier recording. */
    if (pid && check_process(pid, making->options, err) < 0)
        return -1;
    if (pid && attach_is_stopped(pid))
        run_tell_stopped(pid, "is");
    if (target_resolve(&making->options->target, &making->target, err) < 0 ||
        installation_find(&making->installation, err) < 0 || choose_paths(making, err) < 0)
        return -1;
    making->file.fd = output_create(&making->file.path, &making->context, err);
    if (making->file.fd < 0 || settle_result(making, err) < 0)
        return -1;
    const struct writer_options options = {.sink = recording_file_append,
                                           .context = &making->file,
                                           .compress = compress_zstd,
                                           .rank_number = making->context.rank + 1}; /* RANK_NONE becomes 0 */
    making->writer = writer_new(&options, err);
    if (!making->writer)
        return -1;
    run_metas_begin(making->writer,
                    &(struct run_metas){making->options, &making->target, &making->context, &making->ranks});
    return open_live(making, err);
}

static void close_all(struct making *making)
{
    if (making->writer)
        writer_abandon(making->writer);
    live_view_close(&making->live);
    recording_file_close(&making->file);
    installation_clear(&making->installation);
    target_clear(&making->target);
    run_ranks_clear(&making->ranks);
    bytes_clear(&making->marks);
    free(making->result);
}

void run_tell_stopped(uint32_t pid, const char *verb)
{
    message_warn("process %" PRIu32
                 " %s stopped (by SIGSTOP, Ctrl-Z or a debugger), and gives no samples until it goes "
                 "on: kill -CONT %" PRIu32,
                 pid, verb, pid);
}

int run_check_rate(int64_t rate_hz, struct err *err)
{
    if (rate_hz < 1 || rate_hz > RATE_MAX)
        return err_set(err, "--rate must be between 1 and %d samples a second", RATE_MAX);
    return 0;
}

void run_tell_refusal(uint64_t pid, bool is_target, const char *why)
{
    if (is_target)
        message_warn("this interpreter cannot be recorded: %s", why);
    else
        message_warn("process %" PRIu64 " runs without being recorded: %s", pid, why);
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
        .overhead_ns = making->options->rate_hz ? result->slowdown_ns : result->overhead_ns,
        .memory_bytes = result->memory_bytes,
        .counted = result->counted,
        .samples = result->samples,
        .errors = result->errors,
        .sampler_cpu_ns = result->sampler_cpu_ns,
        .reached_hz = run_totals_reached_hz(result),
        .native = result->native,
    };
}

static int convert(const struct making *making, struct err *err)
{
    struct recording recording = {0};
    struct conversion conversion = making->options->conversion;
    conversion.format = making->format;
    int result = input_read(making->file.path, &recording, err);
    if (result == 0)
        result = conversion_write(&conversion, &recording, making->target.name, making->result, err);
    recording_clear(&recording);
    return result;
}

/* The recording is whole without names: what stands against them is told, and no more. */
static void name_native_frames(const struct making *making)
{
    struct finalize result;
    struct err err = {0};
    const struct finalize_options options = {.local = true};
    if (finalize_open_file(making->file.fd, making->file.path, &options, &result, &err) < 0)
        message_warn("native functions have no names: %s", err.text);
    else
        finalize_tell(&result);
    finalize_clear(&result);
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

/* Gives the path of what is left in the end. */
static int make_result(struct making *making, const struct run *run, char ***kept, struct err *err)
{
    bool empty = making->options->rate_hz && !run->samples;
    if (!making->result || !run->recorded)
        return 0;
    if (empty) {
        bool launched = !making->options->target.pid;
        message_warn("no sample was taken, so %s is not written%s", making->result,
                     launched ? ": the program was too short for this rate (-r)" : "");
        return 0;
    }
    if (convert(making, err) < 0)
        return -1;
    making->is_spare = true;
    *kept = &making->result;
    return 0;
}

/* That a write failed was told when it did. */
static void tell_failure(const struct making *making, const struct run *run, const struct err *err)
{
    const struct recording_file *file = &making->file;
    if (!file->failed)
        message_fail(err);
    if (!run->recorded || (!file->failed && !making->result))
        return;
    if (!file->whole_bytes || !recording_file_is_plain(file))
        message_warn("nothing of the recording is kept");
    else if (file->failed)
        message_warn("what was recorded until nothing more could be written is kept in %s, which can be read",
                     file->path);
    else
        message_warn("what was recorded is kept in %s", file->path);
}

/* The rank as MPI has told it. What is made of the recording is called after it, too. */
static void take_rank(struct making *making, uint32_t rank)
{
    char suffix[64];
    const char *of_result = making->result ? conversion_suffix(making->format) : "";
    if (!making->ranks.folder.path || rank == RANK_NONE)
        return;
    snprintf(suffix, sizeof suffix, "%s.sonde", of_result);
    run_ranks_correct(&making->ranks, rank, &making->context, suffix, &making->file.path);
    char *result = making->result ? run_ranks_file(&making->ranks, of_result) : NULL;
    if (result) {
        free(making->result);
        making->result = result;
        settle_result(making, NULL);
    }
}

/* Closes the file and makes what was asked for of it; failures are told here, because the target's end must be
 * passed on all the same. */
static void finish(struct making *making, struct run *run)
{
    struct err err = {0};
    char **kept = &making->file.path;
    run_totals_put(making->writer, making->options, run, &making->recorded);
    run_metas_end(making->writer, making->options, &making->recorded);
    if (run->recorded)
        keep_sources(making);
    uint32_t rank = writer_rank(making->writer);
    int result = writer_close(making->writer, &err);
    making->writer = NULL;
    recorder_release_signals(&making->recorded);
    take_rank(making, rank);
    bool plain = recording_file_is_plain(&making->file);
    if (result == 0 && making->options->finalize && run->recorded && plain)
        name_native_frames(making);
    if (result == 0)
        result = make_result(making, run, &kept, &err);
    if (result < 0)
        tell_failure(making, run, &err);
    run->failed = result < 0;
    if (!run->recorded) {
        recording_file_remove(&making->file);
        return;
    }
    run->can_be_read = plain && (!making->result || conversion_can_be_read(making->format));
    /* line_profiler's file has no time without callees. */
    if (making->is_spare && making->format == conversion_find("lprof", NULL))
        run->source = making->file.path;
    run->path = *kept;
    *kept = NULL;
}

void run_tell_unrecorded(const struct target *target, const struct installation *installation)
{
    struct bytes why = {0};
    unrecorded_explain(target->argv[0], installation->agent, &why);
    message_warn("no Python program was recorded, so there is no recording: %.*s", (int)why.size,
                 why.failed ? "" : (char *)why.data);
    bytes_clear(&why);
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
                     "linked into it "
                     "statically, or another tool stands before it");
    return making->close(run, making->values);
}

/* Whether the program that we started writes to the terminal or reads from it; its standard error is always ours. */
static bool shares_terminal(const struct making *making)
{
    return !making->options->target.pid && (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO));
}

static void print_rank_summary(const struct making *making)
{
    char *pattern = run_ranks_pattern(&making->ranks);
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
    run_ranks_hush(&making->ranks);
    making->code = making->run->failed ? 0 : close_recorded(making);
    run_ranks_tell(&making->ranks, making->run);
    if (making->run->can_be_read && !goes_on)
        print_rank_summary(making);
    if (making->is_spare && !making->live.pid)
        recording_file_remove(&making->file);
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

static int record(struct making *making, struct err *err)
{
    struct bytes settings = {0};
    progress_share(shares_terminal(making));
    bytes_putf(&settings, "inside=%s\npackage=%s\n%s", making->installation.inside,
               making->installation.package, making->options->settings);
    if (making->options->request->mpi)
        bytes_putf(&settings, "mpi_library=%s\n", making->installation.mpi);
    run_request_put_settings(making->options->request, &settings);
    bytes_put(&settings, making->marks.data, making->marks.size);
    bytes_put_u8(&settings, 0);
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
        .ends_at_interrupt = making->options->rate_hz > 0,
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
    if (making->is_spare && making->live.pid) /* those who looked on have read it now */
        recording_file_remove(&making->file);
    return outcome;
}

static int record_run(struct making *making, struct err *err)
{
    int result = open_all(making, err);
    bool is_first =
        making->context.rank == RANK_NONE || making->context.rank == 0; /* the others wait for it */
    bool waits = result == 0 && making->options->request->live.wait && is_first;
    int ended_by = waits ? live_view_wait(&making->live) : 0;
    if (ended_by)
        making->run->status = ended_by; /* as of a program that was killed by it */
    else if (result == 0)
        result = record(making, err);
    if ((result < 0 || ended_by) && making->file.fd >= 0)
        recording_file_remove(&making->file);
    close_all(making);
    return result;
}

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

int run_command(const struct run_options *options, run_close *close, const void *values)
{
    struct run run = {0};
    struct making making = {
        .options = options, .file = {.fd = -1}, .run = &run, .close = close, .values = values};
    struct err err = {0};
    uint32_t rank = rank_detect().number;
    bool is_wanted;
    if (run_request_check(options->request, options->observe != NULL, &err) < 0)
        return message_fail(&err);
    if (ranks_option_has(options->request->ranks, rank, &is_wanted, &err) < 0)
        return message_fail(&err);
    if (!is_wanted && rank != RANK_NONE && !options->target.pid)
        return ranks_option_run_plainly(&options->target);
    if (rank != RANK_NONE && !options->target.pid && !isatty(STDIN_FILENO))
        making.group = rank_guard_start();
    if (record_run(&making, &err) < 0)
        return message_fail(&err);
    int code = making.code ? making.code : run.failed ? MESSAGE_EXIT_MISTAKE : run_exit_as(run.status);
    free(run.path);
    return code;
}
