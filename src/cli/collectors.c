#include "cli/collectors.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "cli/options.h"
#include "cli/run.h"

#define PERIOD_NS (1000000000 / COLLECTORS_RATE_HZ)

static void add_samples(struct collectors *collectors, struct run_options *options)
{
    (void)collectors;
    options->rate_hz = COLLECTORS_RATE_HZ;
    options->clock = "wall";
}

static void put_samples(struct bytes *out)
{
    bytes_putf(out, "sample_period_ns=%d\ntasks=1\n", PERIOD_NS);
}

static void put_trace(struct bytes *out)
{
    bytes_put_text(out, "trace=1\nc_calls=1\n");
}

static void add_lines(struct collectors *collectors, struct run_options *options)
{
    (void)collectors;
    options->hot = COLLECTORS_HOT;
}

static void put_lines(struct bytes *out)
{
    bytes_putf(out, "lines=1\nhot=%d\nsample_period_ns=%d\n", COLLECTORS_HOT, PERIOD_NS);
}

static void add_heap(struct collectors *collectors, struct run_options *options)
{
    (void)collectors;
    options->heap = true;
    options->heap_sample_bytes = COLLECTORS_HEAP_SAMPLE_BYTES;
}

static void put_heap(struct bytes *out)
{
    bytes_putf(out, "heap=1\nheap_sample_bytes=%" PRId64 "\n", COLLECTORS_HEAP_SAMPLE_BYTES);
}

static void add_mpi(struct collectors *collectors, struct run_options *options)
{
    collectors->request.mpi = true;
    options->request = &collectors->request;
}

static const struct collector {
    const char *name, *command; /* that records it by itself; NULL = none */
    int64_t memory_bytes;       /* of each process, at most */
    void (*add)(struct collectors *collectors, struct run_options *options);
    void (*put)(struct bytes *out); /* lines for the session */
} table[] = {
    {"sample", "record", 0, add_samples, put_samples},
    {"trace", "trace", COLLECTORS_TRACE_MEMORY, NULL, put_trace},
    {"line", "line", COLLECTORS_LINE_MEMORY, add_lines, put_lines},
    {"mem", "mem", COLLECTORS_HEAP_MEMORY, add_heap, put_heap},
    {"mpi", NULL, 0, add_mpi, NULL},
};
#define COUNT (sizeof table / sizeof *table)

static bool is_called(const struct collector *collector, const char *word, size_t size)
{
    const char *names[] = {collector->name, collector->command};
    for (size_t i = 0; i < 2; i++)
        if (names[i] && strlen(names[i]) == size && memcmp(names[i], word, size) == 0)
            return true;
    return false;
}

/* The bits of a list with commas between its words. */
static int find_all(const char *words, uint32_t *found, struct err *err)
{
    for (const char *word = words; *word;) {
        size_t size = strcspn(word, ","), at = 0;
        while (at < COUNT && !is_called(&table[at], word, size))
            at++;
        if (at == COUNT)
            return err_set(err,
                           "there is no collector '%.*s'; --with knows sample, trace, line, mem and mpi, "
                           "with commas between them",
                           (int)size, word);
        *found |= 1u << at;
        word += size + (word[size] == ',');
    }
    return 0;
}

static int check(const struct run_options *options, struct err *err)
{
    if (options->target.pid)
        return err_set(err, "what --with adds is recorded from a program's beginning on: not with --pid");
    if (options->observe)
        return err_set(err, "--rss only looks at the program from outside: --with cannot go with it");
    if (strcmp(options->mode, "line-memory") == 0)
        return err_set(err, "lines are charged with memory while nothing else is recorded: --with cannot go "
                            "with --lines");
    return 0;
}

int collectors_add(struct collectors *collectors, struct run_options *options, struct err *err)
{
    const struct option_list *with = &options->request->with;
    uint32_t found = 0;
    *collectors = (struct collectors){.request = *options->request};
    for (size_t i = 0; i < with->count; i++)
        if (find_all(with->items[i], &found, err) < 0)
            return -1;
    for (size_t i = 0; i < COUNT; i++)
        if (table[i].command && strcmp(table[i].command, options->mode) == 0)
            collectors->own |= 1u << i;
    collectors->added = found & ~collectors->own;
    if (collectors->added && check(options, err) < 0)
        return -1;
    for (size_t i = 0; i < COUNT; i++)
        if (collectors->added >> i & 1 && table[i].add)
            table[i].add(collectors, options);
    return 0;
}

/* As much as the greediest of them has, unless the user says how much. */
static void put_memory(const struct collectors *collectors, struct bytes *out)
{
    int64_t most = 0;
    for (size_t i = 0; i < COUNT; i++)
        if ((collectors->own | collectors->added) >> i & 1 && table[i].memory_bytes > most)
            most = table[i].memory_bytes;
    if (most && !options_is_typed("max-size"))
        bytes_putf(out, "memory_bytes=%" PRId64 "\n", most);
}

/* What the command says comes later, and counts. */
void collectors_put_settings(const struct collectors *collectors, const char *own, struct bytes *out)
{
    for (size_t i = 0; i < COUNT; i++)
        if (collectors->added >> i & 1 && table[i].put)
            table[i].put(out);
    bytes_put_text(out, own);
    if (collectors->added)
        put_memory(collectors, out);
}
