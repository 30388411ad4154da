/*
 * collapsed_writer: stacks as lines "frame;frame;leaf COUNT", root first, which flame graph tools read; py-spy
 * calls it raw. COUNT is samples; of traced calls it is the nanoseconds of the path itself.
 *
 * The format knows no escapes: a semicolon in a name becomes a colon, line breaks and other control characters
 * become blanks.
 */
#ifndef SONDE_EXPORT_COLLAPSED_WRITER_H
#define SONDE_EXPORT_COLLAPSED_WRITER_H

struct err;
struct frame_style;
struct recording;
struct stream;
struct tree;

/* Hottest first. The tree must have been built with lines if the style has them. */
int collapsed_writer_write(const struct recording *recording, const struct tree *tree,
                           const struct frame_style *style, struct stream *stream, struct err *err);

#endif
