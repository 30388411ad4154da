/*
 * sonde top: what a program is doing now.
 *
 * This process starts and records the program; a second one watches: it gets the recording's bytes through a socket as
 * they are made, and owns the terminal. So a slow terminal does not hold up the recorder, and each of the two puts
 * things right when the other dies: this one the terminal, the other one nothing but its own end.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/installation.h"
#include "cli/message.h"
#include "cli/redact.h"
#include "cli/run.h"
#include "cli/run_check.h"
#include "cli/run_tell.h"
#include "cli/top_watch.h"
#include "collect/outside/attach.h"
#include "collect/recorder/recorder.h"
#include "show/top_terminal.h"
#include "store/writer.h"

#define DELAY_MIN 0.1
#define DELAY_MAX 3600.0
#define WIDE_TEXT 160 /* columns of a table that goes to no terminal */

struct values {
    struct target_options target;
    int64_t rate, limit;
    double delay;
    const char *duration;
    bool batch, native, lines, gil, idle, full_filenames;
    bool subprocesses; /* of a process that runs already; those of a launched one are followed anyway */
    bool nonblocking;  /* py-spy's: always so here */
    const char *output;
};

static const struct values defaults = {
    .target = TARGET_OPTIONS_DEFAULTS, .rate = 1000, .limit = 20, .delay = 1};

/* Everything that lives as long as the program does. */
struct topping {
    const struct values *values;
    struct installation installation;
    struct target target;
    struct top_terminal_saved terminal;
    char *program; /* for the heading */
    uint64_t duration_ns;
    int ours, theirs; /* ends of the socket: the recorder's, the watcher's */
    int output;  /* what the program writes, and what we say, while the screen is drawn on; -1 = it is not */
    int table;   /* where tables of text go */
    int kept[3]; /* standard input, output and error while the program has others */
    pid_t watcher;
    bool watcher_lost;
};

static int check(const struct values *values, int argc, uint64_t *duration_ns, struct err *err)
{
    if (target_check_options(&values->target, argc, err) < 0 || run_check_rate(values->rate, err) < 0 ||
        run_check_duration(values->duration, duration_ns, err) < 0)
        return -1;
    if (!(values->delay >= DELAY_MIN && values->delay <= DELAY_MAX))
        return err_set(err, "--delay must be between %.1f and %.0f seconds", DELAY_MIN, DELAY_MAX);
    if (values->limit < 1 || values->limit > 900)
        return err_set(err, "--limit must be between 1 and 900 rows");
    if (values->output && !values->batch)
        return err_set(err,
                       "--output is where the tables of --batch go; 'sonde record -o' makes a recording");
    return 0;
}

/* ---- the watcher ---- */

/* A pipe whose reader is gone must not end us: it ends the recording, and with it the program, as Ctrl-C does. */
static int send_bytes(void *context, const void *data, size_t size, struct err *err)
{
    struct topping *topping = context;
    const char *at = data;
    while (size) {
        ssize_t sent = send(topping->ours, at, size, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) {
            topping->watcher_lost = true;
            if (!topping->values->batch)
                top_terminal_restore(&topping->terminal);
            kill(getpid(), SIGINT);
            return err_set(err, "nobody watches any more");
        }
        at += sent;
        size -= (size_t)sent;
    }
    return 0;
}

static unsigned table_columns(const struct topping *topping)
{
    bool plain = !isatty(topping->table) && !getenv("COLUMNS");
    return plain ? WIDE_TEXT : message_columns(stdout);
}

static _Noreturn void watch(struct topping *topping, pid_t recorder)
{
    const struct values *values = topping->values;
    const struct top_watch options = {
        .bytes = topping->theirs,
        .output = topping->output,
        .recorder = recorder,
        .owns_program = !target_pid(values->target.pid),
        .program = topping->program ? topping->program : "",
        .batch = values->batch,
        .table = topping->table,
        .color = message_has_color(stdout),
        .full_filenames = values->full_filenames,
        .lines = values->lines,
        .native = values->native,
        .limit = (unsigned)values->limit,
        .columns = table_columns(topping),
        .rate_hz = (uint64_t)values->rate,
        .delay_ns = (uint64_t)(values->delay * 1e9),
        .duration_ns = topping->duration_ns,
        .selection = {.idle = values->idle, .gil = values->gil},
    };
    close(topping->ours);
    int code = (int)top_watch(&options);
    fflush(NULL);
    _exit(code);
}

static int start_watcher(struct topping *topping, struct err *err)
{
    int ends[2];
    pid_t recorder = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return err_set_errno(err, "cannot make a socket");
    topping->ours = ends[0];
    topping->theirs = ends[1];
    fflush(NULL);
    topping->watcher = fork();
    if (topping->watcher == 0)
        watch(topping, recorder);
    close(topping->theirs);
    return topping->watcher > 0 ? 0 : err_set_errno(err, "cannot start a process");
}

/* How the watcher ended: an enum top_watch_end. Its death by a signal leaves us its terminal. */
static int end_watcher(struct topping *topping)
{
    int status = 0;
    close(topping->ours);
    while (waitpid(topping->watcher, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    if (!topping->values->batch)
        top_terminal_restore(&topping->terminal);
    message_warn("the watching process was killed by signal %d", WTERMSIG(status));
    return TOP_WATCH_FAILED;
}

/* ---- the program's input and output ---- */

/* The screen is ours: the program reads nothing, and writes to a file in memory that the watcher shows. */
static int lend_stdio(struct topping *topping, struct err *err)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int fd = 0; fd < 3; fd++)
        topping->kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    fflush(NULL);
    bool lent = nothing >= 0 && dup2(nothing, 0) == 0 && dup2(topping->output, 1) == 1 &&
                dup2(topping->output, 2) == 2;
    if (nothing >= 0)
        close(nothing);
    return lent ? 0 : err_set_errno(err, "the program's output cannot be redirected");
}

static void take_back_stdio(struct topping *topping)
{
    fflush(NULL);
    for (int fd = 0; fd < 3; fd++) {
        if (topping->kept[fd] < 0)
            continue;
        dup2(topping->kept[fd], fd);
        close(topping->kept[fd]);
        topping->kept[fd] = -1;
    }
}

/* ---- the recorder ---- */

static int record(struct topping *topping, struct recorder_result *result, struct err *err)
{
    const struct values *values = topping->values;
    struct bytes settings = {0};
    bytes_putf(&settings,
               "inside=%s\npackage=%s\ntrace=0\nfollow=%d\nnative=%d\nsample_period_ns=%" PRId64 "\n",
               topping->installation.inside, topping->installation.package, values->target.follow,
               values->native, INT64_C(1000000000) / values->rate);
    bytes_put_u8(&settings, 0);
    const struct writer_options writing = {.sink = send_bytes, .context = topping};
    struct writer *writer = settings.failed ? NULL : writer_new(&writing, err);
    const struct recorder_options options = {
        .argv = topping->target.argv,
        .pid = target_pid(values->target.pid),
        .period_ns = UINT64_C(1000000000) / (uint64_t)values->rate,
        .native = values->native,
        .children = values->subprocesses,
        .agent = topping->installation.agent,
        .settings = (char *)settings.data,
        .writer = writer,
        .describe = redact_words,
        .refused = run_tell_refusal,
        .checkpoint_ns = (uint64_t)(values->delay * 1e9 / 4),
    };
    int outcome = writer ? recorder_run(&options, result, err) : err_set(err, "out of memory");
    if (writer)
        writer_close(writer, NULL); /* a watcher that has gone has told why */
    recorder_release_signals(result);
    bytes_clear(&settings);
    return outcome;
}

/* The command line, without the folders of the interpreter. */
static char *program_of(const struct target *target)
{
    char *words = redact_words((int)target->count, target->argv);
    const char *first = target->count ? target->argv[0] : "", *slash = strrchr(first, '/');
    if (words && slash && strncmp(words, first, strlen(first)) == 0)
        memmove(words, words + (slash + 1 - first), strlen(words) + 1 - (size_t)(slash + 1 - first));
    return words;
}

static int open_all(struct topping *topping, const struct target_request *request, struct err *err)
{
    const struct values *values = topping->values;
    if (!values->batch && top_terminal_save(&topping->terminal, err) < 0)
        return -1;
    uint32_t pid = target_pid(values->target.pid);
    if (pid && attach_check(pid, err) < 0)
        return -1;
    if (pid && attach_is_stopped(pid))
        run_tell_stopped(pid, "is");
    if (target_resolve(request, &topping->target, err) < 0 ||
        installation_find(&topping->installation, err) < 0)
        return -1;
    topping->program = program_of(&topping->target);
    topping->table = STDOUT_FILENO;
    if (values->output)
        topping->table = open(values->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (topping->table < 0)
        return err_set_errno(err, "cannot write %s", values->output);
    if (!values->batch)
        topping->output = memfd_create("sonde-output", MFD_CLOEXEC);
    if (!values->batch && topping->output < 0)
        return err_set_errno(err, "no memory for the program's output");
    return 0;
}

static void close_all(struct topping *topping)
{
    installation_clear(&topping->installation);
    target_clear(&topping->target);
    free(topping->program);
    if (topping->output >= 0)
        close(topping->output);
    if (topping->table > STDERR_FILENO)
        close(topping->table);
}

static int watch_program(struct topping *topping, struct err *err)
{
    const struct values *values = topping->values;
    struct recorder_result result = {0};
    if (start_watcher(topping, err) < 0)
        return -1;
    int outcome = values->batch ? 0 : lend_stdio(topping, err);
    if (outcome == 0)
        outcome = record(topping, &result, err);
    int watched = end_watcher(topping);
    take_back_stdio(topping);
    if (outcome < 0)
        return -1;
    if (watched == TOP_WATCH_LEFT)
        return 0;
    if (watched != TOP_WATCH_ENDED || topping->watcher_lost)
        return MESSAGE_EXIT_MISTAKE;
    if (target_pid(values->target.pid))
        message_note("process %" PRId64 " has ended", values->target.pid);
    else if (!result.processes && !result.target_refused)
        run_tell_unrecorded(&topping->target, &topping->installation);
    return run_exit_as(result.status);
}

static int run_top(void *raw, int argc, char **argv)
{
    const struct values *values = raw;
    const struct target_request request = target_request_of(&values->target, argc, argv);
    struct topping topping = {.values = values, .output = -1, .kept = {-1, -1, -1}};
    struct err err = {0};
    int code = check(values, argc, &topping.duration_ns, &err);
    if (code == 0)
        code = open_all(&topping, &request, &err);
    if (code == 0)
        code = watch_program(&topping, &err);
    close_all(&topping);
    return code < 0 ? message_fail(&err) : code;
}

static const struct option options[] = {
    {"pid", 'p', OPTION_NUMBER, "PID", offsetof(struct values, target.pid), NULL,
     "Watch a Python that runs already. It is not restarted, and runs on when top ends."},
    {"rate", 'r', OPTION_NUMBER, "HZ", offsetof(struct values, rate), NULL,
     "Samples a second of each thread (default 1000), at random intervals."},
    {"delay", 0, OPTION_REAL, "SECONDS", offsetof(struct values, delay), NULL,
     "Time between two pictures (default 1)."},
    {"duration", 'd', OPTION_TEXT, "SECONDS", offsetof(struct values, duration), NULL,
     "Quit after this time."},
    {"native", 'n', OPTION_FLAG, NULL, offsetof(struct values, native), NULL,
     "Native functions too: C, C++, Fortran and Cython functions between the Python ones, and threads that "
     "run no "
     "Python."},
    {"gil", 'g', OPTION_FLAG, NULL, offsetof(struct values, gil), NULL,
     "Count only samples of the thread that held the GIL."},
    {"idle", 'i', OPTION_FLAG, NULL, offsetof(struct values, idle), NULL, "Count sleeping threads too."},
    {"lines", 'l', OPTION_FLAG, NULL, offsetof(struct values, lines), NULL,
     "Begin with lines in place of functions."},
    {"full-filenames", 0, OPTION_FLAG, NULL, offsetof(struct values, full_filenames), NULL,
     "Show whole paths."},
    {"batch", 'b', OPTION_FLAG, NULL, offsetof(struct values, batch), NULL,
     "No full screen: print a table as plain text after each interval, and one of the whole time at the end. "
     "The "
     "program keeps its input and output."},
    {"output", 'o', OPTION_TEXT, "FILE", offsetof(struct values, output), NULL,
     "With --batch: where the tables go, if not to standard output."},
    {"limit", 0, OPTION_NUMBER, "N", offsetof(struct values, limit), NULL,
     "With --batch: rows of a table (default 20)."},
    {"subprocesses", 's', OPTION_FLAG, NULL, offsetof(struct values, subprocesses), NULL,
     "With --pid: watch the Python processes that it starts, too. Those of a program that sonde starts "
     "always are, "
     "but for --no-follow."},
    {"nonblocking", 0, OPTION_FLAG, NULL, offsetof(struct values, nonblocking), NULL, NULL},
    TARGET_OPTIONS(struct values, target),
    {0},
};

const struct command command_top = {
    .name = "top",
    .group = "Record",
    .summary = "Watch where a program spends its time",
    .arguments = TARGET_ARGUMENTS "\n-p PID",
    .description = "Shows, in a full screen that is drawn every second, which functions the program is in: "
                   "%Own and %Total "
                   "are the function's share of the last interval, itself and with all that it called; "
                   "OwnTime and TotalTime "
                   "are since the start. Several threads at work together have more than 100%. A function "
                   "counts once in a "
                   "stack, however often it calls itself.\n\n"
                   "Keys: 1 to 4 sort by a column; l shows lines, t threads; / filters by a pattern; r "
                   "begins anew; p pauses; "
                   "o shows what the program wrote; arrows scroll; ? helps; q or Ctrl-C quits.\n\n"
                   "While the screen is drawn the program reads nothing and its output is kept; it is "
                   "written out when top "
                   "ends, which is when the program does, followed by a table of the whole time. Quitting "
                   "ends the program: it "
                   "gets Ctrl-C (SIGINT), two seconds later SIGTERM, and at last SIGKILL. Without a terminal "
                   "use --batch.",
    .examples = "sonde top -p 4711\twatches a process that runs already\n"
                "sonde top sim.py --steps 10\twatches sim.py\n"
                "sonde top -g -m pytest tests/\tonly what holds the GIL\n"
                "sonde top --batch --delay 5 -o top.txt sim.py\ta table every five seconds into a file\n",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .has_target = true,
    .run = run_top,
};
