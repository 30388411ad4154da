/*
 * merge_job: the sum of many recordings while they are added, one file after the other.
 *
 * For .prof and .lprof all is in `sum`. For .sonde the stacks leave through the writer at once, and `sum` holds the flat rows
 * and metas; a file's rows make chunks of their own, and what the chunks say depends on the files before, not on who merges
 * or when. Either way memory does not grow with the number of files, but with that of distinct functions and stacks. A
 * zeroed struct is empty; it owns its writer and its sum.
 */
#ifndef SONDE_CLI_MERGE_JOB_H
#define SONDE_CLI_MERGE_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "analyse/merge.h"
#include "store/writer.h"

struct bytes;
struct err;
struct input_paths;

struct merge_job {
    struct writer *writer; /* NULL = a .prof or .lprof file is made */
    bool lines;            /* .lprof */
    bool totals;           /* single events and times are left out */
    bool keep_going;       /* past files that cannot be read */
    struct merge sum;
    size_t added; /* files */
};

/* "sonde", "pstats", "lprof". The bytes of a .sonde file go to the sink as they come. */
int merge_job_begin(struct merge_job *job, const char *format, writer_sink *sink, void *context,
                    struct err *err);
void merge_job_clear(struct merge_job *job);

/* Files [first, end) of the list. Shows how far it is where somebody looks. */
int merge_job_add(struct merge_job *job, const struct input_paths *inputs, size_t first, size_t end,
                  struct err *err);
/* Sends what there still is to the sink: for .prof and .lprof the whole file. */
int merge_job_finish(struct merge_job *job, writer_sink *sink, void *context, struct err *err);

/* The same job in parts: a sum that another has made (merge_job_take_sum), in the order of the files. */
int merge_job_take_sum(struct merge_job *job, struct bytes *out, struct err *err);
int merge_job_add_sum(struct merge_job *job, const void *data, size_t size, struct err *err);

#endif
