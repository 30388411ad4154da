/*
 * speedscope_writer: a recording as speedscope reads it (speedscope.app/file-format-schema.json).
 *
 * Samples: one profile for each thread, with equal neighbours merged and gaps kept as empty stacks, so that all
 * threads share one time axis from 0 to the end of the run. Traced calls have no order in time: there each path is
 * one entry, weighted by its own time.
 */
#ifndef SONDE_EXPORT_SPEEDSCOPE_WRITER_H
#define SONDE_EXPORT_SPEEDSCOPE_WRITER_H

struct err;
struct frame_style;
struct recording;
struct selection;
struct stream;

/* `name` is shown as the file's; may be NULL. */
int speedscope_writer_write(const struct recording *recording, const struct selection *selection,
                            const struct frame_style *style, const char *name, struct stream *stream,
                            struct err *err);

#endif
