/*
 * flamegraph_writer: a tree of stacks as a picture (SVG) that stands alone: a frame's width is its share of the
 * time, its callees lie below it. In a browser it zooms and searches; elsewhere it is still a picture. It loads
 * nothing from anywhere.
 *
 * Any bytes may stand in names: they are escaped, and cut when they are very long. Frames too narrow to be seen are
 * left out, more of them when there would be too many for a browser; the picture says how much.
 */
#ifndef SONDE_EXPORT_FLAMEGRAPH_WRITER_H
#define SONDE_EXPORT_FLAMEGRAPH_WRITER_H

#include <stdbool.h>

struct err;
struct frame_style;
struct recording;
struct stream;
struct tree;

struct flamegraph_options {
    const char *title; /* NULL = none */
    bool upward;       /* the root at the bottom; otherwise at the top */
};

/* The tree must have been built with lines if the style has them. */
int flamegraph_writer_write(const struct recording *recording, const struct tree *tree,
                            const struct frame_style *style, const struct flamegraph_options *options,
                            struct stream *stream, struct err *err);

#endif
