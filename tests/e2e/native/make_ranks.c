/*
 * Makes the files of a run of many ranks, as a traced program leaves them, for tests of `sonde merge` and bench/scale.py:
 *
 *     make_ranks FOLDER RANKS [PATHS [SAMPLES]]
 *
 * All ranks run the same program of PATHS (5000) call paths. Times differ, every seventh rank has some paths of its own
 * (so that what follows has other ids), and rank 3 works twice as long as the others. SAMPLES (0) stacks are sampled in
 * each rank, too. What a file says depends on its rank only.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/compress.h"
#include "store/recording.h"
#include "store/writer.h"

#define FUNCTIONS  600
#define OWN_PATHS  25
#define POINTS     64
#define BEGIN_NS   UINT64_C(1000000000)
#define PERIOD_NS  UINT64_C(1000000)
#define MIDDLE(of) ((of) / 2)

struct rank_file {
    struct writer *writer;
    uint32_t rank, process, thread;
    uint32_t codes[FUNCTIONS];
    uint32_t *nodes;
    uint32_t nodes_count;
    uint64_t chance;
};

static int put_to_file(void *context, const void *data, size_t size, struct err *err)
{
    return fwrite(data, 1, size, context) == size ? 0 : err_set_errno(err, "cannot write");
}

static uint64_t next_chance(uint64_t *chance)
{
    *chance = *chance * 6364136223846793005u + 1442695040888963407u;
    return *chance >> 33;
}

static uint32_t text(struct rank_file *file, const char *format, uint32_t number)
{
    char words[128];
    int size = snprintf(words, sizeof words, format, number);
    return writer_string(file->writer, words, (size_t)size);
}

static void define_process(struct rank_file *file)
{
    struct process process = {.pid = 5000 + file->rank,
                              .rank = file->rank,
                              .host = text(file, "node%04u", file->rank / 64),
                              .command = text(file, "python solver.py --case %u", 7),
                              .python = text(file, "3.12.%u", 1),
                              .exe = text(file, "/usr/bin/python3.%u", 12),
                              .start_ns = BEGIN_NS + file->rank,
                              .end_ns = BEGIN_NS * 60 + file->rank};
    file->process = writer_process(file->writer, &process);
    struct thread thread = {.process = file->process,
                            .tid = 5000 + file->rank,
                            .name = text(file, "MainThread", 0),
                            .start_ns = process.start_ns};
    file->thread = writer_thread(file->writer, &thread);
}

static void define_codes(struct rank_file *file)
{
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        struct code code = {.name = text(file, "compute_term_%u", i),
                            .qualname = text(file, "Solver.compute_term_%u", i),
                            .file = text(file, "/home/user/solver/package_%u/kernels.py", i % 41),
                            .module = text(file, "solver.package_%u.kernels", i % 41),
                            .line = 10 + i,
                            .kind = CODE_PYTHON};
        file->codes[i] = writer_code(file->writer, &code);
    }
}

static void add_node(struct rank_file *file, uint32_t parent, uint32_t code)
{
    struct node node = {.parent = parent, .code = file->codes[code]};
    file->nodes[file->nodes_count++] = writer_node(file->writer, &node);
}

/* The tree is the program's, the same in every rank, but for what a seventh of the ranks does in the middle. */
static void define_nodes(struct rank_file *file, uint32_t paths)
{
    uint64_t program = 1;
    for (uint32_t i = 0; i < paths; i++) {
        uint32_t above = i ? (uint32_t)next_chance(&program) % i : 0;
        add_node(file, i ? file->nodes[above] : 0, (uint32_t)(next_chance(&program) % FUNCTIONS));
        for (uint32_t own = 0; i == MIDDLE(paths) && file->rank % 7 == 0 && own < OWN_PATHS; own++)
            add_node(file, file->nodes[file->nodes_count - 1], (file->rank / 7 + own) % FUNCTIONS);
    }
}

static void put_data(struct rank_file *file, uint32_t samples)
{
    uint64_t slower = file->rank == 3 ? 2 : 1;
    for (uint32_t i = 0; i < file->nodes_count; i++) {
        uint64_t calls = 1 + next_chance(&file->chance) % 1000;
        uint64_t self_ns = slower * calls * (500 + next_chance(&file->chance) % 50);
        writer_calls(file->writer, file->process,
                     &(struct call_row){file->thread, file->nodes[i], calls, self_ns});
    }
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t node = file->nodes[next_chance(&file->chance) % file->nodes_count];
        writer_sample(file->writer, &(struct sample_row){.time_ns = BEGIN_NS + i * PERIOD_NS,
                                                         .weight_ns = PERIOD_NS,
                                                         .thread = file->thread,
                                                         .node = node,
                                                         .count = 1,
                                                         .state = SAMPLE_RUNNING});
    }
    struct counter counter = {text(file, "rss", 0), text(file, "bytes", 0), file->process, COUNTER_LEVEL};
    uint32_t rss = writer_counter(file->writer, &counter);
    for (uint32_t i = 0; i < POINTS; i++)
        writer_series(file->writer,
                      &(struct series_row){BEGIN_NS + i * 80 * PERIOD_NS,
                                           (int64_t)(next_chance(&file->chance) % 4096 * 4096), rss});
}

static int make_rank(struct rank_file *file, uint32_t paths, uint32_t samples, struct err *err)
{
    define_process(file);
    define_codes(file);
    define_nodes(file, paths);
    put_data(file, samples);
    char started[32];
    snprintf(started, sizeof started, "2026-11-15T12:00:00.%06u", file->rank);
    writer_meta(file->writer, "mode", samples ? "record" : "trace");
    writer_meta(file->writer, "command", "python solver.py --case 7");
    writer_meta(file->writer, "started", started);
    return writer_close(file->writer, err);
}

static int make_file(const char *folder, uint32_t rank, uint32_t paths, uint32_t samples, struct err *err)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/rank-%05u.sonde", folder, rank);
    FILE *out = fopen(path, "wb");
    if (!out)
        return err_set_errno(err, "cannot write %s", path);
    struct writer_options options = {.sink = put_to_file, .context = out, .compress = compress_zstd};
    struct rank_file file = {.rank = rank, .chance = rank + 1};
    file.nodes = calloc((size_t)paths + OWN_PATHS, sizeof *file.nodes);
    file.writer = writer_new(&options, err);
    int result = file.nodes && file.writer ? make_rank(&file, paths, samples, err) : -1;
    free(file.nodes);
    return fclose(out) == 0 ? result : err_set_errno(err, "cannot write %s", path);
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int result = argc > 2 ? 0 : err_set(&err, "make_ranks FOLDER RANKS [PATHS [SAMPLES]]");
    uint32_t ranks = argc > 2 ? (uint32_t)atoi(argv[2]) : 0,
             paths = argc > 3 ? (uint32_t)atoi(argv[3]) : 5000;
    for (uint32_t rank = 0; rank < ranks && result == 0; rank++)
        result = make_file(argv[1], rank, paths, argc > 4 ? (uint32_t)atoi(argv[4]) : 0, &err);
    if (result != 0)
        fprintf(stderr, "%s\n", err.text);
    return result ? 1 : 0;
}
