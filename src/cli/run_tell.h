/* run_tell: what is said on standard error of a program that is recorded, by every command that records one. */
#ifndef SONDE_CLI_RUN_TELL_H
#define SONDE_CLI_RUN_TELL_H

#include <stdbool.h>
#include <stdint.h>

struct installation;
struct target;

/* A process gives no samples, because it "is" (or was) stopped. */
void run_tell_stopped(uint32_t pid, const char *verb);
/* A Python cannot be recorded (for recorder_options). */
void run_tell_refusal(uint64_t pid, bool is_target, const char *why);
/* No Python was met in a program that was started, and why. */
void run_tell_unrecorded(const struct target *target, const struct installation *installation);

#endif
