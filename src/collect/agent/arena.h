/*
 * arena: the memory that the target writes and the recorder reads: one for each process and kind of recording (calls,
 * lines).
 *
 * A memfd (or private memory, for sonde.Profile) of one fixed, sparse size: a header, then tables that only
 * grow. A row is filled before its table's count is raised (release), so that a reader in another process sees
 * whole rows only, also when the writer is killed between any two instructions. Counters inside rows (calls,
 * self ticks) are single 64-bit words, each written by one thread. Rows are added under the interpreter lock.
 *
 * The reader treats the content as untrusted: a target can corrupt its own memory.
 */
#ifndef SONDE_COLLECT_AGENT_ARENA_H
#define SONDE_COLLECT_AGENT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARENA_MAGIC    0x616e6572612d6473u
#define ARENA_VERSION  5u
#define ARENA_REQUESTS 1024

/* How many rows a table may hold. Over that the run goes on, aggregated, and the loss is counted. */
struct arena_limits {
    uint32_t threads;
    uint32_t codes;
    uint32_t nodes;
    uint32_t text_bytes;
    uint32_t lines, line_blocks, line_calls;
    uint32_t log_words; /* 0 = calls are not logged one by one */
};

struct arena {
    uint64_t magic;
    uint32_t version;
    struct arena_limits limits;
    uint64_t threads_at, codes_at, nodes_at, text_at; /* byte offsets of the tables */
    uint64_t lines_at, line_blocks_at, line_calls_at, line_memory_at, log_at;
    uint64_t total_bytes;

    uint64_t start_ticks, start_ns; /* one reading of both clocks */
    double ns_per_tick;             /* 0 = ticks are the machine's counter: to be calibrated by the reader */
    uint32_t python;                /* PY_VERSION_HEX of the target */
    uint32_t stop;                  /* set by the recorder: nobody reads any more */

    /* raised with release, read with acquire; row 0 of each table is "none" */
    uint32_t thread_count, code_count, node_count, text_used;
    uint32_t line_count, line_block_count, line_call_count;

    /* losses */
    uint64_t lost_calls;               /* charged to their caller because the node or code table was full */
    uint64_t lost_threads;             /* threads without a row: not recorded */
    uint64_t merged_threads;           /* threads that share the row of one that had ended */
    uint64_t kept_bytes;               /* of code objects that are kept alive */
    uint64_t resyncs;                  /* stacks rebuilt because a switch was noticed late (greenlets) */
    uint64_t lost_lines;               /* calls whose lines were not timed because a table was full */
    uint32_t request_count;            /* written by the recorder, as are: */
    uint64_t requests[ARENA_REQUESTS]; /* functions whose lines are to be timed, as arena_request has them */
    uint32_t remark;                   /* text: what the collector could not do; 0 = nothing */
    uint32_t measures_memory;          /* 1 = lines have memory, and no times */
    uint64_t targets_found; /* bit i: a function was called that the session's line target i means */
};

struct arena_thread {
    uint64_t tid;
    uint64_t start_ticks;
    uint64_t last_ticks; /* of the latest event */
    uint32_t root;       /* node: the thread's own root */
    uint32_t current;    /* node; == root while no recorded function runs */
    uint64_t end_ticks;  /* 0 = still alive */
    uint32_t name;       /* text; 0 = none */
    uint32_t skipped;    /* calls entered below a node that takes no children */
    uint32_t line_call;  /* the outermost of its open calls in the table line_calls */
    uint32_t line_depth; /* how many are open */
    uint32_t log_lost;   /* 1 = the log has missed where it went; */
    uint32_t log_floor;  /* node: the outermost that it was in since */
};

/* Single calls as they begin and end, of all threads in one ring: the interpreter lock is held at each of them. The words
 * follow this header, from the first on until one says that the next is the first again: as early as the reader allows, so
 * that of the room only as much is used as is needed. */
struct arena_log {
    uint64_t head;       /* words written so far: raised with release */
    uint64_t lost_calls; /* that began while there was no room */
    uint64_t lost_lines; /* likewise */
    uint64_t reserved_by_program[5];
    uint64_t tail;       /* words read so far; written by the recorder, as is: */
    uint32_t closed;     /* it takes no more */
    uint32_t keeps_last; /* of the calls as many as fit into size_bytes, else the first */
    uint64_t size_bytes;
    uint64_t reserved_by_recorder[5];
};

/* A word: in its low bits a node, in which its thread is from then on (the thread's root: in none), and above them the low
 * bits of the time in ticks. So the word after a call's beginning names its node, and that after its end its caller's.
 * Nodes from ARENA_LOG_LINE on, more than an arena can have, are lines of the call that the thread is in: one begins, and the
 * one before it ends. Those from ARENA_LOG_THREAD on say what the bits above mean. */
#define ARENA_LOG_NODE_BITS 28
#define ARENA_LOG_TIME_BITS (64 - ARENA_LOG_NODE_BITS)
enum arena_log_word {
    ARENA_LOG_LINE = 0x0c000000,
    ARENA_LOG_THREAD = 0x0ffffff0, /* row of the thread that the next words are of */
    ARENA_LOG_TIME, /* high bits of the next word's time: too much has passed for the low ones alone */
    ARENA_LOG_GAP,  /* node: words of this thread are missing here, during which it was in none outside it */
    ARENA_LOG_WRAP, /* 0: the next word is the first of the ring */
    ARENA_LOG_CARRIED, /* 0: calls that the next word enters are no new ones */
};

enum arena_code_state {
    ARENA_CODE_EXCLUDED = 1,  /* a filter leaves it out: its time belongs to its caller */
    ARENA_CODE_THROTTLED = 2, /* switched off after many short calls */
    ARENA_CODE_DUE = 4,       /* to be throttled as soon as it is on no stack */
};

struct arena_code {
    uint32_t name, qualname, file, module; /* texts */
    uint32_t line;
    uint8_t kind, flags;  /* enum code_kind, enum code_flag of store/recording.h */
    uint8_t state;        /* enum arena_code_state, or'ed */
    uint8_t kept;         /* code objects that are kept alive for this row */
    uint64_t calls;       /* counted only when throttling */
    uint64_t check_calls; /* look at the time per call when `calls` reaches this */
};

/* One cache line. `key` is what identifies the callee to the tracer (a code object or a method table entry);
 * keys and places of the two children met last are kept in the parent. A node with code 0 that is no thread's
 * root is a sink: it takes what its parent may not tell apart, and its time belongs to the parent. */
struct arena_node {
    uint64_t key;
    uint32_t parent;
    uint32_t code;
    uint64_t calls;
    uint64_t self_ticks;
    uint64_t child_key[2];
    uint32_t child[2];
    uint32_t thread; /* row in the thread table */
    uint32_t depth;  /* the root's is 0 */
};

/* One line of a chosen function. Row 0 takes what belongs to no line. */
struct arena_line {
    uint64_t hits;
    uint64_t total_ticks, self_ticks;
    uint64_t min_ticks, max_ticks; /* of one hit; max 0 = none has ended */
};

/* The same line's memory: what all its hits have grown it by, and how much there was after one of them at most. */
struct arena_line_memory {
    uint64_t hits;
    int64_t heap_growth_bytes, rss_growth_bytes;
    uint64_t heap_bytes, rss_bytes;
};

/* The lines of one function: as many rows as it spans, one after the other. */
struct arena_line_block {
    uint32_t code, thread; /* rows of their tables */
    uint32_t first_line, line_count;
    uint32_t first_row; /* in the table of lines */
    uint32_t reserved;
    uint64_t since_ticks; /* timed since then */
};

/* A call of a chosen function that is going on. `total` is the time since since_ticks without recursion_ticks, `self`
 * the same without callee_ticks and what the present callee has taken. */
struct arena_line_call {
    uint64_t key; /* the function, to the target; 0 = the bottom of the stack, which is no call */
    uint64_t since_ticks;
    uint64_t callee_ticks; /* in Python functions that the line has called */
    uint64_t
        recursion_ticks; /* of these, in calls of the same function, whose lines have that time themselves */
    uint32_t first_row, first_line, line_count; /* of its block */
    uint32_t row;                               /* the line; 0 = none yet */
    uint64_t callee;                            /* the function that the line is in; 0 = none */
    uint64_t callee_since_ticks;
    uint32_t callee_depth; /* calls of the callee by itself */
    uint32_t outer; /* place in the stack, from 1, of the call of the same function around it; 0 = none */
    uint64_t begin_ticks;  /* of the call */
    uint64_t owner;        /* the target's own */
    uint32_t rest;         /* 1 = the line goes on after a yield: no hit of its own */
    uint16_t midway;       /* 1 = it was going on already when its function was chosen */
    uint16_t raised_again; /* 1 = an exception passes through it, from another line than this */
};

_Static_assert(sizeof(struct arena_log) == 128, "each side has a cache line of its own");
_Static_assert(sizeof(struct arena_line_call) == 96, "both sides agree on the layout");
_Static_assert(sizeof(struct arena_node) == 64, "a node is one cache line");
_Static_assert(sizeof(struct arena_thread) == 64, "both sides agree on the layout");

/* The limits that fit into about `bytes` of memory, for calls or for lines. */
struct arena_limits arena_limits_within(uint64_t bytes);
struct arena_limits arena_line_limits_within(uint64_t bytes);
/* Words of a log, where there is one. */
#define ARENA_LOG_WORDS (1u << 22)
uint64_t arena_bytes(const struct arena_limits *limits);
/* Writes the header into zeroed memory of arena_bytes(limits). */
void arena_format(struct arena *arena, const struct arena_limits *limits);

static inline struct arena_thread *arena_threads(struct arena *arena)
{
    return (struct arena_thread *)((char *)arena + arena->threads_at);
}

static inline struct arena_code *arena_codes(struct arena *arena)
{
    return (struct arena_code *)((char *)arena + arena->codes_at);
}

static inline struct arena_node *arena_nodes(struct arena *arena)
{
    return (struct arena_node *)((char *)arena + arena->nodes_at);
}

static inline struct arena_line *arena_lines(struct arena *arena)
{
    return (struct arena_line *)((char *)arena + arena->lines_at);
}

/* By the same numbers as arena_lines. */
static inline struct arena_line_memory *arena_line_memory(struct arena *arena)
{
    return (struct arena_line_memory *)((char *)arena + arena->line_memory_at);
}

static inline struct arena_line_block *arena_line_blocks(struct arena *arena)
{
    return (struct arena_line_block *)((char *)arena + arena->line_blocks_at);
}

static inline struct arena_line_call *arena_line_calls(struct arena *arena)
{
    return (struct arena_line_call *)((char *)arena + arena->line_calls_at);
}

/* NULL = there is none. */
static inline struct arena_log *arena_log(struct arena *arena)
{
    return arena->limits.log_words ? (struct arena_log *)((char *)arena + arena->log_at) : NULL;
}

/* Each returns the new row's number, or 0 when the table is full. */
uint32_t arena_add_thread(struct arena *arena, const struct arena_thread *row);
uint32_t arena_add_code(struct arena *arena, const struct arena_code *row);
uint32_t arena_add_node(struct arena *arena, const struct arena_node *row);
/* Makes the block's rows, too; `first_row` need not be filled in. */
uint32_t arena_add_line_block(struct arena *arena, const struct arena_line_block *row);
/* Room for so many calls, one after the other. */
uint32_t arena_add_line_calls(struct arena *arena, uint32_t count);
/* Makes a copy of a thread's open calls, outermost first, say all that they took until end_ticks: a call is its caller's
 * callee, and its own function's recursion, from its beginning on. */
void arena_settle_line_calls(struct arena_line_call *calls, uint32_t depth, uint64_t end_ticks);
/* What the line of a settled call has taken by then. */
struct arena_line arena_open_line(const struct arena_line_call *call, uint64_t end_ticks);
/* What stands for a function in a request. */
uint64_t arena_request(const char *file, const char *name, uint32_t first_line);
/* A counted string (u32 size, bytes); texts longer than ARENA_TEXT_MAX are cut. 0 for "" or when full. */
#define ARENA_TEXT_MAX 4096u
uint32_t arena_add_text(struct arena *arena, const char *text, size_t size);

/* The reader's side. Where the tables lie is settled once: the program may overwrite the header at any time. */
struct arena_view {
    const struct arena *arena;
    struct arena_limits limits;
    const struct arena_thread *threads;
    const struct arena_code *codes;
    const struct arena_node *nodes;
    const struct arena_line *lines;
    const struct arena_line_block *line_blocks;
    const struct arena_line_call *line_calls;
    const struct arena_line_memory *line_memory;
    const char *text;
    struct arena_log *log; /* NULL = none; the reader writes into it */
    const uint64_t *log_words;
};
/* False when the header is not sound for a mapping of `size` bytes. */
bool arena_look(struct arena_view *view, const struct arena *arena, uint64_t size);
/* Copies of rows, each word of which was read once: what was checked is what is used. */
struct arena_thread arena_read_thread(const struct arena_view *view, uint32_t row);
struct arena_code arena_read_code(const struct arena_view *view, uint32_t row);
struct arena_node arena_read_node(const struct arena_view *view, uint32_t row);
struct arena_line arena_read_line(const struct arena_view *view, uint32_t row);
struct arena_line_memory arena_read_line_memory(const struct arena_view *view, uint32_t row);
struct arena_line_block arena_read_line_block(const struct arena_view *view, uint32_t row);
struct arena_line_call arena_read_line_call(const struct arena_view *view, uint32_t row);
/* NULL when out of bounds. */
const char *arena_text(const struct arena_view *view, uint32_t text, uint32_t *size);
/* Counts that a reader may use: acquired, and never over the limits. */
uint32_t arena_thread_count(const struct arena_view *view);
uint32_t arena_code_count(const struct arena_view *view);
uint32_t arena_node_count(const struct arena_view *view);
uint32_t arena_line_block_count(const struct arena_view *view);

#endif
