/*
 * run_folder: the folder of a run with several ranks, "NAME.<run id>/", and the names of the files in it:
 * "rank-07.sonde" of 32 ranks, with as many digits as the highest rank has (five where the number of ranks is not
 * known), so that names sort.
 *
 * All ranks find the same folder, though none talks to another. Its name comes from what they know alike
 * (run_identity). Whoever is first makes it, and in it the file run.json, which holds the run's whole key and appears
 * at once and only once (by link). A rank joins a folder when the key in it is its own, and when it was not made before
 * the run began; else the folder is another run's, and "NAME.<run id>-2" is tried, by all ranks alike. So
 *
 *   two jobs that start at the same second have different keys and thus different folders, also when their names are
 *   the same;
 *   a later step of the same job, a requeued job or new workers of torchrun have other keys than the earlier;
 *   a folder that a dead run left is never joined by a run that began later. The clocks of hosts may differ: an id that
 *   lasts (a job's) allows an hour, one that may come again a minute; for the latter a finished file of the same rank
 *   tells, too, that the folder is an earlier run's.
 *
 * Within the folder each rank creates its file exclusively; when two believe that they are the same rank, the second
 * adds its rank and process to the name, and says so. A rank that is lost costs its own file.
 */
#ifndef SONDE_CLI_RUN_FOLDER_H
#define SONDE_CLI_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct rank;
struct run_identity;

#define RUN_FOLDER_NOTE "run.json"

struct run_folder {
    char *path; /* without a slash at its end; NULL = none. Owned */
};

/* Whether -o names a folder in a run of several ranks: it is absent, a folder, ends with "/", or has no escape and no
 * suffix of a format. "x.$SLURM_PROCID.prof" and "x.%r.sonde" are files. */
bool run_folder_is_meant(const char *output, bool has_format);

/* The folder of this run, made or joined: `wanted`, or "NAME.<run id>" when that is NULL or "". A wanted folder that
 * holds other things already gets the run's in it. */
int run_folder_open(struct run_folder *folder, const char *wanted, const char *otherwise,
                    const struct rank *rank, const struct run_identity *identity, struct err *err);
void run_folder_clear(struct run_folder *folder);

/* "FOLDER/rank-07.sonde" as a new string; NULL when there is no memory. */
char *run_folder_file(const char *folder, uint32_t rank, uint32_t size, const char *suffix);

/* Whether the path is a folder that holds a run. */
bool run_folder_is(const char *path);

#endif
