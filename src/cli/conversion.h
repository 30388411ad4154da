/*
 * conversion: a recording in any format that sonde writes: the table of those formats, for `sonde export` and for
 * recording commands with --format.
 */
#ifndef SONDE_CLI_CONVERSION_H
#define SONDE_CLI_CONVERSION_H

#include <stdbool.h>

#include "analyse/tree.h"
#include "cli/selection_options.h"
#include "export/frames.h"

struct err;
struct recording;

struct conversion_format;

struct conversion {
    const struct conversion_format *format;
    struct selection selection;
    struct selection_part part;
    struct frame_style frames;
    bool threads;   /* kept apart, where the format does not keep them apart anyway */
    bool upward;    /* flame graphs: the root at the bottom */
    bool internals; /* the interpreter's own native frames are shown */
};

/* What --internals is, for all commands that show stacks. */
#define CONVERSION_INTERNALS_HELP                                                                            \
    "Show the interpreter's own C functions among native frames, and what every thread begins with."

/* What --format may be, py-spy's names among them; NULL-ended. */
extern const char *const conversion_names[];

/* The format of that name, or when it is NULL of the path's suffix; NULL when neither says it. */
const struct conversion_format *conversion_find(const char *name, const char *path);
/* What its files' names end in, if nobody says otherwise. */
const char *conversion_suffix(const struct conversion_format *format);
/* Whether sonde reads it again. */
bool conversion_can_be_read(const struct conversion_format *format);
/* Whether people can read it on a terminal. */
bool conversion_is_text(const struct conversion_format *format);

/* Writes the recording, called `name` in messages and titles, to the path ("-" = standard output); what was there is
 * replaced when all went well. The recording may be changed on the way, and is not to be used afterwards. */
int conversion_write(const struct conversion *conversion, struct recording *recording, const char *name,
                     const char *path, struct err *err);

#endif
