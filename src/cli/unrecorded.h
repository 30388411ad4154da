/*
 * unrecorded: why a program that was started gave no recording, and what to do about it. Found out after the fact, from
 * the file that was started: what the loader refuses to load an agent into, and what runs its command elsewhere.
 */
#ifndef SONDE_CLI_UNRECORDED_H
#define SONDE_CLI_UNRECORDED_H

struct bytes;

/* The reason and the remedy in words, without an end. `command` is as it was typed, `agent` the path of the library. */
void unrecorded_explain(const char *command, const char *agent, struct bytes *out);

#endif
