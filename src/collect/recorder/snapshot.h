/* snapshot: an arena of this process as the bytes of a .sonde file, without a recorder. */
#ifndef SONDE_COLLECT_RECORDER_SNAPSHOT_H
#define SONDE_COLLECT_RECORDER_SNAPSHOT_H

struct arena;
struct bytes;
struct err;

int snapshot_write(struct arena *arena, struct bytes *out, struct err *err);

#endif
