/*
 * run_files: the files of one run: the recording, which is .sonde while the program runs, and what is made of it at the end in
 * another format; for one of several ranks, in the folder of the run. No name is taken that another writer has. If another
 * format cannot be made, the recording is kept.
 *
 * A zeroed struct whose recording has a descriptor below 0 is valid and empty. It owns paths, descriptor and folder.
 */
#ifndef SONDE_CLI_RUN_FILES_H
#define SONDE_CLI_RUN_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/output.h"
#include "cli/recording_file.h"
#include "cli/run_ranks.h"

struct conversion_format;
struct err;
struct run_options;

struct run_files {
    struct output_context context; /* set by the caller before they are opened */
    struct run_ranks ranks;
    struct recording_file recording;
    char *result; /* of the converted file; NULL = the recording is the result */
    const struct conversion_format *format;
    bool is_spare; /* the result was made of the recording, which nobody has asked for */
};

/* Chooses the names and creates the recording; `program` is what it is called after. */
int run_files_open(struct run_files *files, const struct run_options *options, const char *program,
                   struct err *err);
void run_files_close(struct run_files *files);

/* The rank as MPI has told it. What is made of the recording is called after it, too. */
void run_files_take_rank(struct run_files *files, uint32_t rank);

/* The recording is whole: these read it. Native frames get their names; what stands against that is told, and no more. */
void run_files_name_native(const struct run_files *files);
/* Makes another format of it, where one is asked for and there is something to make it of. */
int run_files_make_result(struct run_files *files, const struct run_options *options, const char *program,
                          bool has_samples, struct err *err);
/* Something has failed: says so, and what is kept if anything was recorded. That a write failed was told when it did. */
void run_files_tell_failure(const struct run_files *files, bool recorded, const struct err *err);
/* Gives the path of what is left in the end; it is the caller's. */
char *run_files_take_kept(struct run_files *files);

#endif
