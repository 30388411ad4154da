/*
 * followed: one process that records, as the recorder knows it: the memory that it shares, what of it has been
 * written, and a descriptor that tells when it ends. A process that records in several ways at once is followed once
 * for each, under one id.
 */
#ifndef SONDE_COLLECT_RECORDER_FOLLOWED_H
#define SONDE_COLLECT_RECORDER_FOLLOWED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "store/recording.h"

struct followed_kind;
struct native_files;
struct native_space;
struct sample_drain;
struct session_hello;
struct writer;

struct followed {
    pid_t pid;    /* as the recorder sees it */
    int pidfd;    /* -1 = the kernel has none; it is looked for at every checkpoint */
    void *memory; /* mapped; NULL = ended */
    uint64_t memory_bytes;
    uint32_t purpose; /* of the memory: enum session_message */
    const struct followed_kind *kind;
    void *drain;                /* of that kind */
    struct native_space *space; /* of a sample area with native stacks */
    uint32_t id;                /* in the file */
    struct process process;
    bool is_guest; /* somebody else looks after the process: what it is called, and how it ends */
};

/* Makes a text for the file out of a command line: joined, without secrets. A new string or NULL. */
typedef char *followed_describe(int argc, char *const *argv);

struct followed_origin {
    pid_t pid;
    uint32_t parent_id;            /* process in the file; 0 = none */
    const struct followed *forker; /* the process that it may have been forked from; NULL = not known */
    const struct followed *same;   /* the same process, recorded in another way; NULL = this is the first */
    uint32_t observed;             /* its id in the file, when it is looked at from outside; 0 = it is not */
};
/* Maps the memory behind `fd` (which stays the caller's) and announces the process in the file that `files` writes
 * to. -1 when the message or the memory makes no sense. */
int followed_open(struct followed *followed, const struct followed_origin *origin,
                  const struct session_hello *hello, int fd, struct native_files *files,
                  followed_describe *describe);
/* Says how the process ended, if it did, and lets go of it. What it recorded must have been drained. */
void followed_close(struct followed *followed, struct writer *writer, bool ended, int32_t exit_code);
/* Writes what is new; finish: for the last time. True while it should be looked after soon again. */
bool followed_drain(struct followed *followed, const struct clock_rate *rate);
void followed_finish(struct followed *followed, const struct clock_rate *rate);
/* Whether it fills rings, which are small: to be emptied between checkpoints, too. */
bool followed_has_rings(const struct followed *followed);
bool followed_empty_rings(struct followed *followed, const struct clock_rate *rate);
/* No more is to be recorded of it, though it goes on. What it has is still to be drained. */
void followed_stop(struct followed *followed);
/* The drain of its samples; NULL when its memory holds something else. */
struct sample_drain *followed_samples(const struct followed *followed);
/* Whether it runs or wants to, rather than wait for something. */
bool followed_is_busy(const struct followed *followed);
/* Whether it has ended (asked without a pidfd, too). */
bool followed_has_ended(const struct followed *followed);

#endif
