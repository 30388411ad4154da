/*
 * tau_reader: TAU's profile.N.C.T files (import/tau_profile.h says what becomes of them): of one, or of a whole folder, one
 * after another. Which node, context and thread a file is of is in its name alone; one that is called otherwise is taken
 * for thread 0 of rank 0.
 *
 * Only times are read: files of another metric are refused.
 */
#ifndef SONDE_IMPORT_TAU_READER_H
#define SONDE_IMPORT_TAU_READER_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct recording;
struct tau_profile;

/* Whether the first line is such. */
bool tau_reader_recognises(const void *data, size_t size);
int tau_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                    struct err *err);

/* Adds one file of several to the profile; tau_profile_finish ends it. */
int tau_reader_add(struct tau_profile *profile, const void *data, size_t size, const char *name,
                   struct err *err);
/* Whether a file of that name (without folders) is one: "profile.3.0.1". */
bool tau_reader_names(const char *name);
/* Whether TAU measures time (in microseconds) under that name. */
bool tau_reader_is_time(const char *metric, size_t size);

#endif
