/* svg_writer: a sheet as an SVG file. Names of shapes are shown where the mouse is. */
#ifndef SONDE_EXPORT_SVG_WRITER_H
#define SONDE_EXPORT_SVG_WRITER_H

struct bytes;
struct err;
struct sheet;

/* `title`: what readers of the file are told that it shows. */
int svg_writer_write(const struct sheet *sheet, const char *title, struct bytes *out, struct err *err);

#endif
