/*
 * recording: what a recording says, decoded: the one model that readers and importers fill and analyses read.
 *
 * Everything is arrays indexed by ids; id 0 is "none" (string 0 is "", code 0 is "no code", node 0 is the
 * root above every stack). A node's parent always has a smaller id, so one pass up or down an array is a walk
 * of the tree. Fields that name an id always name one that exists: readers and importers check that once. A
 * zeroed struct is an empty recording. The recording owns its arrays.
 */
#ifndef SONDE_STORE_RECORDING_H
#define SONDE_STORE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/strings.h"

struct err;

enum code_kind {
    CODE_PYTHON = 1, /* a Python function, class body, module or comprehension */
    CODE_C = 2,      /* a C function or method seen from Python: name "<built-in method builtins.len>" */
    CODE_NATIVE = 3, /* a native function found by address */
    CODE_OTHER = 4,  /* a made-up node such as "(lost)" */
};

enum code_flag {
    CODE_LIBRARY = 1,   /* lies in the standard library or site-packages */
    CODE_THROTTLED = 2, /* switched off by --throttle after its first calls */
    CODE_IMPORT = 4,    /* the import machinery, or a module body */
    CODE_INTERNAL = 8,  /* the interpreter's own machinery: its evaluator and its C internals */
};

struct code {
    uint32_t name;     /* string: co_name, or the C function's label as pstats writes it */
    uint32_t qualname; /* string: co_qualname where the version has it, else the name */
    uint32_t file;     /* string: co_filename; "~" for C functions, as in pstats */
    uint32_t module;   /* string: __name__ of the globals, or of the C function's module; may be 0 */
    uint32_t line;     /* first line; 0 for C functions */
    uint8_t kind;      /* enum code_kind */
    uint8_t flags;     /* enum code_flag, or'ed */
};

struct node {
    uint32_t parent; /* < own id */
    uint32_t code;
    uint32_t line; /* 0 = the function as a whole (call traces) */
};

/* A file that was mapped into a process: a library, or the executable. */
struct module {
    uint32_t path;       /* string */
    uint32_t build_id;   /* string: lower-case hexadecimal; 0 = it has none */
    uint64_t size_bytes; /* 0 = unknown */
    uint8_t flags;       /* enum module_flag, or'ed */
};
enum module_flag {
    MODULE_INTERPRETER = 1, /* CPython itself: libpython, or an executable that contains it */
};

/* Where a module lay in a process, from since_ns on. */
struct mapping {
    uint32_t process, module;
    uint64_t start, end;
    uint64_t file_offset; /* of `start` */
    uint64_t since_ns;    /* monotonic; 0 = all the time */
};

/* Where a native code lies: the code itself (kind CODE_NATIVE) has no name. One row for each such code. */
struct code_address {
    uint32_t code, module;
    uint64_t offset; /* as the module's file counts addresses */
};

/* What an address, or a function inlined there, is called. Of several rows with the same code the last
 * counts. A code that others are inlined in has no address of its own. */
struct symbol {
    uint32_t code;
    uint32_t name;       /* string */
    uint32_t file;       /* string; may be 0 */
    uint32_t line;       /* in the function: of the address, or of the call that was inlined; 0 = unknown */
    uint32_t inlined_in; /* code of the function that swallowed it; 0 = none */
};

struct process {
    uint64_t pid;
    uint32_t parent;   /* process id in this recording, < own id; 0 = started by sonde, or unknown */
    uint32_t rank;     /* UINT32_MAX = not a rank */
    uint32_t host;     /* string */
    uint32_t command;  /* string: arguments joined by spaces, secrets redacted */
    uint32_t python;   /* string: "3.12.1"; 0 = unknown */
    uint32_t exe;      /* string */
    uint64_t start_ns; /* monotonic */
    uint64_t end_ns;   /* 0 = end unknown */
    int32_t exit_code; /* as in wait: negative = killed by that signal; INT32_MIN = unknown */
};

struct thread {
    uint32_t process; /* process id */
    uint32_t name;    /* string; may be 0 */
    uint64_t tid;     /* the kernel's */
    uint64_t start_ns;
    uint64_t end_ns; /* 0 = unknown */
};

/* Calls and self time of one stack node in one thread. At most one row for each (thread, node). */
struct call_row {
    uint32_t thread;
    uint32_t node;
    uint64_t calls;
    uint64_t self_ns;
};

/* One call from its beginning to its end; of a generator or coroutine, one resumption. Or one line of it, with what it
 * calls: until the next line of the same call begins, or the call ends. */
struct call_event_row {
    uint64_t start_ns, end_ns;
    uint32_t thread, node;
    uint32_t line; /* 0 = the call itself */
};

/* Hits and times of one line of a function in one thread. At most one row for each (thread, code, line). */
struct line_row {
    uint32_t thread; /* 0 = not known (imported) */
    uint32_t code;
    uint32_t line;
    uint64_t hits;     /* how often it was begun */
    uint64_t total_ns; /* until the next line of the same call began, or the call ended: callees included */
    uint64_t
        self_ns; /* without the Python functions that it called; C functions have no lines of their own */
    uint64_t min_ns, max_ns; /* of one hit, callees included; max 0 = not known */
};

/* What a thread was doing when it was sampled, or'ed. */
enum sample_state {
    SAMPLE_RUNNING = 1,  /* on a CPU, or wanting one; without it the thread was idle */
    SAMPLE_GIL = 2,      /* it held the GIL */
    SAMPLE_NATIVE = 4,   /* the innermost frame was native code */
    SAMPLE_GC = 8,       /* the garbage collector was at work */
    SAMPLE_CUT = 16,     /* the stack was deeper than was recorded: its root end is missing */
    SAMPLE_GUESSED = 32, /* some native frame rests on a guess, or the native root was not reached */
    /* Never in a file: left out of what is chosen (analyse/chosen.h), and keeps its place in time. */
    SAMPLE_LEFT_OUT = 128,
};

/* One stack as the sampler saw it, or several that were equal and followed one another. */
struct sample_row {
    uint64_t time_ns;   /* of the first of them */
    uint64_t weight_ns; /* the time that they stand for, together */
    uint32_t thread;
    uint32_t node;  /* the innermost frame; 0 = the thread had no stack */
    uint32_t count; /* samples in this row, at least 1 */
    uint8_t state;  /* enum sample_state, or'ed */
};

/* Something that is measured again and again while the program runs. */
enum counter_kind {
    COUNTER_LEVEL = 1, /* what it was at that time: bytes resident */
    COUNTER_SUM = 2,   /* only grows, and is shown as a rate: nanoseconds of CPU */
    COUNTER_REAL = 3,  /* a level that the program tells: values are the bits of a double (recording_real) */
};
struct counter {
    uint32_t name;    /* string: "rss", "cpu", "heap" */
    uint32_t unit;    /* string: "bytes", "ns" */
    uint32_t process; /* process id; 0 = of the run as a whole */
    uint8_t kind;     /* enum counter_kind */
};
struct series_row {
    uint64_t time_ns;
    int64_t value;
    uint32_t counter;
};

/* The value of a COUNTER_REAL, from the row to what it says and back. */
static inline double recording_real(int64_t value)
{
    double real;
    memcpy(&real, &value, sizeof real);
    return real;
}

static inline int64_t recording_real_bits(double real)
{
    int64_t value;
    memcpy(&value, &real, sizeof value);
    return value;
}

/* Who gave a block of memory. */
enum heap_allocator {
    HEAP_FREE = 0, /* nobody: it was given back */
    HEAP_MALLOC = 1,
    HEAP_CALLOC = 2,
    HEAP_REALLOC = 3,
    HEAP_ALIGNED = 4, /* posix_memalign, aligned_alloc, memalign, valloc, pvalloc */
    HEAP_MMAP = 5,
    HEAP_NEW = 6,        /* C++ */
    HEAP_PYTHON_RAW = 7, /* Python's own allocators: where they are followed, what they take from the */
    HEAP_PYTHON_MEM = 8, /* others is not counted again */
    HEAP_PYTHON_OBJECT = 9,
    HEAP_GPU = 10,
};

/* What one stack had allocated when the clock showed at_ns. Of rows with the same (thread, node, allocator) the
 * last counts; those before it are its history. */
struct heap_row {
    uint64_t at_ns;
    uint64_t live_bytes, live_count;
    uint64_t total_bytes, total_count; /* since the process began */
    uint64_t peak_bytes, peak_count;   /* live when the heap of the process was at its highest so far */
    uint64_t temporary_bytes, temporary_count; /* freed before their thread allocated again */
    uint32_t thread;                           /* that allocated, whoever frees */
    uint32_t node;
    uint8_t allocator; /* enum heap_allocator */
};

/* Allocations of a process by size. At most one row for each (process, floor_bytes). */
struct heap_size_row {
    uint64_t floor_bytes; /* the smallest size of this row; the next row's floor is above its largest */
    uint64_t count, total_bytes;
    uint32_t process;
};

/* One allocation, or with HEAP_FREE the end of one. */
struct allocation_row {
    uint64_t time_ns;
    uint64_t address;
    uint64_t size_bytes;   /* of a free: 0 = the whole block, else so much from its address on (munmap) */
    uint32_t thread, node; /* of a free the node is 0 */
    uint8_t allocator;     /* enum heap_allocator */
};

/* What one line of a function did to memory in one thread. At most one row for each (thread, code, line). */
struct line_memory_row {
    uint32_t thread, code, line;
    uint64_t hits;
    int64_t heap_growth_bytes, rss_growth_bytes; /* of all hits together, callees included */
    uint64_t heap_bytes, rss_bytes;              /* the highest after the line; 0 = not known */
};

/* A flat profile (from a .prof file): functions and caller → callee pairs, without stacks. */
struct flat_function {
    uint32_t code;
    uint64_t calls, primitive_calls;
    uint64_t self_ns, total_ns;
};
struct flat_edge {
    uint32_t caller, callee; /* codes */
    uint64_t calls, primitive_calls;
    uint64_t self_ns, total_ns; /* of the callee when called from the caller */
};

/* A part of a program that has a name: a decorated function, a block with a timer. */
struct region {
    uint32_t name;  /* string */
    uint32_t group; /* string; may be 0 */
    uint32_t code;  /* the function that it is; 0 = none */
    uint32_t color; /* 0xRRGGBB and 0x1000000 = chosen; 0 = not */
};
/* A region begins, or (region 0) one that is open in the thread ends: of those that are `ends` (0 = whatever they are) the
 * innermost but for `back`. Tasks take turns on a thread: what begins last need not end first. analyse/region_walk.h pairs
 * them. */
struct region_event_row {
    uint64_t time_ns;
    int64_t value; /* what was measured then, such as bytes of memory; 0 = nothing */
    uint32_t thread, region;
    uint32_t ends, back; /* of an end */
};
/* An instant that has a name. */
struct mark_row {
    uint64_t time_ns;
    uint32_t thread;
    uint32_t name, text; /* strings; the text may be 0 */
};

/* A group of ranks that talk to one another, as one process knows it. */
struct communicator {
    uint64_t key; /* the same in all ranks that are in it */
    uint32_t process;
    uint32_t size, rank; /* how many are in it; which of them the process is */
    uint32_t name;       /* string: "MPI_COMM_WORLD"; may be 0 */
};
/* What the clock of the run (that of its first rank) showed when that of a process showed local_ns. */
struct clock_row {
    uint64_t local_ns;
    int64_t reference_ns;
    uint64_t error_ns; /* the truth is at most so far away */
    uint32_t process;
};

#define MPI_NOBODY UINT32_MAX /* in place of a rank */

/* A message that was sent or received, once for each side. Calls are those of store/mpi_calls.h. */
struct message_row {
    uint64_t time_ns, duration_ns; /* of the call that waited for its end: Send, Recv, Wait, ... */
    uint64_t posted_ns;            /* when Isend, Irecv, ... began; time_ns where one call did all */
    uint64_t size_bytes;
    uint32_t thread, node; /* that waited */
    uint32_t communicator;
    uint32_t peer; /* rank of the other side in the run (MPI_COMM_WORLD), or MPI_NOBODY */
    int32_t tag;
    uint8_t call;     /* enum mpi_call: that which posted it */
    uint8_t received; /* 0 = sent */
};

/* A call that all of a communicator take part in. */
struct collective_row {
    uint64_t time_ns, duration_ns; /* of the call that waited for its end */
    uint64_t posted_ns;            /* as in a message */
    uint64_t number; /* counts the collectives of the communicator, in all ranks alike, from 0 */
    uint64_t sent_bytes, received_bytes; /* by this rank */
    uint32_t thread, node;
    uint32_t communicator;
    uint32_t root; /* as the peer of a message */
    uint8_t call;  /* enum mpi_call */
};

/* All calls of one kind from one stack, added up. At most one row for each (thread, node, call, communicator, peer). Where one call
 * sends to one rank and receives from another, count and time are with the one that it sends to; the bytes of what does not block
 * are with the call that began it, the time that is waited with the one that waits. */
struct mpi_total_row {
    uint64_t count, sent_bytes, received_bytes;
    uint64_t total_ns;
    uint32_t thread, node;
    uint32_t communicator;
    uint32_t peer; /* of a message; else MPI_NOBODY */
    uint8_t call;  /* enum mpi_call */
};

/* Something worth telling: what was lost, refused, switched off. */
enum note_kind {
    NOTE_LOSS = 1,    /* events or nodes dropped; count says how many */
    NOTE_REFUSED = 2, /* a process or collector that could not record, and why */
    NOTE_THROTTLED = 3,
    NOTE_CLOCK = 4, /* the counter was found wrong */
    NOTE_END = 5,   /* how the run ended, when not plainly */
    NOTE_WARNING = 6,
    NOTE_REMARK = 7, /* to be known, and no fault */
};
struct note {
    uint32_t process;
    uint8_t kind;
    uint64_t count;
    uint32_t text; /* string */
};

/* Key → value about the run: "mode", "sonde", "python", "host", "command", "started", "overhead_ns", ... */
struct meta {
    uint32_t key, value; /* strings */
};

/* The text of a source file as it was when the run ended. Of several with the same file the last counts. */
struct source_file {
    uint32_t file; /* string, as codes name it */
    uint32_t size_bytes;
    uint64_t offset; /* in the recording's source_texts */
};

/* One chunk as found in the file, for `sonde info`. */
struct chunk_info {
    uint64_t offset;
    uint64_t clock_ns, real_ns; /* when it was closed, by both clocks; 0 and 0 = not known */
    uint32_t process;           /* 0 = not of one process, or of one that was lost */
    uint32_t stored_bytes, raw_bytes;
    uint32_t records; /* table rows inside */
    uint16_t kind;    /* enum record_kind of store/record.h */
    uint8_t state;    /* enum chunk_state */
};
enum chunk_state { CHUNK_GOOD = 0, CHUNK_DAMAGED = 1, CHUNK_UNKNOWN = 2, CHUNK_ORPHANED = 3 };

/* What was not read, and why. */
struct damage {
    uint64_t damaged_chunks;  /* checksum or structure wrong, or missing altogether: skipped */
    uint64_t orphaned_chunks; /* whole, but some rows name ids that a damaged DEFS chunk would have defined */
    uint64_t orphaned_rows;   /* those rows: skipped */
    uint64_t unknown_chunks;  /* kinds of a newer sonde: skipped */
    uint64_t unknown_records; /* the same, inside chunks that were read */
    uint64_t skipped_bytes;   /* lying between whole chunks, or in damaged ones */
    bool truncated;           /* the file ends in the middle of a chunk */
    bool complete;            /* an END chunk was found: the recorder closed the file itself */
    bool renumbered;          /* ids differ from the file's, because definitions before them were lost */
};

#define RECORDING_ARRAY(type, name)                                                                          \
    type *name;                                                                                              \
    uint32_t name##_count, name##_capacity

struct recording {
    struct strings strings;
    RECORDING_ARRAY(struct code, codes);        /* [0] = no code */
    RECORDING_ARRAY(struct node, nodes);        /* [0] = root */
    RECORDING_ARRAY(struct process, processes); /* [0] = none */
    RECORDING_ARRAY(struct thread, threads);    /* [0] = none */
    RECORDING_ARRAY(struct module, modules);    /* [0] = none */
    RECORDING_ARRAY(struct mapping, mappings);
    RECORDING_ARRAY(struct code_address, addresses);
    RECORDING_ARRAY(struct symbol, symbols);
    RECORDING_ARRAY(struct call_row, calls);
    RECORDING_ARRAY(struct line_row, lines);
    RECORDING_ARRAY(struct sample_row, samples);             /* by thread, then time */
    RECORDING_ARRAY(struct counter, counters);               /* [0] = none */
    RECORDING_ARRAY(struct series_row, series);              /* by counter, then time */
    RECORDING_ARRAY(struct region, regions);                 /* [0] = none */
    RECORDING_ARRAY(struct region_event_row, region_events); /* by thread, then time */
    RECORDING_ARRAY(struct mark_row, marks);                 /* likewise */
    RECORDING_ARRAY(struct call_event_row,
                    call_events);           /* by thread, then start; a caller before its callees */
    RECORDING_ARRAY(struct heap_row, heap); /* by thread, node, allocator, then time */
    RECORDING_ARRAY(struct heap_size_row, heap_sizes);
    RECORDING_ARRAY(struct allocation_row, allocations); /* by time */
    RECORDING_ARRAY(struct line_memory_row, line_memory);
    RECORDING_ARRAY(struct communicator, communicators); /* [0] = none */
    RECORDING_ARRAY(struct clock_row, clocks);           /* by process, then time */
    RECORDING_ARRAY(struct message_row, messages);       /* by thread, then time */
    RECORDING_ARRAY(struct collective_row, collectives); /* likewise */
    RECORDING_ARRAY(struct mpi_total_row, mpi_totals);   /* by thread, node, call, communicator, peer */
    RECORDING_ARRAY(struct flat_function, functions);
    RECORDING_ARRAY(struct flat_edge, edges);
    RECORDING_ARRAY(struct note, notes);
    RECORDING_ARRAY(struct meta, metas);
    RECORDING_ARRAY(struct source_file, sources);
    struct bytes source_texts;
    RECORDING_ARRAY(struct chunk_info, chunks);
    struct damage damage;
    uint32_t next_sequence; /* of a chunk that would be appended to the file */
};

void recording_clear(struct recording *recording);
/* Makes the id-0 rows. Call before adding; recording_add_* do it too. */
int recording_init(struct recording *recording, struct err *err);

/* Each add returns the new row's id, or 0 (UINT32_MAX for arrays without a row 0) when memory ran out. */
uint32_t recording_add_code(struct recording *recording, const struct code *code);
uint32_t recording_add_node(struct recording *recording, const struct node *node);
uint32_t recording_add_process(struct recording *recording, const struct process *process);
uint32_t recording_add_thread(struct recording *recording, const struct thread *thread);
uint32_t recording_add_module(struct recording *recording, const struct module *module);
uint32_t recording_add_mapping(struct recording *recording, const struct mapping *mapping);
uint32_t recording_add_address(struct recording *recording, const struct code_address *address);
uint32_t recording_add_symbol(struct recording *recording, const struct symbol *symbol);
uint32_t recording_add_calls(struct recording *recording, const struct call_row *row);
uint32_t recording_add_line(struct recording *recording, const struct line_row *row);
uint32_t recording_add_sample(struct recording *recording, const struct sample_row *row);
uint32_t recording_add_counter(struct recording *recording, const struct counter *counter);
uint32_t recording_add_series(struct recording *recording, const struct series_row *row);
uint32_t recording_add_region(struct recording *recording, const struct region *region);
uint32_t recording_add_region_event(struct recording *recording, const struct region_event_row *row);
uint32_t recording_add_mark(struct recording *recording, const struct mark_row *row);
uint32_t recording_add_call_event(struct recording *recording, const struct call_event_row *row);
uint32_t recording_add_heap(struct recording *recording, const struct heap_row *row);
uint32_t recording_add_heap_size(struct recording *recording, const struct heap_size_row *row);
uint32_t recording_add_allocation(struct recording *recording, const struct allocation_row *row);
uint32_t recording_add_line_memory(struct recording *recording, const struct line_memory_row *row);
uint32_t recording_add_communicator(struct recording *recording, const struct communicator *communicator);
uint32_t recording_add_clock(struct recording *recording, const struct clock_row *row);
uint32_t recording_add_message(struct recording *recording, const struct message_row *row);
uint32_t recording_add_collective(struct recording *recording, const struct collective_row *row);
uint32_t recording_add_mpi_total(struct recording *recording, const struct mpi_total_row *row);
uint32_t recording_add_function(struct recording *recording, const struct flat_function *row);
uint32_t recording_add_edge(struct recording *recording, const struct flat_edge *row);
uint32_t recording_add_note(struct recording *recording, const struct note *note);
uint32_t recording_add_source(struct recording *recording, uint32_t file, const void *text, size_t size);
uint32_t recording_add_chunk(struct recording *recording, const struct chunk_info *chunk);
int recording_set_meta(struct recording *recording, const char *key, const char *value); /* replaces */
int recording_put_meta(struct recording *recording, struct meta meta);          /* the same, by string ids */
const char *recording_meta(const struct recording *recording, const char *key); /* NULL when absent */

/* NULL when the recording has no text of that file. */
const struct source_file *recording_source(const struct recording *recording, uint32_t file);
static inline const char *recording_source_text(const struct recording *recording,
                                                const struct source_file *source)
{
    return (const char *)recording->source_texts.data + source->offset;
}

/* Text of a string id; "" for 0. */
static inline const char *recording_text(const struct recording *recording, uint32_t string)
{
    return strings_text(&recording->strings, string);
}

/* Sums rows of the same (thread, node), keeping them sorted by thread, then node. */
int recording_compact_calls(struct recording *recording, struct err *err);
/* The same for rows of lines, sorted by thread, then code, then line. */
void recording_compact_lines(struct recording *recording);
/* Sorts the samples by thread, then time. Quick when they are sorted already, linear when the threads' times
 * rise as they were added. */
int recording_order_samples(struct recording *recording, struct err *err);

#endif
