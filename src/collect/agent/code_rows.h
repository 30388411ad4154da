/*
 * code_rows: the code objects that a process has met, by name: a table in the memory that it shares with the recorder.
 *
 * Written by any thread and by signal handlers at once: rows are taken by atomic addition and published by a flag. The
 * reader treats the content as untrusted. Zeroed memory that code_rows_format has seen is an empty table.
 */
#ifndef SONDE_COLLECT_AGENT_CODE_ROWS_H
#define SONDE_COLLECT_AGENT_CODE_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "python/walk.h"

enum {
    CODE_ROWS_MAX = 1 << 16,
    CODE_ROWS_INDEX = 1 << 18, /* places in the hash index; a power of two */
    CODE_ROWS_TEXT_BYTES = 64 << 20,
};

/* A code object as it was when first met. A row is used again only for the same object: same address and fields. */
struct code_row {
    uint64_t address, name_at, filename_at, lines_at;
    uint64_t name_hash; /* Python's: another name may come to lie where this one did */
    int32_t first_line;
    uint32_t name, qualname, filename; /* texts: offset of u32 size and bytes; 0 = none */
    uint32_t lines;                    /* the table of lines, stored as a text */
    uint32_t made_up;                  /* 1 = no code object but a frame that says something, named `name` */
    uint32_t ready;                    /* 1 = may be read */
};

struct code_rows {
    uint32_t count, text_used;
    uint32_t made_up_count;          /* of the rows: those that are made up */
    uint32_t index[CODE_ROWS_INDEX]; /* row + 1 */
    struct code_row rows[CODE_ROWS_MAX];
    uint8_t text[CODE_ROWS_TEXT_BYTES];
};

void code_rows_format(struct code_rows *rows);

/* The row of a code object, made when it is new; 0 when the tables are full. Async-signal-safe. */
uint32_t code_rows_find(struct code_rows *rows, const struct walk_process *process, uint64_t code);

/* The row of a frame that is no function, such as "<garbage collection>". What is called by one `key` has one name;
 * `key` is odd, as no address of a code object is. 0 when the tables are full, or when it would be a new one and there
 * are `most` already. Async-signal-safe. */
uint32_t code_rows_made_up(struct code_rows *rows, uint64_t key, const char *name, size_t bytes,
                           uint32_t most);

/* Bounded reads for the other side; NULL when out of bounds or there is none. */
const uint8_t *code_rows_text(const struct code_rows *rows, uint32_t text, uint32_t *size);

#endif
