/*
 * tau_text: what TAU calls things: functions, call paths, groups, metadata and user events. For the writers of TAU's formats.
 *
 * A function is "name [{file} {line}]", a call path its functions joined by " => ", from ".TAU application" on, which
 * stands for the thread as a whole. What would be mistaken for that punctuation is written as %XX, and is read back as
 * what it was (the metadata say that sonde wrote the file).
 */
#ifndef SONDE_EXPORT_TAU_TEXT_H
#define SONDE_EXPORT_TAU_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct err;
struct recording;
struct thread_place;
struct thread_profiles;

#define TAU_TEXT_ROOT ".TAU application"

enum tau_group { TAU_DEFAULT, TAU_CALLPATH, TAU_PYTHON, TAU_NATIVE, TAU_USER, TAU_MPI, TAU_GROUPS };
extern const char *const tau_text_groups[TAU_GROUPS];

/* The values that a counter had, as TAU keeps them. */
struct tau_event {
    uint64_t count;
    double min, max, mean, sum_of_squares;
};

/* What is worded once for all threads. Owns its arrays; the profiles are borrowed. */
struct tau_text {
    const struct thread_profiles *profiles;
    const struct recording *recording;
    struct bytes names;
    size_t *name_ends;        /* by code: where its name ends; it begins where that of the code before ends */
    struct tau_event *events; /* by counter */
};

int tau_text_init(struct tau_text *text, const struct thread_profiles *profiles, struct err *err);
void tau_text_clear(struct tau_text *text);

void tau_text_function(const struct tau_text *text, uint32_t code, struct bytes *out);
/* Of a node of the recording. */
void tau_text_path(const struct tau_text *text, uint32_t node, struct bytes *out);
enum tau_group tau_text_group(const struct tau_text *text, uint32_t code);

typedef void tau_text_attribute(const char *name, const char *value, void *context);
/* What is known of the thread, its process and the run; the metric's name first, which readers want there. */
void tau_text_metadata(const struct tau_text *text, const struct thread_place *place, tau_text_attribute *put,
                       void *context);

typedef void tau_text_event(const char *name, const struct tau_event *event, void *context);
/* Calls `put` for the counters of the place's process, if it is the first place of that process. */
void tau_text_events(const struct tau_text *text, const struct thread_place *place, tau_text_event *put,
                     void *context);

#endif
