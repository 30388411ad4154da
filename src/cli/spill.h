/*
 * spill: bytes that are held for a while, in a file without a name (in TMPDIR, or /tmp), which is gone when the process is. First
 * all is written, then all is read, from the beginning. A zeroed struct is closed.
 *
 * Another process of the same user on the same machine can read it, too, while it is open here, when it is told the place.
 */
#ifndef SONDE_CLI_SPILL_H
#define SONDE_CLI_SPILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes;
struct err;

struct spill {
    int fd; /* 0 = closed */
    bool is_read;
    uint64_t held_bytes; /* still to be read */
};

int spill_open(struct spill *spill, struct err *err);
void spill_close(struct spill *spill);
/* A writer_sink; the context is the struct spill. */
int spill_append(void *context, const void *data, size_t size, struct err *err);
/* 1, 0 at the end, or -1 also when less than `size` is left. */
int spill_read(struct spill *spill, void *data, size_t size, struct err *err);

/* Where another process finds what was written. */
void spill_put_place(const struct spill *spill, struct bytes *place);
/* False when that is not here: another machine, another container, another user. */
bool spill_open_place(struct spill *spill, const struct bytes *place);

#endif
