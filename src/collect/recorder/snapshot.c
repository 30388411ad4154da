#include "collect/recorder/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "collect/agent/arena.h"
#include "collect/agent/heap_area.h"
#include "collect/recorder/drain.h"
#include "collect/recorder/heap_drain.h"
#include "store/writer.h"

static uint32_t describe(struct writer *writer, const char *mode, uint32_t python, uint64_t start_ns)
{
    char version[32];
    int size =
        snprintf(version, sizeof version, "%u.%u.%u", python >> 24, python >> 16 & 0xff, python >> 8 & 0xff);
    const struct process process = {
        .pid = (uint64_t)getpid(),
        .rank = UINT32_MAX,
        .python = writer_string(writer, version, (size_t)size),
        .start_ns = start_ns,
        .exit_code = INT32_MIN,
    };
    writer_meta(writer, "mode", mode);
    writer_meta(writer, "sonde", SONDE_VERSION);
    return writer_process(writer, &process);
}

static struct clock_rate rate_since(uint64_t start_ticks, uint64_t start_ns)
{
    bool counter = clock_has_counter();
    const struct clock_pair start = {.ticks = start_ticks, .ns = start_ns};
    return clock_rate_between(start, clock_read_pair(counter), counter);
}

int snapshot_write(struct arena *arena, struct bytes *out, struct err *err)
{
    const struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    struct writer *writer = writer_new(&options, err);
    if (!writer)
        return -1;
    struct drain *drain = drain_new(arena, arena->total_bytes, writer,
                                    describe(writer, "trace", arena->python, arena->start_ns));
    if (!drain) {
        writer_abandon(writer);
        return err_set(err, "out of memory");
    }
    struct clock_rate rate = rate_since(arena->start_ticks, arena->start_ns);
    drain_step(drain, &rate);
    drain_free(drain);
    return writer_close(writer, err);
}

int snapshot_write_heap(struct heap_area *area, struct bytes *out, struct err *err)
{
    const struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    struct writer *writer = writer_new(&options, err);
    if (!writer)
        return -1;
    uint32_t process = describe(writer, "mem", area->python, area->start_ns);
    struct heap_drain *drain = heap_drain_new(area, area->total_bytes, writer, process);
    if (!drain) {
        writer_abandon(writer);
        return err_set(err, "out of memory");
    }
    writer_meta(writer, "heap", area->sample_bytes ? "sampled" : "exact");
    struct clock_rate rate = rate_since(area->start_ticks, area->start_ns);
    heap_drain_finish(drain, &rate, clock_read_pair(clock_has_counter()).ticks);
    heap_drain_free(drain);
    return writer_close(writer, err);
}
