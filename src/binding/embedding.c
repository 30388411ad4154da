#include "binding/embedding.h"

#include "base/err.h"
#include "export/sources.h"
#include "store/reader.h"
#include "store/recording.h"
#include "store/rewrite.h"
#include "store/writer.h"

static int write_with_sources(const struct recording *recording, struct bytes *out, struct err *err)
{
    const struct writer_options options = {.sink = writer_sink_bytes, .context = out};
    struct writer *writer = writer_new(&options, err);
    char left_out[128];
    if (!writer)
        return -1;
    if (rewrite_recording(writer, recording, err) < 0) {
        writer_abandon(writer);
        return -1;
    }
    sources_keep(writer, "auto", left_out, sizeof left_out);
    if (left_out[0])
        writer_meta(writer, "sources_left_out", left_out);
    return writer_close(writer, err);
}

int embedding_add(const void *data, size_t size, struct bytes *out, struct err *err)
{
    struct recording recording = {0};
    int result = reader_read(data, size, "this profile", &recording, err);
    if (result == 0)
        result = write_with_sources(&recording, out, err);
    recording_clear(&recording);
    return result;
}
