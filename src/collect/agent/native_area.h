/*
 * native_area: what a sample area has behind it with --native: how to step over the program's code, written by the
 * recorder, and what each thread's last native stack was.
 *
 * The recorder appends row images and tables (unwind/modules.h) and publishes a table by storing its place. Neither
 * is changed or moved afterwards: a walk may go on in an old table while a new one appears. Only the recorder writes
 * rows, only the process writes slots.
 */
#ifndef SONDE_COLLECT_AGENT_NATIVE_AREA_H
#define SONDE_COLLECT_AGENT_NATIVE_AREA_H

#include <stdint.h>

#include "collect/agent/sample_area.h"
#include "unwind/walk_native.h"

enum {
    NATIVE_AREA_DEPTH = 2048, /* native frames of one sample; of deeper stacks the root end is cut off */
    NATIVE_AREA_COPY_BYTES = 16 << 10,
    NATIVE_AREA_PACKED_BYTES = 10 * NATIVE_AREA_DEPTH,
    NATIVE_AREA_ROWS_BYTES = 256 << 20,
    NATIVE_AREA_CELLS = 1024,          /* 200 ms at 5 kHz: so long the recorder may lack a CPU */
    NATIVE_AREA_CELL_BYTES = 64 << 10, /* of stack */
};

/* Follows the Python frames of a record with SAMPLE_HAS_NATIVE: the outermost `shared` addresses are those of the
 * thread's native stack before; `count` new ones follow, each as a zigzag LEB128 difference from the one before it
 * (the first from the last shared one, or 0). A return address is stored less one: it lies in the calling code. */
struct native_head {
    uint16_t shared;
    uint16_t count;
    uint16_t flags; /* enum native_flag */
    uint16_t bytes; /* of the differences */
};
enum native_flag {
    NATIVE_ROOT = 1,    /* the outermost frame was reached */
    NATIVE_GUESSED = 2, /* some frame rests on a guess */
    NATIVE_CUT = 4,     /* there were more frames than places */
    NATIVE_RAW = 8, /* not walked: `shared` is the number of the cell that holds the stack; nothing follows */
};

/* The registers and the stack of a thread that was in code which is not in the table. The recorder walks it once it
 * has read that code, and frees the cell. */
struct native_cell {
    uint32_t used;
    uint32_t size; /* of the stack that follows; its root end is missing when it was larger */
    uint64_t low;  /* address of its first byte */
    struct walk_native_registers registers;
    uint8_t stack[NATIVE_AREA_CELL_BYTES];
};

/* Scratch memory and memory of the sample before; whoever has set the sample slot's `busy` owns it. */
struct native_slot {
    uint32_t generation;                /* of the sample slot when this was last used */
    uint32_t depth;                     /* of the stack before */
    uint64_t before[NATIVE_AREA_DEPTH]; /* outermost first */
    uint64_t now[NATIVE_AREA_DEPTH];
    struct walk_native_frame walked[NATIVE_AREA_DEPTH];
    uint8_t packed[NATIVE_AREA_PACKED_BYTES];
    uint8_t copied[NATIVE_AREA_COPY_BYTES]; /* of a stack that must not be loaded from directly */
};

struct native_area {
    uint32_t loads;    /* raised by the process: its list of libraries has changed */
    uint32_t unknown;  /* raised by the process: a walk met code that is not in the table */
    uint64_t table_at; /* distance of the newest table from the start of this struct; 0 = none yet */
    uint64_t rows_used;
    uint32_t
        hopeless; /* set by the recorder: unknown code is no new code, so that keeping the stack is no use */
    uint64_t forked_from; /* the process whose table is used as long as there is none; 0 = none */
    struct native_slot slots[SAMPLE_AREA_SLOTS];
    struct native_cell cells[NATIVE_AREA_CELLS];
    _Alignas(8) uint8_t rows[NATIVE_AREA_ROWS_BYTES];
};

/* That of a sample area; NULL when it has none. */
static inline struct native_area *native_area_of(struct sample_area *area)
{
    return area->total_bytes == sizeof *area + sizeof(struct native_area) ? (struct native_area *)(area + 1)
                                                                          : NULL;
}

#endif
