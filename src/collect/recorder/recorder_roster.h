/*
 * recorder_roster: the processes of a run: those that announce themselves are taken in, those that have ended are finished,
 * and forgotten when nobody can ask for them any more. Each is in the run's list once for each way in which it records.
 */
#ifndef SONDE_COLLECT_RECORDER_RECORDER_ROSTER_H
#define SONDE_COLLECT_RECORDER_RECORDER_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct followed;
struct pollfd;
struct recorder;
struct session_hello;

/* The last one of that number; NULL when there is none. */
struct followed *recorder_roster_find(struct recorder *recorder, pid_t pid);
/* A process has announced itself, with its memory in `fd`, which stays the caller's. */
void recorder_roster_take(struct recorder *recorder, const struct session_hello *hello, pid_t pid, int fd);

/* Writes the rest of what it has recorded. `exit_code`: INT32_MIN when it is not known. */
void recorder_roster_finish(struct recorder *recorder, struct followed *followed, bool ended,
                            int32_t exit_code);
/* The same for all ways in which a process records. */
void recorder_roster_finish_process(struct recorder *recorder, pid_t pid, int32_t exit_code);
/* Those that have ended: all, or those whose descriptors say so; the first two are others'. */
void recorder_roster_finish_ended(struct recorder *recorder);
void recorder_roster_take_ends(struct recorder *recorder, const struct pollfd *polled, size_t count);

/* A child that announces itself late still finds its parent; after a minute it does not. */
void recorder_roster_drop_long_dead(struct recorder *recorder);
uint32_t recorder_roster_running(const struct recorder *recorder);

#endif
