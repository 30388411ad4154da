/*
 * writer: makes a .sonde file (or the same bytes in memory), append-only.
 *
 * Definitions are numbered by the writer, file-wide, from 1; equal definitions give the same id, so that
 * trees of many threads and processes share nodes. Definitions and data are gathered and leave as chunks at
 * writer_flush (definitions always before the data that name them). Failure is sticky: after the first, all
 * calls do nothing, ids are 0, and writer_close reports it. Native code is in writer_native.h, MPI in writer_mpi.h.
 */
#ifndef SONDE_STORE_WRITER_H
#define SONDE_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/recording.h"

struct writer;

/* Where the bytes go. Returns 0, or -1 with err set. */
typedef int writer_sink(void *context, const void *data, size_t size, struct err *err);

/* Compresses one payload into `out` (capacity `out_size`); the stored size, or 0 to store it raw. */
typedef size_t writer_compress(const void *data, size_t size, void *out, size_t out_size);

struct writer_options {
    writer_sink *sink;
    void *context;             /* for sink */
    writer_compress *compress; /* NULL = raw payloads */
    uint32_t rank_number; /* 1 plus the rank of all processes that do not say theirs; 0 = they have none */
};

/* NULL when memory ran out or the sink refused the file header. */
struct writer *writer_new(const struct writer_options *options, struct err *err);

/* Goes on with a file of `size_bytes` that was read into `recording`, behind what is there; equal definitions
 * keep their ids. Only strings, symbols and the codes of functions that others are inlined in may be added.
 * NULL too when the recording's ids are not the file's, because it is damaged. */
struct writer *writer_continue(const struct writer_options *options, const struct recording *recording,
                               uint64_t size_bytes, struct err *err);

uint32_t writer_string(struct writer *writer, const char *text, size_t size);
uint32_t writer_code(struct writer *writer, const struct code *code); /* string fields: ids of this writer */
uint32_t writer_node(struct writer *writer, const struct node *node);
uint32_t writer_process(struct writer *writer, const struct process *process); /* always a new id */
uint32_t writer_thread(struct writer *writer, const struct thread *thread);    /* always a new id */
/* What may meet the same thread of a process as another of them. */
enum writer_collector { WRITER_CALLS, WRITER_LINES, WRITER_SAMPLES, WRITER_HEAP, WRITER_EVENTS, WRITER_MPI };
/* The id that another collector has given the thread, by its process and tid, else a new one. A collector that meets the
 * same tid again means another thread. */
uint32_t writer_met_thread(struct writer *writer, enum writer_collector collector,
                           const struct thread *thread);
/* Says again, with what became known since (end, exit code, name). */
void writer_update_process(struct writer *writer, uint32_t id, const struct process *process);
/* The rank of all processes that do not say theirs, those included that were announced before; UINT32_MAX = none. */
void writer_set_rank(struct writer *writer, uint32_t rank);
uint32_t writer_rank(const struct writer *writer);
void writer_update_thread(struct writer *writer, uint32_t id, const struct thread *thread);
void writer_update_code(struct writer *writer, uint32_t id, const struct code *code); /* flags only */

void writer_calls(struct writer *writer, uint32_t process,
                  const struct call_row *row); /* adds to earlier rows */
void writer_line(struct writer *writer, uint32_t process, const struct line_row *row); /* likewise */
/* In any order of threads; times of one thread rise. Rows are held until enough are there to write them by
 * thread, or until a flush. */
void writer_sample(struct writer *writer, const struct sample_row *row);
uint32_t writer_counter(struct writer *writer, const struct counter *counter); /* equal ones: equal id */
void writer_series(struct writer *writer, const struct series_row *row);
uint32_t writer_region(struct writer *writer, const struct region *region); /* equal ones: equal id */
/* Times of one thread rise; those of several threads may come mixed, at the cost of longer records. */
void writer_region_event(struct writer *writer, const struct region_event_row *row);
void writer_mark(struct writer *writer, const struct mark_row *row); /* likewise */
/* In any order; in that in which the calls of a thread end a row is smallest. */
void writer_call_event(struct writer *writer, const struct call_event_row *row);
void writer_heap(struct writer *writer, const struct heap_row *row);
void writer_heap_size(struct writer *writer, const struct heap_size_row *row); /* adds to earlier rows */
/* A thread's in the order in which they happened, frees too. */
void writer_allocation(struct writer *writer, const struct allocation_row *row);
void writer_line_memory(struct writer *writer, const struct line_memory_row *row); /* adds to earlier rows */
void writer_function(struct writer *writer, const struct flat_function *row);
void writer_edge(struct writer *writer, const struct flat_edge *row);
void writer_note(struct writer *writer, const struct note *note);
void writer_meta(struct writer *writer, const char *key, const char *value);

/* The text of a file that codes name, at most RECORD_SOURCE_MAX bytes. Of several the last counts. */
void writer_source(struct writer *writer, uint32_t file, const void *text, size_t size);
/* The definitions made so far, but for threads, of which there may be too many; sources without their text. Borrowed until
 * the next call. */
const struct recording *writer_known(const struct writer *writer);
uint32_t writer_thread_count(const struct writer *writer);
/* 0, or -1 with the first failure of its life. */
int writer_state(const struct writer *writer, struct err *err);

/* Sends what was gathered as chunks. Cheap when there is nothing. */
int writer_flush(struct writer *writer);
/* Chunks that follow say these times, not those at which they are written: what is put together from recordings keeps
 * theirs. 0 and 0 = times of several clocks. */
void writer_set_clock(struct writer *writer, uint64_t clock_ns, uint64_t real_ns);
/* Flushes; then the file holds the chunks with these headers, one after the other, and no others, whoever wrote them with the
 * definitions of this writer: what comes next goes behind them, and the index lists them. */
int writer_place(struct writer *writer, const struct bytes *headers, struct err *err);
/* How much of the file single calls and regions take; what is still gathered counts uncompressed. */
uint64_t writer_event_bytes(const struct writer *writer);

/* Flushes, appends the END chunk (with the index), frees. -1 with the first failure of its life. */
int writer_close(struct writer *writer, struct err *err);
/* Frees without the END chunk: what a crash would have left. */
void writer_abandon(struct writer *writer);

/* A sink that appends to a `struct bytes` given as context. */
writer_sink writer_sink_bytes;

#endif
