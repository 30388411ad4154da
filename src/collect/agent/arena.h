/*
 * arena: the memory that the target writes and the recorder reads: one per process and tracing session.
 *
 * A memfd (or private memory, for sonde.Profile) of one fixed, sparse size: a header, then tables that only
 * grow. A row is filled before its table's count is raised (release), so that a reader in another process sees
 * whole rows only, also when the writer is killed between any two instructions. Counters inside rows (calls,
 * self ticks) are single 64-bit words, written by one thread each.
 *
 * The reader treats the content as untrusted: a target can corrupt its own memory.
 */
#ifndef SONDE_COLLECT_AGENT_ARENA_H
#define SONDE_COLLECT_AGENT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_MAGIC   0x61726e6165646e73u
#define ARENA_VERSION 1u

/* How many rows a table may hold. Over that the run goes on, aggregated, and the loss is counted. */
struct arena_limits {
    uint32_t threads;
    uint32_t codes;
    uint32_t nodes;
    uint32_t text_bytes;
};

enum arena_stop { ARENA_RUNNING = 0, ARENA_STOP = 1 };

struct arena_header {
    uint64_t magic;
    uint32_t version;
    uint32_t header_bytes;
    struct arena_limits limits;
    uint64_t threads_at, codes_at, nodes_at, text_at; /* byte offsets of the tables */
    uint64_t total_bytes;

    uint64_t pid;
    uint64_t parent_pid;
    uint64_t start_ticks;
    uint64_t start_ns;
    uint32_t counter; /* 1 = ticks are the TSC (or the like), 0 = ns */
    uint32_t python;  /* PY_VERSION_HEX of the target */

    /* raised with release, read with acquire */
    uint32_t thread_count;
    uint32_t code_count; /* row 0 is "none" */
    uint32_t node_count; /* row 0 is "none" */
    uint32_t text_used;

    /* losses */
    uint64_t lost_nodes; /* calls charged to their caller because the node table was full */
    uint64_t lost_codes; /* functions without a row of their own */
    uint64_t lost_threads;
    uint64_t resyncs; /* stacks rebuilt because a switch was noticed late (greenlets) */

    uint32_t stop; /* set by the recorder: nobody reads any more */
    uint32_t forks;
};

struct arena_thread {
    uint64_t tid;
    uint64_t start_ticks;
    uint64_t last_ticks; /* of the latest event */
    uint32_t root;       /* node: the thread's own root */
    uint32_t current;    /* node; == root when no Python function runs */
    uint32_t name;       /* text offset of a counted string; 0 = none */
    uint32_t ended;
    uint64_t end_ticks;
    uint64_t reserved[2];
};

struct arena_code {
    uint32_t name, qualname, file, module; /* text offsets; 0 = "" */
    uint32_t line;
    uint8_t kind, flags; /* enum code_kind, code_flag of store/recording.h */
    uint16_t reserved;
    uint64_t calls; /* for throttling; not drained */
};

/* 64 bytes: one cache line. `key` is what identifies the callee to the tracer (code object or method table
 * entry); keys and places of the two children met last are kept in the parent. */
struct arena_node {
    uint64_t key;
    uint32_t parent;
    uint32_t code;
    uint64_t calls;
    uint64_t self_ticks;
    uint64_t child_key[2];
    uint32_t child[2];
    uint32_t thread; /* row in the thread table */
    uint32_t reserved;
};

_Static_assert(sizeof(struct arena_node) == 64, "a node is one cache line");

#endif
