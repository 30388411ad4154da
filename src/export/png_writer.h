/* png_writer: a sheet as a PNG file, its texts in the alphabet of letters.h. */
#ifndef SONDE_EXPORT_PNG_WRITER_H
#define SONDE_EXPORT_PNG_WRITER_H

struct bytes;
struct err;
struct sheet;

/* `scale`: pixels of the file for one of the sheet. */
int png_writer_write(const struct sheet *sheet, double scale, const char *title, struct bytes *out,
                     struct err *err);

#endif
