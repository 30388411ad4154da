/*
 * pdf_writer: a sheet as a PDF file of one page.
 *
 * It has PDF's own Helvetica, which every reader has and which brings nothing to embed; characters that it
 * lacks (outside of Western European languages) become question marks.
 */
#ifndef SONDE_EXPORT_PDF_WRITER_H
#define SONDE_EXPORT_PDF_WRITER_H

struct bytes;
struct err;
struct sheet;

int pdf_writer_write(const struct sheet *sheet, const char *title, struct bytes *out, struct err *err);

#endif
