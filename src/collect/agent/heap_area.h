/*
 * heap_area: the memory that a process whose allocations are counted shares with the recorder: its threads, the code
 * objects that it has met, the tree of stacks, and what was allocated at each of them.
 *
 * One fixed, sparse size. Tables only grow: a row is filled before its table's count is raised (release). A node, and a
 * record of what was allocated there, belong to one thread, which alone writes them, by plain stores; what other threads
 * free is added to words of its own. So the memory is whole between any two instructions, and what it says outlives the
 * process. The reader treats it as untrusted.
 */
#ifndef SONDE_COLLECT_AGENT_HEAP_AREA_H
#define SONDE_COLLECT_AGENT_HEAP_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/agent/code_rows.h"

#define HEAP_AREA_MAGIC 0x616572612d706168u

enum {
    HEAP_AREA_THREADS = 1024, /* over that, a thread goes on with the rows of one that has ended */
    HEAP_AREA_SIZES = 48,     /* powers of two */
    HEAP_AREA_RING_EVENTS = 1 << 16,
    HEAP_AREA_RINGS = 128, /* threads that can log at the same time */
    HEAP_AREA_NODES = 1 << 20,
    HEAP_AREA_RECORDS = (1 << 20) - 1,
    HEAP_AREA_PART = HEAP_AREA_RECORDS, /* in place of a record: a part of a mapping is given back */
};

/* How many rows there is room for. */
struct heap_area_limits {
    uint32_t nodes, records, rings;
    uint32_t native; /* 1 = a native_area (native_area.h) follows the tables */
};

/* What a record counts in: counts of sampled blocks are fractions. */
enum { HEAP_AREA_COUNT_UNIT = 256 };

struct heap_size {
    uint64_t count, bytes;
};

struct heap_thread_row {
    uint64_t tid; /* 0 = not taken */
    uint64_t start_ticks, end_ticks;
    uint32_t root;           /* its own node */
    uint32_t ring;           /* number of its ring, from 1; 0 = none */
    uint32_t in_use;         /* 0 = the thread has ended: another may go on with its rows */
    uint32_t busy;           /* the thread is counting */
    uint64_t written, taken; /* events in and out of the ring, ever growing */
    uint64_t given_up_at;    /* 1 + `taken` when the thread waited for room in vain; 0 = it did not */
    struct heap_size
        sizes[HEAP_AREA_SIZES]; /* by the number of bits that a size has; weighted like records */
    char name[64];              /* the program's, else the kernel's; may change */
};

/* One frame of a stack; a thread's root has parent 0. With native stacks a record belongs to a pair of two paths below one
 * root: that of the Python frames and that of the native ones. */
enum heap_node_kind {
    HEAP_NODE_PYTHON, /* code: row; offset: of the instruction, in bytes */
    HEAP_NODE_ENTRY,  /* the same, called from C */
    HEAP_NODE_NATIVE, /* code and offset: the upper and the lower half of the address */
    HEAP_NODE_PAIR,   /* parent: the Python path; offset: node of the native path */
};
struct heap_node {
    uint32_t parent, thread;
    uint32_t code;
    int32_t offset;
    uint32_t record; /* the first of its records; 0 = none */
    uint32_t kind;   /* enum heap_node_kind */
};

/* What one allocator gave at one stack. Counts are in 1/HEAP_AREA_COUNT_UNIT. live = bytes - freed - freed by others. */
struct heap_record {
    uint32_t node;
    uint32_t allocator; /* enum heap_allocator of store/recording.h */
    uint32_t next;      /* record of the same node; 0 = none */
    uint32_t thread;    /* that of the node, which alone adds to it */
    uint64_t bytes, count;
    uint64_t freed_bytes, freed_count;
    uint64_t temporary_bytes, temporary_count;
    uint64_t epoch; /* in which peak_* were saved; another than the area's: live is what it was at the peak */
    uint64_t peak_bytes, peak_count;
    uint64_t end_bytes, end_count;     /* live when the program ended, see heap_area.end_ticks */
    uint64_t other_bytes, other_count; /* that other threads freed */
};

/* One event of the log. */
struct heap_event {
    uint64_t ticks;
    uint64_t address;
    uint64_t packed; /* as an entry of heap_blocks.h; record 0: a block of so many bytes is freed */
};

struct heap_area {
    uint64_t magic;
    uint64_t total_bytes;
    struct heap_area_limits limits;
    uint64_t nodes_at, records_at, rings_at, native_at; /* byte offsets of the tables */
    uint64_t pid;
    uint64_t start_ticks, start_ns; /* one reading of both clocks */
    double ns_per_tick;             /* 0 = ticks are the machine's counter: to be calibrated by the reader */
    uint32_t python;
    uint32_t stop;         /* set by the recorder: nobody reads any more */
    uint64_t sample_bytes; /* as struct heap_settings has it */
    uint32_t totals;       /* 1 = of this area only the size of the heap is wanted */

    uint32_t thread_count, node_count, record_count; /* row 0 of each table is "none" */
    uint32_t ring_count;

    int64_t live_bytes; /* of all records */
    uint64_t peak_bytes, peak_ticks;
    uint64_t epoch; /* raised at every new peak */
    uint64_t
        end_ticks; /* when the program had ended and the interpreter was not yet taken down; 0 = not yet */

    uint64_t
        private_bytes; /* memory that the process has for its blocks, threads and the index of its stacks, when its program had ended */
    uint64_t
        missed; /* allocations in signal handlers that interrupted the counting, and of unknown threads */
    uint64_t lost_nodes;  /* stacks charged to their caller because the tree was full */
    uint64_t lost_blocks; /* blocks that could not be remembered: they stay alive for ever */
    uint64_t lost_events; /* of the log */
    uint64_t lost_threads;
    uint64_t merged_threads;

    struct heap_thread_row threads[HEAP_AREA_THREADS];
    struct code_rows codes;
};

/* The limits that fit into so many bytes; false when it cannot be done. Native stacks come on top, if wanted. */
bool heap_area_limits_within(uint64_t bytes, bool log, bool native, struct heap_area_limits *limits);
uint64_t heap_area_bytes(const struct heap_area_limits *limits);
/* Makes zeroed memory of heap_area_bytes(limits) an area. */
void heap_area_format(struct heap_area *area, const struct heap_area_limits *limits, uint64_t pid,
                      uint32_t python);

/* In the ticks of this area. */
static inline uint64_t heap_area_now(const struct heap_area *area)
{
    return area->ns_per_tick > 0 ? clock_monotonic_ns() : clock_counter();
}

static inline struct heap_node *heap_area_nodes(struct heap_area *area)
{
    return (struct heap_node *)((char *)area + area->nodes_at);
}

static inline struct heap_record *heap_area_records(struct heap_area *area)
{
    return (struct heap_record *)((char *)area + area->records_at);
}

static inline struct heap_event *heap_area_ring(struct heap_area *area, uint32_t ring)
{
    return (struct heap_event *)((char *)area + area->rings_at) + (size_t)(ring - 1) * HEAP_AREA_RING_EVENTS;
}

/* NULL when there is none. */
struct native_area;
static inline struct native_area *heap_area_native(struct heap_area *area)
{
    return area->limits.native ? (struct native_area *)((char *)area + area->native_at) : NULL;
}

/* The reader's side. Where the tables lie is settled once: the program may overwrite the header at any time. */
struct heap_area_view {
    struct heap_area *area;
    struct heap_area_limits limits;
    const struct heap_node *nodes;
    const struct heap_record *records;
    const struct heap_event *rings;
    struct native_area *native; /* NULL = none */
};
/* False when the header is not sound for a mapping of `size` bytes. */
bool heap_area_look(struct heap_area_view *view, struct heap_area *area, uint64_t size);

#endif
