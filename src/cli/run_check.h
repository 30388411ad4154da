/* run_check: what is wrong with a run before anything is started or written. Each gives -1 and the reason. */
#ifndef SONDE_CLI_RUN_CHECK_H
#define SONDE_CLI_RUN_CHECK_H

#include <stdint.h>

struct err;
struct run_options;

/* What --duration says: a number of seconds, or py-spy's word for no limit, which is its default, too (NULL). 0 = none. */
int run_check_duration(const char *text, uint64_t *duration_ns, struct err *err);
int run_check_rate(int64_t rate_hz, struct err *err);
/* Whether what is asked for can be had of a process that runs already. */
int run_check_process(uint32_t pid, const struct run_options *options, struct err *err);

#endif
