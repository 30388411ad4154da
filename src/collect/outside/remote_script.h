/*
 * remote_script: has a Python program that runs already run a script of ours, at a moment when that is safe.
 *
 * All threads of the main interpreter are asked, since some may wait in C for ever; whichever comes first runs it, and
 * maybe several do: a script must bear that. Nothing is stopped, and nothing but the places that CPython offers for
 * this is written. The script's file is the caller's, and has to last until the request is withdrawn.
 */
#ifndef SONDE_COLLECT_OUTSIDE_REMOTE_SCRIPT_H
#define SONDE_COLLECT_OUTSIDE_REMOTE_SCRIPT_H

#include <stdint.h>

struct err;

/* Whether the process can be asked. -1, in words, as below. */
int remote_script_check(uint32_t pid, struct err *err);
/* Asks the process to run the file. -1, in words, where it cannot: rights, no Python, one before 3.14, one that was
 * told not to. */
int remote_script_ask(uint32_t pid, const char *path, struct err *err);
/* Threads that have not run it need not any more. */
void remote_script_withdraw(uint32_t pid);

#endif
