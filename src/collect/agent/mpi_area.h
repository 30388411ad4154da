/*
 * mpi_area: the memory through which a process tells the recorder of its calls of MPI: which rank it is, its communicators,
 * what the calls of each stack took in all, and the single messages and collectives. The stacks are those of a heap area
 * without any allocations (heap_area.h), which lies behind.
 *
 * One fixed, sparse size. Tables only grow: a row is filled before it can be seen. A total belongs to one thread, by its
 * node; words that other threads add to are added to atomically. A ring has one writer, its thread, and one reader; a full
 * one is never waited for: single rows are lost then, and counted, while the totals stay exact. What was put outlives the
 * process. The reader treats all of it as untrusted.
 */
#ifndef SONDE_COLLECT_AGENT_MPI_AREA_H
#define SONDE_COLLECT_AGENT_MPI_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/agent/heap_area.h"

#define MPI_AREA_MAGIC 0x616572612d69706du

enum {
    MPI_AREA_NODES = 1 << 18, /* of the stacks */
    MPI_AREA_TOTALS = 1 << 18,
    MPI_AREA_INDEX = 1 << 19, /* places in the hash index of totals */
    MPI_AREA_COMMUNICATORS = 1 << 14,
    MPI_AREA_NAME_BYTES = 48,
    MPI_AREA_CLOCKS = 16,
    MPI_AREA_RINGS = 16, /* threads that can tell of single messages */
    MPI_AREA_RING_EVENTS = 1 << 16,
};

struct mpi_communicator_row {
    uint64_t key; /* as struct communicator of store/recording.h has it; 0 = not filled yet */
    uint32_t size, rank;
    char name[MPI_AREA_NAME_BYTES];
};

/* What the clock of rank 0 showed when ours showed local_ns. */
struct mpi_clock_row {
    uint64_t local_ns;
    int64_t reference_ns;
    uint64_t error_ns;
};

struct mpi_total {
    uint32_t node; /* of the stacks; 0 = not filled yet */
    uint32_t communicator, peer;
    uint32_t call; /* enum mpi_call */
    uint64_t count, ticks;
    uint64_t sent_bytes, received_bytes; /* added to by any thread */
};

enum mpi_event_kind { MPI_EVENT_SENT = 1, MPI_EVENT_RECEIVED, MPI_EVENT_COLLECTIVE };

/* A message or a collective, told when it has ended. */
struct mpi_event {
    uint64_t start_ticks, end_ticks; /* of the call that waited for its end */
    uint64_t posted_ticks;
    uint64_t sent_bytes, received_bytes;
    uint64_t number; /* of a collective; of a message: its tag */
    uint32_t node, communicator;
    uint32_t peer; /* or root */
    uint8_t call, kind;
    uint16_t reserved;
};

/* One thread's: what it tells, and the call that it is in. */
struct mpi_ring {
    uint64_t written;              /* events, ever growing */
    uint64_t open_ticks;           /* when that call began; 0 = in none */
    uint32_t open_call, open_node; /* enum mpi_call; of the stacks */
    char apart[40];                /* from what the other side writes */
    uint64_t taken;
    char apart_too[56];
    struct mpi_event events[MPI_AREA_RING_EVENTS];
};

struct mpi_area {
    uint64_t magic;
    uint64_t total_bytes;
    uint64_t stacks_at; /* of the heap area */
    uint32_t stop;      /* set by the recorder: nobody reads any more */
    uint32_t is_rank;   /* 1 = rank and size are known */
    uint32_t rank, size;
    uint32_t by_function; /* 1 = stacks are told without lines, like those of traced calls */
    uint32_t reserved;

    uint32_t communicator_count, total_count; /* row 0 of each table is "none" */
    uint32_t clock_count, ring_count;
    uint64_t lost_events;        /* single messages and collectives */
    uint64_t lost_totals;        /* calls charged to no stack because the table was full */
    uint64_t lost_requests;      /* that could not be remembered: their messages are not told */
    uint64_t lost_communicators; /* that there was no room for */

    struct mpi_communicator_row communicators[MPI_AREA_COMMUNICATORS];
    struct mpi_clock_row clocks[MPI_AREA_CLOCKS];
    struct mpi_total totals[MPI_AREA_TOTALS];
    uint32_t index[MPI_AREA_INDEX]; /* of totals, by hash; 0 = free */
    struct mpi_ring rings[MPI_AREA_RINGS];
};

uint64_t mpi_area_bytes(void);
/* Makes zeroed memory of mpi_area_bytes() an area. */
void mpi_area_format(struct mpi_area *area, uint64_t pid, uint32_t python);

static inline struct heap_area *mpi_area_stacks(struct mpi_area *area)
{
    return (struct heap_area *)((char *)area + area->stacks_at);
}

/* The reader's side: where the stacks lie. False when the header is not sound for a mapping of `size` bytes. */
bool mpi_area_look(struct heap_area_view *stacks, struct mpi_area *area, uint64_t size);

#endif
