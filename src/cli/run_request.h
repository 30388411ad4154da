/*
 * run_request: what every command can be told that records a program (record, trace, line, mem): the values, their
 * defaults, the rows of the option table and the lines for the session. An option that all of them are to have is a field
 * and a row here, and the commands do not change.
 */
#ifndef SONDE_CLI_RUN_REQUEST_H
#define SONDE_CLI_RUN_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/conversion.h"
#include "cli/live_view.h"
#include "cli/marks_option.h"
#include "cli/options.h"
#include "cli/part_options.h"
#include "cli/ranks_option.h"
#include "cli/target.h"
#include "export/sources.h"

struct run_request {
    const char *output;       /* pattern of the result; NULL = made up */
    const char *format;       /* NULL = by suffix */
    const char *ranks;        /* those of several that are recorded, as --ranks has them; NULL = all */
    const char *embed_source; /* one of sources_choices */
    bool mpi;                 /* calls of MPI are followed */
    struct option_list with;  /* what else is recorded (cli/collectors.h) */
    struct marks_option marks;
    struct live_view_options live;
    struct target_options target;
    struct part part;
};

#define RUN_REQUEST_DEFAULTS                                                                                 \
    {                                                                                                        \
        .embed_source = "auto", .marks = MARKS_OPTION_DEFAULTS, .target = TARGET_OPTIONS_DEFAULTS            \
    }

/* `only_observed`: nothing is recorded in the program, also where it is started. */
int run_request_check(const struct run_request *request, bool only_observed, struct err *err);
/* Lines for the session. */
void run_request_put_settings(const struct run_request *request, struct bytes *out);

/* The rows; `field` is the struct run_request in `type`. These two are where the command wants them: `special` is what it
 * says of names that mean something to it, `choices` of formats, `letter` that of --format. */
#define RUN_REQUEST_OUTPUT(type, field, special)                                                             \
    OPTION_ROW("output", 'o', OPTION_TEXT, "FILE", offsetof(type, field.output), NULL,                       \
               "Where the recording goes" special                                                            \
               ". %r, %p, %h and %{NAME} stand for rank, process, host and environment variable. "           \
               "Otherwise NAME.<run id>.sonde, or with the suffix of the format. Several ranks make a "      \
               "folder with a file for each; a name without a suffix is then "                               \
               "the folder's.")
#define RUN_REQUEST_FORMAT(type, field, letter, choices)                                                     \
    OPTION_ROW("format", letter, OPTION_CHOICE, "FORMAT", offsetof(type, field.format), conversion_names,    \
               "What FILE is to be: " choices "; otherwise FILE's suffix decides.")

/* All others, but for those under headings of their own (PART_OPTIONS). */
#define RUN_REQUEST_OPTIONS(type, field)                                                                     \
    MARKS_OPTIONS(type, field.marks),                                                                        \
        OPTION_ROW("embed-source", 0, OPTION_CHOICE, "WHICH", offsetof(type, field.embed_source),            \
                   sources_choices,                                                                          \
                   "Keep the text of source files in the recording, to be read beside the figures: auto "    \
                   "(default) those below the working directory, yes those of libraries, too, no none. "     \
                   "At most 1 MiB each and 16 MiB in all; secrets in them are not removed."),                \
        LIVE_VIEW_OPTIONS(type, field.live),                                                                 \
        OPTION_ROW("ranks", 0, OPTION_TEXT, "LIST", offsetof(type, field.ranks), NULL,                       \
                   "Of several ranks (mpirun, srun, torchrun) record only these, such as 0,7,100-115. The "  \
                   "others run without sonde."),                                                             \
        OPTION_ROW(                                                                                          \
            "mpi", 0, OPTION_FLAG, NULL, offsetof(type, field.mpi), NULL,                                    \
            "Follow the calls of MPI: time, bytes, partner and communicator of each, by stack. Open MPI, "   \
            "MPICH and its kin, and what Fortran and C libraries call."),                                    \
        OPTION_ROW("with", 0, OPTION_LIST, "COLLECTORS", offsetof(type, field.with), NULL,                   \
                   "Record more in the same run, each as the command of that name does by itself: sample, "  \
                   "trace, line, mem, mpi, with commas between them."),                                      \
        TARGET_OPTIONS(type, field.target)

#endif
