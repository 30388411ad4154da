/*
 * Writes .sonde recordings that are hard to show to standard output, the same on every machine:
 *
 *     make_hard_recording bushy [N]     N samples (10^6) of stacks about 30 deep that share little
 *     make_hard_recording events [N]    N calls (10^6) one after the other and in one another, on four threads
 *     make_hard_recording functions [N] N functions (10^5) of 500 files, hardly two with the same time
 *     make_hard_recording hostile       names that try to leave the text they belong to
 *     make_hard_recording deep [N]      one function that calls itself N times (5000)
 *     make_hard_recording one           a single sample
 *     make_hard_recording none          no sample at all
 *
 * The large ones are for measurements (bench/page.py), the others for the tests of the page.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/writer.h"

#define PERIOD_NS UINT64_C(1000000)
#define BEGIN_NS  UINT64_C(1000000000)
#define DEEPEST   40
#define FUNCTIONS 400

static int put_to_stdout(void *context, const void *data, size_t size, struct err *err)
{
    (void)context;
    return fwrite(data, 1, size, stdout) == size ? 0 : err_set_errno(err, "standard output");
}

static uint32_t text(struct writer *writer, const char *words)
{
    return writer_string(writer, words, strlen(words));
}

static uint32_t code(struct writer *writer, const char *name, const char *file, uint32_t line)
{
    struct code code = {.name = text(writer, name),
                        .qualname = text(writer, name),
                        .file = text(writer, file),
                        .module = text(writer, file),
                        .line = line,
                        .kind = CODE_PYTHON};
    return writer_code(writer, &code);
}

static uint32_t process(struct writer *writer, const char *command)
{
    struct process process = {.pid = 5000,
                              .rank = UINT32_MAX,
                              .host = text(writer, "node7"),
                              .command = text(writer, command),
                              .python = text(writer, "3.12.1"),
                              .start_ns = BEGIN_NS};
    return writer_process(writer, &process);
}

static uint32_t thread(struct writer *writer, uint32_t process, uint64_t tid, const char *name)
{
    return writer_thread(writer,
                         &(struct thread){.process = process, .tid = tid, .name = text(writer, name)});
}

static void sample(struct writer *writer, uint32_t thread, uint32_t node, uint64_t time_ns,
                   uint64_t weight_ns)
{
    writer_sample(writer, &(struct sample_row){.time_ns = time_ns,
                                               .weight_ns = weight_ns,
                                               .thread = thread,
                                               .node = node,
                                               .count = 1,
                                               .state = SAMPLE_RUNNING});
}

/* ---- large ---- */

/* Functions of a made-up program, and a walk through its stacks. */
struct walk {
    struct writer *writer;
    uint32_t codes[FUNCTIONS];
    uint32_t stack[DEEPEST + 1]; /* nodes; [0] = the root */
    uint32_t function[DEEPEST + 1];
    uint32_t depth;
    uint64_t random;
};

static uint32_t pick(struct walk *walk, uint32_t below)
{
    walk->random = walk->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(walk->random >> 33) % below;
}

static void walk_begin(struct walk *walk, struct writer *writer)
{
    static const char *const parts[] = {"model",  "mesh", "solver", "io",
                                        "linalg", "plot", "cache",  "physics"};
    *walk = (struct walk){.writer = writer, .random = 1};
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        char name[64], file[64];
        const char *part = parts[i % 8];
        snprintf(name, sizeof name, "%s_step_%u", part, i);
        snprintf(file, sizeof file, "/home/me/project/%s/part_%u.py", part, i / 40);
        walk->codes[i] = code(writer, name, file, 10 * i + 1);
    }
}

/* Each function calls three others, from two lines. */
static void walk_push(struct walk *walk)
{
    uint32_t callee = (walk->function[walk->depth] * 7 + 13 * pick(walk, 3) + 1) % FUNCTIONS;
    struct node node = {walk->stack[walk->depth], walk->codes[callee], 10 * callee + 2 + pick(walk, 2)};
    walk->function[++walk->depth] = callee;
    walk->stack[walk->depth] = writer_node(walk->writer, &node);
}

/* Leaves one function in most steps, seldom many. */
static void walk_step(struct walk *walk, uint32_t deepest)
{
    do
        walk->depth -= walk->depth > 0;
    while (pick(walk, 5) < 2);
    uint32_t wanted = deepest - pick(walk, 4);
    while (walk->depth < wanted)
        walk_push(walk);
}

static void put_bushy(struct writer *writer, uint32_t count)
{
    struct walk walk;
    walk_begin(&walk, writer);
    uint32_t owner = process(writer, "python bushy.py"), threads[2];
    threads[0] = thread(writer, owner, 5000, "MainThread");
    threads[1] = thread(writer, owner, 5001, "pool");
    for (uint32_t i = 0; i < count; i++) {
        walk_step(&walk, 32);
        sample(writer, threads[i % 2], walk.stack[walk.depth], BEGIN_NS + i * PERIOD_NS / 2, PERIOD_NS);
    }
    writer_meta(writer, "mode", "record");
    writer_meta(writer, "rate_hz", "1000");
}

#define TRACKS 4

/* A call opens at every step; before it some of those that are open end. */
static void put_events(struct writer *writer, uint32_t count)
{
    struct walk walks[TRACKS];
    uint32_t owner = process(writer, "python events.py"), threads[TRACKS];
    uint64_t now_ns[TRACKS];
    for (uint32_t i = 0; i < TRACKS; i++) {
        walk_begin(&walks[i], writer);
        walks[i].random = i + 1;
        now_ns[i] = BEGIN_NS;
        threads[i] = thread(writer, owner, 5000 + i, i ? "worker" : "MainThread");
    }
    for (uint32_t i = 0; i < count; i++) {
        struct walk *walk = &walks[i % TRACKS];
        while (walk->depth > 0 && (walk->depth >= 16 || pick(walk, 2)))
            walk->depth--;
        walk_push(walk);
        uint64_t length_ns = 500 + pick(walk, 4000);
        sample(writer, threads[i % TRACKS], walk->stack[walk->depth], now_ns[i % TRACKS], length_ns);
        now_ns[i % TRACKS] += length_ns;
    }
    writer_meta(writer, "mode", "record");
}

/* Names whose order is not that of the ids; each function is seen once, called by one of a few. */
static void put_functions(struct writer *writer, uint32_t count)
{
    struct walk walk = {.writer = writer, .random = 1};
    uint32_t owner = process(writer, "python functions.py"),
             main_thread = thread(writer, owner, 5000, "MainThread");
    uint32_t callers[8];
    for (uint32_t i = 0; i < 8; i++)
        callers[i] = writer_node(
            writer, &(struct node){.code = code(writer, "dispatch", "/home/me/project/main.py", i + 1)});
    uint64_t now_ns = BEGIN_NS;
    for (uint32_t i = 0; i < count; i++) {
        char name[64], file[64];
        snprintf(name, sizeof name, "Handler%u.on_event_%u", pick(&walk, 1000), i);
        snprintf(file, sizeof file, "/home/me/project/handlers/part_%u.py", pick(&walk, 500));
        struct node node = {callers[i % 8], code(writer, name, file, pick(&walk, 3000) + 1), 1};
        uint64_t length_ns = 1000 + pick(&walk, 20000000);
        sample(writer, main_thread, writer_node(writer, &node), now_ns, length_ns);
        now_ns += length_ns;
    }
    writer_meta(writer, "mode", "record");
}

/* ---- hostile ---- */

static const char *const hostile_names[] = {
    "",
    "<img src=x onerror=\"document.title='injected'\">",
    "<script>document.title='injected'</script>",
    "</script><script>document.title='injected'</script>",
    "</style></title><svg onload=document.title='injected'>",
    "\"onmouseover=\"document.title='injected'\" x=\"",
    "'><a href=javascript:document.title='injected'>click</a>",
    "line one\nline two\r\n\tline three",
    "\xe2\x80\xaegnissecorp\xe2\x80\xac \xe2\x80\x8f\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d",
    "\x01\x02\x1b[31mred\x7f",
    "__proto__",
    "constructor",
    "toString",
    "${document.title='injected'} {{7*7}} %s %n &lt;b&gt;",
    "\xff\xfe broken UTF-8 \xc3",
    "<!--<script>",
};
#define HOSTILE_COUNT (sizeof hostile_names / sizeof *hostile_names)
#define LONG_NAME     10000

static void put_hostile(struct writer *writer)
{
    static char long_name[LONG_NAME + 1];
    memset(long_name, 'W', LONG_NAME);
    uint32_t owner = process(writer, "python '<img src=x onerror=document.title=1>'.py");
    uint32_t first = thread(writer, owner, 5000, "<b>thread</b>\n\"quoted\"");
    uint64_t now_ns = BEGIN_NS;
    for (size_t i = 0; i <= HOSTILE_COUNT; i++) {
        const char *name = i < HOSTILE_COUNT ? hostile_names[i] : long_name;
        const char *file = i < HOSTILE_COUNT ? hostile_names[HOSTILE_COUNT - 1 - i] : long_name;
        uint32_t outer = writer_node(writer, &(struct node){.code = code(writer, name, file, 3), .line = 4});
        uint32_t leaf = code(writer, "leaf", file, 9);
        uint32_t inner = writer_node(writer, &(struct node){.parent = outer, .code = leaf, .line = 10});
        for (size_t j = 0; j < 2 + i; j++, now_ns += PERIOD_NS)
            sample(writer, first, j ? outer : inner, now_ns, PERIOD_NS);
    }
    writer_note(writer, &(struct note){.process = owner, .kind = 6, .text = text(writer, hostile_names[1])});
    writer_meta(writer, "mode", "<b>record</b>");
    writer_meta(writer, "host", hostile_names[3]);
}

/* ---- shapes ---- */

static void put_deep(struct writer *writer, uint32_t depth)
{
    uint32_t owner = process(writer, "python deep.py"),
             main_thread = thread(writer, owner, 5000, "MainThread");
    uint32_t recursive = code(writer, "descend", "/home/me/deep.py", 5);
    uint32_t node =
        writer_node(writer, &(struct node){.code = code(writer, "<module>", "/home/me/deep.py", 1)});
    for (uint32_t i = 0; i < depth; i++) {
        sample(writer, main_thread, node, BEGIN_NS + i * PERIOD_NS, PERIOD_NS);
        node = writer_node(writer, &(struct node){.parent = node, .code = recursive, .line = 7});
    }
    sample(writer, main_thread, node, BEGIN_NS + depth * PERIOD_NS, PERIOD_NS);
    writer_meta(writer, "mode", "record");
}

static void put_few(struct writer *writer, uint32_t count)
{
    uint32_t owner = process(writer, "python short.py");
    uint32_t main_thread = thread(writer, owner, 5000, "MainThread");
    uint32_t only = code(writer, "only", "/home/me/short.py", 2);
    uint32_t node = writer_node(writer, &(struct node){.code = only, .line = 3});
    for (uint32_t i = 0; i < count; i++)
        sample(writer, main_thread, node, BEGIN_NS, PERIOD_NS);
    writer_meta(writer, "mode", "record");
}

static int put(struct writer *writer, const char *which, uint32_t count)
{
    if (strcmp(which, "bushy") == 0)
        put_bushy(writer, count ? count : 1000000);
    else if (strcmp(which, "events") == 0)
        put_events(writer, count ? count : 1000000);
    else if (strcmp(which, "functions") == 0)
        put_functions(writer, count ? count : 100000);
    else if (strcmp(which, "hostile") == 0)
        put_hostile(writer);
    else if (strcmp(which, "deep") == 0)
        put_deep(writer, count ? count : 5000);
    else if (strcmp(which, "one") == 0 || strcmp(which, "none") == 0)
        put_few(writer, strcmp(which, "one") == 0);
    else
        return -1;
    return 0;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    struct writer *writer =
        writer_new(&(struct writer_options){.sink = put_to_stdout, .compress = compress_zstd}, &err);
    if (writer && put(writer, argc > 1 ? argv[1] : "", argc > 2 ? (uint32_t)atol(argv[2]) : 0) < 0) {
        fprintf(stderr, "usage: make_hard_recording bushy|events|functions|hostile|deep|one|none [N]\n");
        writer_abandon(writer);
        return 2;
    }
    if (!writer || writer_close(writer, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}
