/*
 * tau_writer: TAU's profile.N.C.T files: one for each thread, N its rank, C 0, T its number within the rank, for ParaProf,
 * pprof and Hatchet.
 *
 * Each has a row for every function and one for every call path (whole ones, from ".TAU application" on). Times are
 * microseconds with three decimals, so that nothing is rounded; only the row of the thread as a whole has whole ones, because
 * Hatchet reads no others there. Of sampled recordings the calls are the samples that had the row on the stack. Counters are
 * user events of the first thread of their process.
 */
#ifndef SONDE_EXPORT_TAU_WRITER_H
#define SONDE_EXPORT_TAU_WRITER_H

struct bytes;
struct err;
struct recording;
struct selection;

/* Takes one file; the text is borrowed. */
typedef int tau_writer_file(void *context, const char *name, const struct bytes *text, struct err *err);

int tau_writer_write(const struct recording *recording, const struct selection *selection,
                     tau_writer_file *put, void *context, struct err *err);

#endif
