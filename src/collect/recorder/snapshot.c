#include "collect/recorder/snapshot.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/err.h"
#include "collect/agent/arena.h"
#include "collect/recorder/drain.h"
#include "store/writer.h"

static uint32_t describe(struct writer *writer, const struct arena *arena)
{
    char version[32];
    int size = snprintf(version, sizeof version, "%u.%u.%u", arena->python >> 24, arena->python >> 16 & 0xff,
                        arena->python >> 8 & 0xff);
    const struct process process = {
        .pid = (uint64_t)getpid(),
        .rank = UINT32_MAX,
        .python = writer_string(writer, version, (size_t)size),
        .start_ns = arena->start_ns,
        .exit_code = INT32_MIN,
    };
    writer_meta(writer, "mode", "trace");
    writer_meta(writer, "sonde", SONDE_VERSION);
    return writer_process(writer, &process);
}

int snapshot_write(struct arena *arena, struct bytes *out, struct err *err)
{
    const struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    struct writer *writer = writer_new(&options, err);
    if (!writer)
        return -1;
    struct drain *drain = drain_new(arena, arena->total_bytes, writer, describe(writer, arena));
    if (!drain) {
        writer_abandon(writer);
        return err_set(err, "out of memory");
    }
    bool counter = clock_has_counter();
    struct clock_pair start = {.ticks = arena->start_ticks, .ns = arena->start_ns};
    struct clock_rate rate = clock_rate_between(start, clock_read_pair(counter), counter);
    drain_step(drain, &rate);
    drain_free(drain);
    return writer_close(writer, err);
}
