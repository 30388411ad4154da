/*
 * modules: which code of a process lies where, sorted by address, each range with its rows or without (code
 * made at run time: executable memory without a file belongs here too). One block without pointers, made by the parent: rows are found by their distance from
 * the table, so table and images may lie in memory shared at different addresses.
 *
 * A table is never changed in use: a new one is published beside it with another generation, and the old one
 * stays readable as long as a walk may still use it. Whoever makes the table owns it and the images.
 */
#ifndef SONDE_UNWIND_MODULES_H
#define SONDE_UNWIND_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

#define MODULES_MAX  0xffffu
#define MODULES_NONE UINT32_MAX

struct modules_entry {
    uint64_t start; /* executable addresses of the process */
    uint64_t end;
    uint64_t bias;   /* address in the process - address in the file */
    int64_t rows_at; /* distance of the rows from the table; 0 = none */
};

struct modules {
    uint32_t generation; /* never 0, never reused in a process */
    uint32_t count;
    struct modules_entry entries[];
};

/* Puts an entry with these rows (NULL = none) into its place. The caller has made room for it. Entries that
 * overlap one already there are not added: -1. */
int modules_add(struct modules *modules, uint64_t start, uint64_t end, uint64_t bias,
                const struct rows *rows);

/* The index of the entry that holds the address, or MODULES_NONE. Async-signal-safe. */
uint32_t modules_find(const struct modules *modules, uint64_t address);

static inline const struct rows *modules_rows(const struct modules *modules,
                                              const struct modules_entry *entry)
{
    return entry->rows_at ? (const struct rows *)((uintptr_t)modules + (uintptr_t)entry->rows_at) : NULL;
}

#endif
