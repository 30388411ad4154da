/* snapshot: an arena or a heap area of this process as the bytes of a .sonde file, without a recorder. */
#ifndef SONDE_COLLECT_RECORDER_SNAPSHOT_H
#define SONDE_COLLECT_RECORDER_SNAPSHOT_H

struct arena;
struct bytes;
struct err;
struct heap_area;

int snapshot_write(struct arena *arena, struct bytes *out, struct err *err);
/* Of an area into which nothing is counted any more. */
int snapshot_write_heap(struct heap_area *area, struct bytes *out, struct err *err);

#endif
