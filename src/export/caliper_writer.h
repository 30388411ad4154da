/*
 * caliper_writer: call paths of every rank as Caliper's split JSON ("json-split"), for Hatchet and Thicket.
 *
 * One row for each (path, rank), threads of a rank added up: own time, inclusive time (seconds), and calls or samples.
 * Where no process has a rank there is no such column, and one row for each path. Paths are nodes that name their parent;
 * each is called "name (file:line)", so that functions of the same name stay apart.
 */
#ifndef SONDE_EXPORT_CALIPER_WRITER_H
#define SONDE_EXPORT_CALIPER_WRITER_H

struct err;
struct frame_style;
struct recording;
struct selection;
struct stream;

int caliper_writer_write(const struct recording *recording, const struct selection *selection,
                         const struct frame_style *style, struct stream *stream, struct err *err);

#endif
