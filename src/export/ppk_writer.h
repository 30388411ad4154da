/*
 * ppk_writer: a packed profile of ParaProf (.ppk): all that tau_writer would write into many files, in one: every rank and thread,
 * functions, call paths, metadata and user events. The layout is told in import/ppk_reader.h; it is compressed as gzip does.
 */
#ifndef SONDE_EXPORT_PPK_WRITER_H
#define SONDE_EXPORT_PPK_WRITER_H

struct err;
struct recording;
struct selection;
struct stream;

int ppk_writer_write(const struct recording *recording, const struct selection *selection,
                     struct stream *stream, struct err *err);

#endif
