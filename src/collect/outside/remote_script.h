/*
 * remote_script: has a Python program that runs already run a script of ours, at a moment when that is safe.
 *
 * The thread that runs is asked first, and all threads of the main interpreter where that does not help, since some may wait
 * in C for ever. Whichever comes first runs it, and maybe several do: a script must bear that. Nothing is stopped, and
 * nothing but the places that CPython offers for this is written. The script's file is the caller's, and has to last until
 * the request is withdrawn, and a moment longer.
 */
#ifndef SONDE_COLLECT_OUTSIDE_REMOTE_SCRIPT_H
#define SONDE_COLLECT_OUTSIDE_REMOTE_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Whether the process can be asked. -1, in words, as below. */
int remote_script_check(uint32_t pid, struct err *err);
/* Asks the process to run the file: the thread that runs Python now or, if `*everybody` or none does (then that is set),
 * all. -1, in words, where it cannot: rights, no Python, one before 3.14, one that was told not to. */
int remote_script_ask(uint32_t pid, const char *path, bool *everybody, struct err *err);
/* Threads that have not run it need not any more. */
void remote_script_withdraw(uint32_t pid);

#endif
