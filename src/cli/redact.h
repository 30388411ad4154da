/*
 * redact: what is recorded about a run must not give away its secrets. Arguments that look like passwords,
 * tokens or keys are replaced by "[redacted]": by name (--password=, TOKEN=), by shape
 * (tokens of well-known services, private keys) and inside URLs (user:password@host).
 *
 * It errs on the side of hiding; a path or a number after an innocent name is always kept.
 */
#ifndef SONDE_CLI_REDACT_H
#define SONDE_CLI_REDACT_H

/* The words joined by spaces, secrets replaced; a new string, NULL when memory ran out. */
char *redact_words(int argc, char *const *argv);

#endif
