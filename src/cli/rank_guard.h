/*
 * rank_guard: a process between the launcher of ranks and the recorder. Launchers end a run by signals to the process
 * group of what they started, SIGKILL within milliseconds of SIGTERM (Open MPI after MPI_Abort), which would take the
 * recorder before it has closed the file. So what the launcher knows is this small process; the recorder is its child
 * in a group of its own, while the program stays in the launcher's. Signals are passed on to the recorder, which
 * passes on those that the program has not got; in the end the guard ends as the recorder does.
 */
#ifndef SONDE_CLI_RANK_GUARD_H
#define SONDE_CLI_RANK_GUARD_H

#include <sys/types.h>

/* Returns in the recorder: the process group that its program belongs to; 0 when all stays as it is. Only before
 * anything was opened or started. */
pid_t rank_guard_start(void);

#endif
