/*
 * code_names: rows of a shared table of code objects (agent/code_rows.h) → codes and lines of the file, each asked for
 * once. The table is not trusted. It stays the caller's and must outlive this.
 */
#ifndef SONDE_COLLECT_RECORDER_CODE_NAMES_H
#define SONDE_COLLECT_RECORDER_CODE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"

struct code_rows;
struct writer;

struct code_names {
    const struct code_rows *rows;
    struct writer *writer;
    uint32_t python;  /* PY_VERSION_HEX of the process: how its tables of lines are to be read */
    uint32_t *codes;  /* the file's ids by row; 0 = not asked for yet */
    struct map lines; /* (row, offset) → line */
};

/* False when memory ran out. */
bool code_names_init(struct code_names *names, const struct code_rows *rows, struct writer *writer,
                     uint32_t python);
void code_names_clear(struct code_names *names);

/* The file's code of a row; "(unknown)" for 0 and for what makes no sense. */
uint32_t code_names_id(struct code_names *names, uint32_t row);
/* The line of an instruction, by its offset in bytes; 0 = not known. */
uint32_t code_names_line(struct code_names *names, uint32_t row, int32_t offset);

#endif
