/*
 * merge_shares: one merge into a .sonde file by a crew (cli/crew.h); the file is the same to the byte as one process makes it.
 *
 * The list of files is cut into as many shares as there are processes. What a process writes for its share depends on the files
 * before only through the definitions that they brought, which give the ids. So all first collect the definitions of their
 * shares (chunks of data are not looked into), and learn those of all shares before theirs in log2(K) steps: in step d
 * each sends what it knows to the one d shares on. With these a writer is in the state that it would have come to alone, and
 * each merges its share as one process would. The parts wait in temporary files (cli/spill.h), and the first process numbers
 * their chunks and writes them in order: few large appends by one writer are what parallel file systems like. It reads the files
 * of processes on its own machine itself, the others send theirs. That process has the last share, so that in the
 * end it knows all definitions; those of its own files nobody else needs, and it need not collect them.
 *
 * A process that fails sends its failure in place of what the others wait for; the first share's is told.
 */
#ifndef SONDE_CLI_MERGE_SHARES_H
#define SONDE_CLI_MERGE_SHARES_H

struct crew;
struct err;
struct input_paths;
struct merge_job;
struct staged;

/* The first process: tells the others what the files are; NULL = it has nothing for them to do, or it failed (err). */
void merge_shares_invite(struct crew *crew, const struct input_paths *inputs, const struct err *err);
/* The first process, after an invitation with inputs: the whole file, but for committing it. */
int merge_shares_lead(struct crew *crew, const struct input_paths *inputs, struct merge_job *job,
                      struct staged *file, struct err *err);
/* All others: waits for the invitation, and does its share. What fails is told by the first. */
void merge_shares_help(struct crew *crew, struct merge_job *job);

#endif
