#include "export/stream.h"

void stream_send(struct stream *stream)
{
    struct err *err = &stream->err;
    if (stream->out.failed)
        err_set(err, "not enough memory for the output");
    if (!err_is_set(err) && stream->sink(stream->context, stream->out.data, stream->out.size, err) < 0)
        err_set(err, "the output could not be written");
    bytes_reset(&stream->out);
}

int stream_finish(struct stream *stream, struct err *err)
{
    if (stream->sink)
        stream_send(stream);
    else if (stream->out.failed)
        err_set(&stream->err, "not enough memory for the output");
    return err_is_set(&stream->err) ? err_set(err, "%s", stream->err.text) : 0;
}

void stream_clear(struct stream *stream)
{
    bytes_clear(&stream->out);
}
