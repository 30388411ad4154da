#include "store/reader.h"

#include "base/err.h"
#include "store/call_events.h"
#include "store/chunk.h"
#include "store/follow.h"
#include "store/memory_rows.h"
#include "store/mpi_rows.h"
#include "store/recording.h"

#define RAW_BYTES_MAX ((uint64_t)16 << 30)

bool reader_recognises(const void *data, size_t size)
{
    return chunk_begins_file(data, size);
}

static int read_chunks(const void *data, size_t size, const char *name, bool definitions_only,
                       struct recording *recording, struct err *err)
{
    struct follow follow;
    int result = follow_init(&follow, recording, name, err);
    follow.raw_bytes_max = RAW_BYTES_MAX;
    follow.definitions_only = definitions_only;
    if (result == 0)
        result = follow_feed(&follow, data, size, err);
    if (result == 0)
        result = follow_end(&follow, err);
    follow_clear(&follow);
    return result;
}

int reader_read_definitions(const void *data, size_t size, const char *name, struct recording *recording,
                            struct err *err)
{
    return read_chunks(data, size, name, true, recording, err);
}

int reader_read(const void *data, size_t size, const char *name, struct recording *recording, struct err *err)
{
    int result = read_chunks(data, size, name, false, recording, err);
    if (result == 0)
        result = recording_order_samples(recording, err);
    if (result == 0)
        result = memory_rows_order(recording, err);
    if (result == 0)
        result = mpi_rows_order(recording, err);
    if (result == 0)
        result = call_events_order(recording, err);
    recording_compact_lines(recording);
    return result == 0 ? recording_compact_calls(recording, err) : -1;
}
