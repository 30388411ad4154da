/*
 * chrome_writer: samples as a Chrome trace (the JSON object format), for Perfetto, chrome://tracing and speedscope.
 *
 * Each function that stays on a thread's stack from one sample to the next is one complete event ("X"), whatever
 * lines it passes; where it was is in its args. Times are microseconds since the first sample of the run.
 */
#ifndef SONDE_EXPORT_CHROME_WRITER_H
#define SONDE_EXPORT_CHROME_WRITER_H

struct err;
struct frame_style;
struct recording;
struct selection;
struct stream;

/* A recording of calls is refused: it has no order in time. */
int chrome_writer_write(const struct recording *recording, const struct selection *selection,
                        const struct frame_style *style, struct stream *stream, struct err *err);

#endif
