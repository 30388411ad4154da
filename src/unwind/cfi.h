/*
 * cfi: runs the instructions of a frame description and gives the rules that hold, in order of address. The
 * instructions are not trusted; what has no form in struct rows_rule becomes "unknown" or "lost".
 */
#ifndef SONDE_UNWIND_CFI_H
#define SONDE_UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/eh_frame.h"
#include "unwind/rows.h"

struct cfi_row {
    uint64_t address;
    struct rows_rule rule;
};

/* One function's code, with the rows of its description in order (at least one, the first at `start`). */
struct cfi_function {
    const uint8_t *code;
    size_t size;
    uint64_t start;
    const struct cfi_row *rows;
    size_t row_count;
};

/* From this address on the rule holds. False stops the run. */
typedef bool cfi_emit(void *context, uint64_t address, const struct rows_rule *rule);

/* The last row at or before the address, from a row before it on. */
static inline size_t cfi_row_at(const struct cfi_function *function, size_t row, uint64_t address)
{
    while (row + 1 < function->row_count && function->rows[row + 1].address <= address)
        row++;
    return row;
}

/* Gives the rows out from this one on. False when `emit` said so. */
bool cfi_emit_rows(const struct cfi_function *function, size_t row, cfi_emit *emit, void *context);

/* False when the instructions are damaged; what was given out before that stands. */
bool cfi_run(const struct eh_frame_description *description, cfi_emit *emit, void *context);

#endif
