/*
 * lines: from an instruction to its line, by the table that its code object carries.
 *
 * Takes bytes, gives numbers: the table of 3.9 (lnotab), of 3.10 (line table) or of 3.11 and later
 * (locations). A damaged table gives a wrong line or none, never a read outside it.
 */
#ifndef SONDE_PYTHON_LINES_H
#define SONDE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

enum lines_format { LINES_3_9, LINES_3_10, LINES_LOCATIONS };

/* Lines from 1, columns (in bytes of UTF-8) from 0; -1 = the table does not say. */
struct lines_location {
    int32_t line;
    int32_t end_line;
    int32_t column;
    int32_t end_column;
};

/* The format of a version, given as PY_VERSION_HEX. */
enum lines_format lines_format(uint32_t version);

/* The location of the instruction at `offset` (in bytes; before the first one: where the code begins). */
struct lines_location lines_find(enum lines_format format, const uint8_t *table, size_t table_bytes,
                                 int32_t first_line, int32_t offset);

#endif
