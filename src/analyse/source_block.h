/*
 * source_block: which lines of a Python source belong to a function, told from the text alone, as inspect.getblock
 * does: decorators, the header and everything that is indented below it, with comments at least as deep.
 *
 * The text may be anything; nothing is owned. Lines end as Python's do: \n, \r\n or \r.
 */
#ifndef SONDE_ANALYSE_SOURCE_BLOCK_H
#define SONDE_ANALYSE_SOURCE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many lines the function or class takes that begins at `first_line` (from 1 on). Where none begins (a lambda, a
 * generator expression, a module), the lines of the statement there. 0 when the text has no such line. */
uint32_t source_block_lines(const char *text, size_t size, uint32_t first_line);

/* What is left to read of a text, line by line. */
struct source_lines {
    const char *at, *end;
};
/* From `first_line` on. */
struct source_lines source_block_seek(const char *text, size_t size, uint32_t first_line);
/* The next line, without its end; false when there is none. */
bool source_block_next(struct source_lines *lines, const char **line, size_t *size);

#endif
