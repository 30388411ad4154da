/*
 * sources: the text of the files that ran, put into the recording when the run has ended, so that lines can be read
 * beside their figures where the files are not.
 *
 * A text is kept only if it can be what ran: files that were changed after the first process had started are left
 * out, and so is what is no text. Secrets in it are not found: whoever has the recording has the text.
 */
#ifndef SONDE_EXPORT_SOURCES_H
#define SONDE_EXPORT_SOURCES_H

#include <stddef.h>

struct recording;
struct writer;

/* "auto" (below the working directory, without installed packages), "yes" (wherever they are), "no"; NULL-ended. */
extern const char *const sources_choices[];

/* `left_out` says how many files were not kept, and why; "" = none. */
void sources_keep(struct writer *writer, const char *which, char *left_out, size_t size);

/* The other way round: the texts of files with line times that the recording has not got, as they are on this disk. Those
 * that cannot be read are left out. A note says which of them are younger than `file`, the recording's own (NULL = it was
 * made just now). -1 when memory ran out. */
int sources_load(struct recording *recording, const char *file);

#endif
