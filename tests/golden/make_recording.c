/* Writes a small .sonde recording with round numbers to standard output: tests/golden/inputs/small.sonde, which
 * is kept in the repository so that files of today stay readable. Two processes, three threads, recursion. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "store/recording.h"
#include "store/writer.h"

static int put_to_stdout(void *context, const void *data, size_t size, struct err *err)
{
    (void)context;
    return fwrite(data, 1, size, stdout) == size ? 0 : err_set_errno(err, "standard output");
}

static uint32_t text(struct writer *writer, const char *words)
{
    return writer_string(writer, words, strlen(words));
}

static uint32_t code(struct writer *writer, const char *module, const char *file, uint32_t line,
                     const char *name)
{
    struct code code = {.name = text(writer, name),
                        .qualname = text(writer, name),
                        .file = text(writer, file),
                        .module = text(writer, module),
                        .line = line,
                        .kind = line ? CODE_PYTHON : CODE_C};
    return writer_code(writer, &code);
}

static uint32_t node(struct writer *writer, uint32_t parent, uint32_t code)
{
    return writer_node(writer, &(struct node){.parent = parent, .code = code});
}

static uint32_t process(struct writer *writer, uint64_t pid, uint32_t parent, const char *command)
{
    struct process process = {.pid = pid,
                              .parent = parent,
                              .rank = UINT32_MAX,
                              .host = text(writer, "node7"),
                              .command = text(writer, command),
                              .python = text(writer, "3.12.1"),
                              .start_ns = 1000000000,
                              .end_ns = 5500000000,
                              .exit_code = 0};
    return writer_process(writer, &process);
}

static uint32_t thread(struct writer *writer, uint32_t process, uint64_t tid, const char *name)
{
    return writer_thread(writer,
                         &(struct thread){.process = process, .tid = tid, .name = text(writer, name)});
}

static void put_main(struct writer *writer, uint32_t process, uint32_t thread, uint32_t root)
{
    uint32_t solve =
        node(writer, root, code(writer, "solver.step", "/home/me/project/solver/step.py", 10, "solve"));
    uint32_t visit_code = code(writer, "solver.step", "/home/me/project/solver/step.py", 40, "Tree.visit");
    uint32_t outer = node(writer, solve, visit_code), inner = node(writer, outer, visit_code);
    uint32_t len = node(writer, inner, code(writer, "builtins", "~", 0, "<built-in method builtins.len>"));
    const struct call_row rows[] = {{thread, root, 1, 250000000},
                                    {thread, solve, 400, 2000000000},
                                    {thread, outer, 400, 250000000},
                                    {thread, inner, 1600, 500000000},
                                    {thread, len, 500000, 500000000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        writer_calls(writer, process, &rows[i]);
}

static void put_worker(struct writer *writer, uint32_t process, uint32_t thread, uint32_t worker,
                       uint64_t wait_ns)
{
    uint32_t wait =
        node(writer, worker, code(writer, "_thread", "~", 0, "<method 'acquire' of '_thread.lock' objects>"));
    writer_calls(writer, process, &(struct call_row){thread, worker, 1, 100000000});
    writer_calls(writer, process, &(struct call_row){thread, wait, 20, wait_ns});
}

static void put_recording(struct writer *writer)
{
    uint32_t first = process(writer, 4100, 0, "python run.py --size 10");
    uint32_t second = process(writer, 4101, first, "python -c from multiprocessing.spawn import spawn_main");
    uint32_t root = node(writer, 0, code(writer, "__main__", "/home/me/project/run.py", 1, "<module>"));
    uint32_t worker =
        node(writer, 0, code(writer, "solver.pool", "/home/me/project/solver/pool.py", 7, "worker"));
    put_main(writer, first, thread(writer, first, 4100, "MainThread"), root);
    put_worker(writer, first, thread(writer, first, 4102, "Thread-1 (worker)"), worker, 900000000);
    put_worker(writer, second, thread(writer, second, 4101, "MainThread"), worker, 100000000);
    writer_meta(writer, "mode", "trace");
    writer_meta(writer, "overhead_ns", "46000000");
    writer_note(writer, &(struct note){
                            .process = first,
                            .kind = NOTE_LOSS,
                            .count = 1200,
                            .text = text(writer, "calls were charged to their caller: the tree was full")});
}

int main(void)
{
    struct err err = {0};
    struct writer *writer = writer_new(&(struct writer_options){.sink = put_to_stdout}, &err);
    if (writer)
        put_recording(writer);
    if (!writer || writer_close(writer, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}
