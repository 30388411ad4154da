/*
 * Writes .sonde recordings with known numbers to standard output:
 *
 *     make_recording small        two processes, three threads, recursion
 *     make_recording sampled      the same program, sampled at 100 Hz, with idle threads and a hostile name
 *     make_recording native       stacks of Python and native frames, named and not, with the interpreter's own
 *     make_recording timed        line times of two processes, with the source of one file
 *     make_recording untimed      the same, when nothing that was asked for was called
 *     make_recording memory       what two threads allocated: a peak, leaks, temporaries, and what imports keep
 *     make_recording large N      N samples of stacks about 30 deep, for measurements
 *
 * All but the last are kept in tests/golden/inputs, so that files of today stay readable.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/writer.h"
#include "store/writer_native.h"

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

/* ---- samples ---- */

#define PERIOD_NS UINT64_C(10000000)

/* A sampled thread: each sample follows the one before. */
struct sampler {
    struct writer *writer;
    uint32_t thread;
    uint64_t now_ns;
};

static void sample(struct sampler *sampler, uint32_t node, uint32_t count, uint8_t state)
{
    writer_sample(sampler->writer, &(struct sample_row){.time_ns = sampler->now_ns,
                                                        .weight_ns = count * PERIOD_NS,
                                                        .thread = sampler->thread,
                                                        .node = node,
                                                        .count = count,
                                                        .state = state});
    sampler->now_ns += count * PERIOD_NS;
}

static void samples(struct sampler *sampler, uint32_t node, uint32_t count, uint8_t state)
{
    while (count--)
        sample(sampler, node, 1, state);
}

static uint32_t line(struct writer *writer, uint32_t parent, uint32_t code, uint32_t at)
{
    return writer_node(writer, &(struct node){.parent = parent, .code = code, .line = at});
}

/* 30 samples: 26 of a running thread, 20 of them with the GIL. */
static void sample_main(struct writer *writer, uint32_t thread, uint32_t root)
{
    const uint8_t running = SAMPLE_RUNNING, python = SAMPLE_RUNNING | SAMPLE_GIL;
    struct sampler main_thread = {writer, thread, 1000000000};
    uint32_t solve = code(writer, "solver.step", "/home/me/project/solver/step.py", 10, "solve");
    uint32_t visit = code(writer, "solver.step", "/home/me/project/solver/step.py", 40, "Tree.visit");
    uint32_t hostile = code(writer, "__main__", "/home/me/project/run.py", 30, "</title>;\"x\" & 'y'\n<b>");
    uint32_t load =
        code(writer, "json.decoder", "/usr/lib/python3.12/json/decoder.py", 332, "JSONDecoder.decode");
    uint32_t main_line = line(writer, 0, root, 20), solve_line = line(writer, main_line, solve, 12);
    uint32_t outer = line(writer, solve_line, visit, 41), inner = line(writer, outer, visit, 43);
    samples(&main_thread, solve_line, 8, python);
    samples(&main_thread, line(writer, main_line, solve, 14), 4, python);
    samples(&main_thread, inner, 6, running);
    sample(&main_thread, line(writer, main_line, solve, 15), 4, 0);
    samples(&main_thread, outer, 4, python);
    samples(&main_thread, line(writer, main_line, load, 337), 3, python | SAMPLE_GC);
    samples(&main_thread, line(writer, main_line, hostile, 31), 1, python);
}

static void put_samples(struct writer *writer)
{
    uint32_t first = process(writer, 4200, 0, "python run.py --size 10");
    uint32_t second = process(writer, 4201, first, "python -c from multiprocessing.spawn import spawn_main");
    uint32_t root = code(writer, "__main__", "/home/me/project/run.py", 1, "<module>");
    uint32_t worker = code(writer, "solver.pool", "/home/me/project/solver/pool.py", 7, "worker");
    struct sampler pool = {writer, 0, 1050000000}, child = {writer, 0, 1100000000};
    sample_main(writer, thread(writer, first, 4200, "MainThread"), root);
    pool.thread = thread(writer, first, 4202, "Thread-1 (worker)");
    samples(&pool, line(writer, 0, worker, 9), 2, SAMPLE_RUNNING);
    sample(&pool, line(writer, 0, worker, 11), 10, 0);
    samples(&pool, line(writer, 0, worker, 9), 3, SAMPLE_RUNNING);
    child.thread = thread(writer, second, 4201, "MainThread");
    samples(&child, line(writer, 0, worker, 9), 5, SAMPLE_RUNNING | SAMPLE_GIL);
    writer_meta(writer, "mode", "sample");
    writer_meta(writer, "rate_hz", "100");
    writer_meta(writer, "samples", "50");
    writer_meta(writer, "errors", "2");
}

/* ---- native frames ---- */

static uint32_t module(struct writer *writer, const char *path, const char *build_id, uint8_t flags)
{
    return writer_native_module(writer, &(struct module){.path = text(writer, path),
                                                         .build_id = text(writer, build_id),
                                                         .size_bytes = 100000,
                                                         .flags = flags});
}

static struct symbol symbol(struct writer *writer, const char *name, const char *file, uint32_t at)
{
    return (struct symbol){.name = text(writer, name), .file = text(writer, file), .line = at};
}

/* The address's node below `parent`, named when there is a name. */
static uint32_t native(struct writer *writer, uint32_t parent, uint32_t module, uint64_t offset,
                       const char *name, const char *file, uint32_t at)
{
    struct symbol named = {0};
    uint32_t code = writer_native_code(writer, module, offset);
    if (name) {
        named = symbol(writer, name, file, at);
        named.code = code;
        writer_native_symbol(writer, &named);
    }
    return node(writer, parent, code);
}

static void put_native(struct writer *writer)
{
    const uint8_t native_state = SAMPLE_RUNNING | SAMPLE_NATIVE;
    uint32_t owner = process(writer, 4400, 0, "python mesh.py");
    struct sampler sampler = {writer, thread(writer, owner, 4400, "MainThread"), 1000000000};
    uint32_t python = module(writer, "/usr/bin/python3.12", "aa01", MODULE_INTERPRETER);
    uint32_t libc = module(writer, "/usr/lib/libc.so.6", "aa02", 0),
             blas = module(writer, "/opt/libblas.so.3", "aa03", 0);
    uint32_t mesh = module(writer, "/home/me/mesh.cpython-312-x86_64-linux-gnu.so", "aa04", 0);
    writer_native_mapping(writer, &(struct mapping){owner, blas, 0x7f0000000000, 0x7f0000100000, 0, 0});
    uint32_t start = native(writer, 0, libc, 0x100, "__libc_start_main_impl", "csu/libc-start.c", 360);
    uint32_t run = native(writer, start, python, 0x200, "Py_RunMain", "Modules/main.c", 709);
    uint32_t root = line(writer, run, code(writer, "__main__", "/home/me/mesh.py", 1, "<module>"), 9);
    uint32_t call = native(writer, root, python, 0x300, "cfunction_call", "", 0);
    uint32_t wrapper = native(writer, call, mesh, 0x10, "__pyx_pw_4mesh_1refine", "/home/me/mesh.pyx", 4);
    uint32_t body = native(writer, wrapper, mesh, 0x20, "__pyx_pf_4mesh_refine", "/home/me/mesh.pyx", 6);
    samples(&sampler, body, 3, native_state);
    struct symbol outer = symbol(writer, "solver::Grid::norm(double)", "/home/me/grid.cc", 30);
    struct symbol inner = symbol(writer, "solver::square(double)", "/home/me/grid.hh", 5);
    inner.code = writer_native_code(writer, mesh, 0x40);
    inner.inlined_in = writer_native_inlining(writer, &outer);
    writer_native_symbol(writer, &inner);
    samples(&sampler, node(writer, body, inner.code), 4, native_state);
    samples(&sampler, native(writer, body, mesh, 0x48, "solver::Grid::norm(double)", "/home/me/grid.cc", 31),
            2, native_state);
    samples(&sampler, native(writer, root, blas, 0x50, "dgemm_", "", 0), 5, native_state);
    samples(&sampler, native(writer, root, blas, 0x9000, NULL, "", 0), 1, native_state);
    samples(&sampler, native(writer, root, mesh, 0x60, "__quality_MOD_worst", "/home/me/quality.f90", 12), 2,
            native_state);
    samples(&sampler, native(writer, call, python, 0x400, "list_sort_impl", "Objects/listobject.c", 2400), 2,
            SAMPLE_RUNNING);
    samples(&sampler, call, 1, SAMPLE_RUNNING);
    writer_meta(writer, "mode", "record");
    writer_meta(writer, "rate_hz", "100");
}

/* ---- line times ---- */

/* Line 10 is the first of solve. The tab and the bell are a hostile file's. */
static const char step_source[] =
    "import math\n\n\nclass Tree:\n    \"\"\"Nodes.\"\"\"\n    pass\n\n\n@timed\n"
    "def solve(items):\n    total = 0\n    for item in items:\n"
    "        total += visit(\n            item)\n\t# \x07\n    return total\n\n\n"
    "def never():\n    pass\n";

static void put_lines(struct writer *writer)
{
    uint32_t first = process(writer, 4400, 0, "python run.py"),
             second = process(writer, 4401, first, "worker");
    uint32_t here = thread(writer, first, 4400, "MainThread"),
             there = thread(writer, second, 4401, "MainThread");
    const char *file = "/home/me/project/solver/step.py";
    uint32_t solve = code(writer, "solver.step", file, 9, "solve"),
             never = code(writer, "step", file, 19, "never");
    uint32_t gone = code(writer, "gone", "/home/me/project/gone.py", 5, "Gone.visit");
    const struct line_row rows[] = {
        {here, solve, 11, 1, 1500, 1500, 1500, 1500},
        {here, solve, 12, 1000001, 250000000, 250000000, 120, 90000},
        {here, solve, 13, 1000000, 3000000000, 700000000, 2100, 4000000},
        {here, solve, 14, 1000000, 99000000, 99000000, 80, 7000},
        {here, solve, 16, 1, 400, 400, 400, 400},
        {here, never, 19, 0, 0, 0, 0, 0},
        {here, gone, 6, 1000000, 1100000000, 1100000000, 900, 30000},
        {here, gone, 8, 1000000, 900000000, 900000000, 700, 50000},
        {there, solve, 11, 1, 1700, 1700, 1700, 1700},
        {there, solve, 12, 1, 300, 300, 300, 300},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        writer_line(writer, rows[i].thread == here ? first : second, &rows[i]);
    writer_source(writer, text(writer, file), step_source, sizeof step_source - 1);
    writer_meta(writer, "mode", "line");
    writer_meta(writer, "line_targets", "solve, never, gone");
}

static void put_no_lines(struct writer *writer)
{
    process(writer, 4500, 0, "python run.py");
    writer_meta(writer, "mode", "line");
    writer_meta(writer, "line_targets", "solve, Grid.step");
}

#define LARGE_DEPTH 30

/* Stacks that share their outer frames, as those of a program do; the same on every machine. */
static void put_large(struct writer *writer, uint32_t count)
{
    uint32_t owner = process(writer, 4300, 0, "python large.py"), codes[200], random = 1;
    uint32_t first = thread(writer, owner, 4300, "MainThread"), second = thread(writer, owner, 4301, "pool");
    for (uint32_t i = 0; i < 200; i++) {
        char name[32], file[64];
        snprintf(name, sizeof name, "function_%u", i);
        snprintf(file, sizeof file, "/home/me/project/large/part_%u.py", i / 10);
        codes[i] = code(writer, "large", file, 10 * i + 1, name);
    }
    uint32_t stack[LARGE_DEPTH + 1] = {0};
    for (uint64_t i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        uint32_t depth = i ? LARGE_DEPTH - 1 - (random >> 8) % 4 : 0;
        for (; depth < LARGE_DEPTH; depth++) {
            random = random * 1664525 + 1013904223;
            uint32_t pick = codes[(depth * 7 + (random >> 20) % 3) % 200];
            stack[depth + 1] = line(writer, stack[depth], pick, 1 + (random >> 28));
        }
        writer_sample(writer, &(struct sample_row){.time_ns = 1000000000 + i * 1000000 + (random >> 14),
                                                   .weight_ns = 1000000,
                                                   .thread = i % 2 ? second : first,
                                                   .node = stack[LARGE_DEPTH],
                                                   .count = 1,
                                                   .state = SAMPLE_RUNNING});
    }
    writer_meta(writer, "mode", "sample");
}

#define KIB     1024ull
#define MIB     (1024ull * KIB)
#define SECONDS 1000000000ull

static uint32_t line_node(struct writer *writer, uint32_t parent, uint32_t code, uint32_t line)
{
    return writer_node(writer, &(struct node){.parent = parent, .code = code, .line = line});
}

/* Two states of one stack: at 2.5 s of the clock, when the heap is highest, and at the end. */
static void put_stack(struct writer *writer, uint32_t thread, uint32_t node, uint8_t allocator,
                      const struct heap_row *end)
{
    struct heap_row row = {.at_ns = 2 * SECONDS + SECONDS / 2,
                           .live_bytes = end->peak_bytes,
                           .live_count = end->peak_count,
                           .total_bytes = end->peak_bytes,
                           .total_count = end->peak_count,
                           .peak_bytes = end->peak_bytes,
                           .peak_count = end->peak_count,
                           .thread = thread,
                           .node = node,
                           .allocator = allocator};
    if (row.peak_count)
        writer_heap(writer, &row);
    row = *end;
    row.at_ns = 5 * SECONDS;
    row.thread = thread;
    row.node = node;
    row.allocator = allocator;
    writer_heap(writer, &row);
}

static void put_heap_of_main(struct writer *writer, uint32_t thread)
{
    const char *file = "/home/me/project/etl.py";
    uint32_t module_code = code(writer, "__main__", file, 1, "<module>");
    uint32_t module = line_node(writer, 0, module_code, 30), importing = line_node(writer, 0, module_code, 1);
    uint32_t frozen = line_node(
        writer, importing,
        code(writer, "importlib._bootstrap", "<frozen importlib._bootstrap>", 1349, "_find_and_load"), 1360);
    uint32_t numpy = line_node(
        writer, frozen,
        code(writer, "numpy", "/usr/lib/python3/dist-packages/numpy/__init__.py", 1, "<module>"), 119);
    uint32_t load = line_node(writer, module, code(writer, "__main__", file, 5, "load"), 7);
    uint32_t parse = line_node(writer, load, code(writer, "__main__", file, 11, "parse"), 12);
    uint32_t scale = line_node(writer, module, code(writer, "__main__", file, 20, "scale"), 22);
    put_stack(writer, thread, load, HEAP_MALLOC,
              &(struct heap_row){
                  .total_bytes = 500 * MIB, .total_count = 2, .peak_bytes = 500 * MIB, .peak_count = 2});
    put_stack(writer, thread, parse, HEAP_CALLOC,
              &(struct heap_row){.live_bytes = 1024 * 17 * KIB,
                                 .live_count = 1024,
                                 .total_bytes = 2048 * 17 * KIB,
                                 .total_count = 2048,
                                 .peak_bytes = 1500 * 17 * KIB,
                                 .peak_count = 1500});
    put_stack(writer, thread, scale, HEAP_MALLOC,
              &(struct heap_row){.total_bytes = 3100000 * 32ull,
                                 .total_count = 3100000,
                                 .peak_bytes = 32,
                                 .peak_count = 1,
                                 .temporary_bytes = 3000000 * 32ull,
                                 .temporary_count = 3000000});
    put_stack(writer, thread, numpy, HEAP_MALLOC,
              &(struct heap_row){.live_bytes = 9 * MIB,
                                 .live_count = 9000,
                                 .total_bytes = 12 * MIB,
                                 .total_count = 20000,
                                 .peak_bytes = 9 * MIB,
                                 .peak_count = 9000});
    put_stack(writer, thread, scale, HEAP_MMAP,
              &(struct heap_row){.live_bytes = 3 * MIB,
                                 .live_count = 3,
                                 .total_bytes = 3 * MIB,
                                 .total_count = 3,
                                 .peak_bytes = 3 * MIB,
                                 .peak_count = 3});
}

static void put_heap_series(struct writer *writer, uint32_t process)
{
    const struct counter heap = {text(writer, "heap"), text(writer, "bytes"), process, COUNTER_LEVEL};
    const struct counter rss = {text(writer, "rss"), text(writer, "bytes"), process, COUNTER_LEVEL};
    static const uint64_t heap_mib[] = {0, 12, 640, 60, 30}, rss_mib[] = {11, 40, 690, 120, 118};
    uint32_t of_heap = writer_counter(writer, &heap), of_rss = writer_counter(writer, &rss);
    for (uint64_t i = 0; i < 5; i++) {
        writer_series(writer, &(struct series_row){(i + 1) * SECONDS, (int64_t)(heap_mib[i] * MIB), of_heap});
        writer_series(writer, &(struct series_row){(i + 1) * SECONDS, (int64_t)(rss_mib[i] * MIB), of_rss});
    }
}

static void put_memory(struct writer *writer)
{
    static const char source[] = "import numpy\n\n\n\ndef load(path):\n    names = open(path)\n"
                                 "    data = numpy.fromfile(path)\n    parse(names)\n    return data\n\n"
                                 "def parse(names):\n    return [Row(name) for name in names]\n";
    uint32_t first = process(writer, 4100, 0, "python etl.py");
    uint32_t worker = thread(writer, first, 4102, "Thread-1 (pack)");
    put_heap_of_main(writer, thread(writer, first, 4100, "MainThread"));
    put_stack(writer, worker,
              line_node(writer, 0, code(writer, "__main__", "/home/me/project/etl.py", 15, "pack"), 17),
              HEAP_REALLOC,
              &(struct heap_row){
                  .total_bytes = 200 * MIB, .total_count = 50, .peak_bytes = 103 * MIB, .peak_count = 1});
    put_heap_series(writer, first);
    const struct heap_size_row sizes[] = {{16, 3100000, 3100000 * 32ull, first},
                                          {1024, 20000, 12 * MIB, first},
                                          {16 * KIB, 2048, 2048 * 17 * KIB, first},
                                          {MIB, 55, 703 * MIB, first}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        writer_heap_size(writer, &sizes[i]);
    writer_meta(writer, "mode", "mem");
    writer_meta(writer, "heap", "exact");
    writer_meta(writer, "heap_end_ns", "4900000000");
    writer_meta(writer, "memory_bytes", "4194304");
    writer_source(writer, text(writer, "/home/me/project/etl.py"), source, sizeof source - 1);
}

static const struct {
    const char *name;
    void (*put)(struct writer *writer);
} recordings[] = {
    {"small", put_recording}, {"sampled", put_samples},  {"native", put_native},
    {"timed", put_lines},     {"untimed", put_no_lines}, {"memory", put_memory},
};

int main(int argc, char **argv)
{
    struct err err = {0};
    const char *which = argc > 1 ? argv[1] : "small";
    bool large = strcmp(which, "large") == 0;
    struct writer_options options = {.sink = put_to_stdout, .compress = large ? compress_zstd : NULL};
    struct writer *writer = writer_new(&options, &err);
    for (size_t i = 0; writer && i < sizeof recordings / sizeof *recordings; i++)
        if (strcmp(which, recordings[i].name) == 0)
            recordings[i].put(writer);
    if (writer && large)
        put_large(writer, argc > 2 ? (uint32_t)atol(argv[2]) : 1000000);
    if (!writer || writer_close(writer, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    return 0;
}
