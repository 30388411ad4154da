#include "export/collapsed_writer.h"

#include <inttypes.h>

#include "analyse/tree.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/frames.h"
#include "export/stream.h"
#include "store/recording.h"

struct lines {
    const struct recording *recording;
    const struct frame_style *style;
    struct stream *stream;
    struct bytes path; /* of the node that the walk is at, with a semicolon after each frame */
    bool sampled;      /* samples are what is counted */
};

static void clean(uint8_t *at, const uint8_t *end)
{
    for (; at < end; at++)
        *at = *at == ';' ? ':' : *at < ' ' || *at == 0x7f ? ' ' : *at;
}

static void put_line(struct lines *lines, const struct tree_node *node)
{
    struct bytes *out = &lines->stream->out;
    uint64_t count = lines->sampled ? node->samples : node->self;
    if (!count || !lines->path.size)
        return;
    bytes_put(out, lines->path.data, lines->path.size - 1);
    bytes_putf(out, " %" PRIu64 "\n", count);
    stream_drain(lines->stream);
}

static void enter(const struct tree *tree, uint32_t at, void *context)
{
    struct lines *lines = context;
    const struct tree_node *node = &tree->nodes[at];
    if (!at)
        return;
    size_t before = lines->path.size;
    frames_put_text(lines->recording, lines->style, node->code, node->line, &lines->path);
    if (lines->path.failed)
        return;
    clean(lines->path.data + before, lines->path.data + lines->path.size);
    bytes_put_u8(&lines->path, ';');
    put_line(lines, node);
}

/* Frames hold no semicolon: the path ends where the one before stands. */
static void leave(const struct tree *tree, uint32_t at, void *context)
{
    struct bytes *path = &((struct lines *)context)->path;
    (void)tree;
    if (!at || path->failed)
        return;
    path->size--;
    while (path->size && path->data[path->size - 1] != ';')
        path->size--;
}

int collapsed_writer_write(const struct recording *recording, const struct tree *tree,
                           const struct frame_style *style, struct stream *stream, struct err *err)
{
    struct lines lines = {.recording = recording,
                          .style = style,
                          .stream = stream,
                          .sampled = measure_is_of_samples(recording, tree->measure)};
    tree_walk(tree, enter, leave, &lines);
    bool failed = lines.path.failed;
    bytes_clear(&lines.path);
    return failed ? err_set(err, "not enough memory for the paths of the call tree") : 0;
}
