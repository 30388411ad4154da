/*
 * stream: text on its way out, in pieces of about a megabyte, so that an export may be larger than memory. Put
 * into `out`, call stream_drain now and then, stream_finish at the end. Failure is sticky; stream_finish tells. A
 * stream without a sink keeps everything in `out`. The stream owns `out` until stream_clear.
 */
#ifndef SONDE_EXPORT_STREAM_H
#define SONDE_EXPORT_STREAM_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

typedef int stream_sink(void *context, const void *data, size_t size, struct err *err);

struct stream {
    struct bytes out;
    stream_sink *sink;
    void *context; /* for the sink */
    struct err err;
};

#define STREAM_PIECE_BYTES ((size_t)1 << 20)

void stream_send(struct stream *stream);
int stream_finish(struct stream *stream, struct err *err);
void stream_clear(struct stream *stream);

static inline void stream_drain(struct stream *stream)
{
    if (stream->out.size >= STREAM_PIECE_BYTES && stream->sink)
        stream_send(stream);
}

#endif
