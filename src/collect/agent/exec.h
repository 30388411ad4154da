/*
 * exec: keeps the session out of the program's environment and hands it on to what the program execs.
 *
 * The wrappers (execve and its relatives, posix_spawn, system) allocate nothing: they also run in the child of
 * a vfork, which shares its parent's memory.
 */
#ifndef SONDE_COLLECT_AGENT_EXEC_H
#define SONDE_COLLECT_AGENT_EXEC_H

struct session;

/* Takes the session's variables out of the environment. `text` is the variable's value, kept for children. */
void exec_init(const struct session *session, const char *text);

#endif
