#include "cli/top_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyse/live.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/message.h"
#include "cli/top_native.h"
#include "show/canvas.h"
#include "show/terminal.h"
#include "show/top_screen.h"
#include "show/top_terminal.h"
#include "show/top_view.h"
#include "store/follow.h"
#include "store/recording.h"

#define PIECE_BYTES  65536
#define OUTPUT_SHOWN 16384             /* bytes of the program's output that a pane may need */
#define OUTPUT_KEPT  ((off_t)16 << 20) /* and that are written out at the end */
#define PATIENCE_NS  2000000000u       /* for a program to end after it was asked to, then told to */
#define NAMING_NS    10000000u         /* that functions are named before more is taken in */
#define SUMMARY_ROWS 10

struct watcher {
    const struct top_watch *options;
    struct recording recording;
    struct follow follow;
    struct top_native native;
    struct live live, frozen; /* `frozen` is shown while paused */
    struct top_view view;
    struct canvas canvas;
    uint64_t clock_ns; /* of the latest chunk */
    uint64_t start_ns, next_ns;
    off_t forgotten; /* bytes of the output that are no longer kept */
    char tail[OUTPUT_SHOWN + 1];
    bool on_screen, ended, leaving;
};

static volatile sig_atomic_t asked_to_end;

static void take_signal(int number)
{
    asked_to_end = number;
}

/* In batch mode Ctrl-C is for the program: its end is ours. */
static void watch_signals(bool batch)
{
    struct sigaction action = {.sa_handler = take_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGQUIT, &action, NULL);
    if (batch)
        action.sa_handler = SIG_IGN;
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* ---- the program's output ---- */

/* What is shown is the end of it, and what is kept has a bound. */
static void look_at_output(struct watcher *watcher)
{
    struct stat status;
    int fd = watcher->options->output;
    watcher->tail[0] = '\0';
    if (fd < 0 || fstat(fd, &status) != 0)
        return;
    if (status.st_size - watcher->forgotten > 2 * OUTPUT_KEPT) {
        off_t until = status.st_size - OUTPUT_KEPT;
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, watcher->forgotten,
                  until - watcher->forgotten);
        watcher->forgotten = until;
    }
    off_t from = status.st_size > OUTPUT_SHOWN ? status.st_size - OUTPUT_SHOWN : 0;
    ssize_t got = pread(fd, watcher->tail, OUTPUT_SHOWN, from);
    watcher->tail[got > 0 ? got : 0] = '\0';
}

static void write_output(const struct watcher *watcher)
{
    static char piece[PIECE_BYTES];
    off_t at = watcher->forgotten;
    ssize_t got;
    if (watcher->options->output < 0)
        return;
    if (at)
        message_note("the first %lld bytes of the program's output are not kept", (long long)at);
    while ((got = pread(watcher->options->output, piece, sizeof piece, at)) > 0) {
        if (!bytes_write(STDOUT_FILENO, piece, (size_t)got))
            return;
        at += got;
    }
}

/* ---- showing ---- */

static struct top_facts facts_of(struct watcher *watcher, const struct live *live)
{
    return (struct top_facts){
        .program = watcher->options->program,
        .recording = &watcher->recording,
        .live = live,
        .rate_hz = watcher->options->rate_hz,
        .output = watcher->options->output >= 0 && watcher->options->owns_program ? watcher->tail : NULL,
    };
}

static int draw(struct watcher *watcher, struct err *err)
{
    unsigned rows, columns;
    struct top_facts facts = facts_of(watcher, watcher->view.paused ? &watcher->frozen : &watcher->live);
    look_at_output(watcher);
    top_terminal_size(&rows, &columns);
    if (canvas_resize(&watcher->canvas, rows, columns, err) < 0 ||
        top_screen_draw(&watcher->canvas, &watcher->view, &facts, err) < 0)
        return -1;
    top_terminal_show(&watcher->canvas);
    return 0;
}

static int print_table(struct watcher *watcher, int fd, unsigned limit, const char *title, struct err *err)
{
    struct bytes out = {0};
    struct top_facts facts = facts_of(watcher, &watcher->live);
    bytes_put_text(&out, title);
    int result = top_screen_draw_plain(&watcher->canvas, watcher->options->columns, limit, &watcher->view,
                                       &facts, err);
    if (result == 0) {
        canvas_text(&watcher->canvas, &out);
        if (out.failed || !bytes_write(fd, out.data, out.size))
            result = err_set(err, "the table could not be written");
    }
    bytes_clear(&out);
    return result;
}

static int show(struct watcher *watcher, struct err *err)
{
    if (!watcher->options->batch)
        return draw(watcher, err);
    look_at_output(watcher);
    return print_table(watcher, watcher->options->table, watcher->options->limit, "", err);
}

/* ---- taking in ---- */

static int take_bytes(struct watcher *watcher, struct err *err)
{
    static uint8_t piece[PIECE_BYTES];
    ssize_t got = read(watcher->options->bytes, piece, sizeof piece);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? 0 : err_set_errno(err, "the recording cannot be followed");
    if (got == 0) {
        watcher->ended = true;
        return 0;
    }
    if (follow_feed(&watcher->follow, piece, (size_t)got, err) < 0)
        return -1;
    if (watcher->recording.chunks_count)
        watcher->clock_ns = watcher->recording.chunks[watcher->recording.chunks_count - 1].clock_ns;
    return 0;
}

static bool bytes_wait(const struct watcher *watcher)
{
    struct pollfd polled = {.fd = watcher->options->bytes, .events = POLLIN};
    return !watcher->ended && poll(&polled, 1, 0) > 0;
}

/* The recorder must not have to wait for us meanwhile. */
static int name_native_frames(struct watcher *watcher, struct err *err)
{
    uint64_t taken_ns = clock_monotonic_ns();
    while (top_native_step(&watcher->native)) {
        if (clock_monotonic_ns() - taken_ns < NAMING_NS)
            continue;
        while (bytes_wait(watcher))
            if (take_bytes(watcher, err) < 0)
                return -1;
        taken_ns = clock_monotonic_ns();
    }
    return top_native_finish(&watcher->native, err);
}

/* The interval ends with the latest chunk: all samples that were taken before it are there. */
static int count(struct watcher *watcher, struct err *err)
{
    if (name_native_frames(watcher, err) < 0)
        return -1;
    int result = live_add(&watcher->live, &watcher->recording, watcher->clock_ns, err);
    follow_release(&watcher->follow);
    return result;
}

/* ---- keys ---- */

static int freeze(struct watcher *watcher, struct err *err)
{
    live_clear(&watcher->frozen);
    return watcher->view.paused ? live_copy(&watcher->live, &watcher->frozen, err) : 0;
}

static int take_keys(struct watcher *watcher, bool pressed, struct err *err)
{
    bool changed = false;
    for (int key; !watcher->leaving && (key = top_terminal_key(pressed && !changed)) >= 0;) {
        changed = true;
        switch (key ? top_view_key(&watcher->view, key) : TOP_VIEW_DRAW) {
        case TOP_VIEW_QUIT:
            watcher->leaving = true;
            break;
        case TOP_VIEW_RESET:
            live_reset(&watcher->live);
            if (watcher->view.paused)
                live_reset(&watcher->frozen);
            break;
        case TOP_VIEW_PAUSE:
            if (freeze(watcher, err) < 0)
                return -1;
            break;
        case TOP_VIEW_DRAW:
        case TOP_VIEW_NOTHING:
            break;
        }
    }
    return changed && !watcher->leaving ? draw(watcher, err) : 0;
}

/* ---- the loop ---- */

static void wait_for_something(struct watcher *watcher, uint64_t until_ns, bool *bytes, bool *keys)
{
    uint64_t now = clock_monotonic_ns();
    int timeout_ms = until_ns > now ? (int)((until_ns - now) / 1000000u + 1) : 0;
    struct pollfd polled[] = {{.fd = watcher->options->bytes, .events = POLLIN},
                              {.fd = watcher->on_screen ? STDIN_FILENO : -1, .events = POLLIN}};
    int ready = poll(polled, 2, timeout_ms);
    *bytes = ready > 0 && polled[0].revents;
    *keys = watcher->on_screen && (ready < 0 || polled[1].revents); /* a change of size comes as a signal */
    if (polled[1].revents & (POLLHUP | POLLERR | POLLNVAL))
        watcher->leaving = true;
}

static int step(struct watcher *watcher, struct err *err)
{
    bool bytes, keys;
    wait_for_something(watcher, watcher->next_ns, &bytes, &keys);
    if (bytes && take_bytes(watcher, err) < 0)
        return -1;
    if (watcher->on_screen && take_keys(watcher, keys, err) < 0)
        return -1;
    uint64_t now = clock_monotonic_ns();
    watcher->leaving |= asked_to_end || (watcher->options->duration_ns &&
                                         now - watcher->start_ns >= watcher->options->duration_ns);
    if (now < watcher->next_ns || watcher->ended || watcher->leaving)
        return 0;
    watcher->next_ns = now + watcher->options->delay_ns;
    return count(watcher, err) < 0 ? -1 : show(watcher, err);
}

/* ---- the end ---- */

static int take_until(struct watcher *watcher, uint64_t until_ns, struct err *err)
{
    while (!watcher->ended && clock_monotonic_ns() < until_ns) {
        bool bytes, keys;
        wait_for_something(watcher, until_ns, &bytes, &keys);
        if (bytes && take_bytes(watcher, err) < 0)
            return -1;
    }
    return 0;
}

/* The recorder passes signals on. A program that stays nevertheless is killed, if it is ours. */
static int end_program(struct watcher *watcher, struct err *err)
{
    static const int signals[] = {SIGINT, SIGTERM};
    for (size_t i = 0; i < 2 && !watcher->ended; i++) {
        if (signals[i] == SIGTERM)
            message_note("the program did not end at SIGINT and gets SIGTERM");
        kill(watcher->options->recorder, signals[i]);
        if (take_until(watcher, clock_monotonic_ns() + PATIENCE_NS, err) < 0)
            return -1;
    }
    const struct recording *recording = &watcher->recording;
    if (!watcher->ended && watcher->options->owns_program && recording->processes_count > 1 &&
        recording->processes[1].end_ns == 0) {
        message_note("the program did not end at SIGTERM and is killed");
        kill((pid_t)recording->processes[1].pid, SIGKILL);
    }
    return take_until(watcher, clock_monotonic_ns() + PATIENCE_NS, err);
}

static int sum_up(struct watcher *watcher, struct err *err)
{
    if (follow_end(&watcher->follow, err) < 0 || count(watcher, err) < 0)
        return -1;
    write_output(watcher);
    if (!watcher->live.samples)
        return 0;
    live_take_all(&watcher->live);
    watcher->view =
        (struct top_view){.lines = watcher->view.lines, .full_filenames = watcher->view.full_filenames};
    int fd = watcher->options->batch ? watcher->options->table : STDOUT_FILENO;
    unsigned limit = watcher->options->batch ? watcher->options->limit : SUMMARY_ROWS;
    return print_table(watcher, fd, limit, "Whole time:\n", err);
}

static int watch_until_end(struct watcher *watcher, struct err *err)
{
    const struct top_watch *options = watcher->options;
    if (!options->batch && top_terminal_open(options->color, err) < 0)
        return -1;
    watcher->on_screen = !options->batch;
    watcher->canvas.ascii = watcher->on_screen && terminal_is_ascii();
    int result = options->batch ? 0 : draw(watcher, err);
    while (result == 0 && !watcher->ended && !watcher->leaving)
        result = step(watcher, err);
    if (watcher->on_screen)
        top_terminal_close();
    watcher->on_screen = false;
    asked_to_end = 0;
    if (!watcher->ended && end_program(watcher, err) < 0)
        result = -1;
    return result == 0 ? sum_up(watcher, err) : -1;
}

enum top_watch_end top_watch(const struct top_watch *options)
{
    struct err err = {0};
    uint64_t now = clock_monotonic_ns();
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher)
        return TOP_WATCH_FAILED;
    *watcher = (struct watcher){.options = options, .start_ns = now, .next_ns = now + options->delay_ns};
    watcher->live.start_ns = now;
    watcher->live.selection = options->selection;
    watcher->view.lines = options->lines;
    watcher->view.full_filenames = options->full_filenames;
    watch_signals(options->batch);
    int result = follow_init(&watcher->follow, &watcher->recording, "the recording", &err);
    if (result == 0 && options->native)
        result = top_native_init(&watcher->native, &watcher->recording, &err);
    if (result == 0)
        result = watch_until_end(watcher, &err);
    if (result < 0)
        message_fail(&err);
    bool left = watcher->leaving;
    follow_clear(&watcher->follow);
    top_native_clear(&watcher->native);
    live_clear(&watcher->live);
    live_clear(&watcher->frozen);
    canvas_clear(&watcher->canvas);
    recording_clear(&watcher->recording);
    free(watcher);
    return result < 0 ? TOP_WATCH_FAILED : left ? TOP_WATCH_LEFT : TOP_WATCH_ENDED;
}
