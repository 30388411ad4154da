/*
 * collectors: what --with adds to the recording that a command makes. One table says what each is called, which command
 * records it by itself, and how it is turned on; it is added with the defaults of that command.
 */
#ifndef SONDE_CLI_COLLECTORS_H
#define SONDE_CLI_COLLECTORS_H

#include <stdint.h>

#include "cli/run_request.h"

struct bytes;
struct err;
struct run_options;

/* Defaults of record, line, mem and trace. */
#define COLLECTORS_RATE_HZ           1000
#define COLLECTORS_HOT               10
#define COLLECTORS_HEAP_SAMPLE_BYTES ((int64_t)512 << 10)
#define COLLECTORS_LINE_MEMORY       ((int64_t)64 << 20)
#define COLLECTORS_TRACE_MEMORY      ((int64_t)256 << 20)
#define COLLECTORS_HEAP_MEMORY       ((int64_t)512 << 20)

struct collectors {
    uint32_t own, added;        /* a bit for each row of the table */
    struct run_request request; /* of the command, completed */
};

/* `options` becomes that of all that is recorded together. It may point into `collectors` then. */
int collectors_add(struct collectors *collectors, struct run_options *options, struct err *err);
/* Lines for the session: `own` are those of the command. */
void collectors_put_settings(const struct collectors *collectors, const char *own, struct bytes *out);

#endif
