/*
 * heap_kept: which stacks can leak. What is alive at the end and was allocated by no code of the program's own, or by an
 * import, belongs to the interpreter: it keeps modules, types, interned strings and free lists until the process is gone.
 * So do the arenas that Python's object allocator maps and never gives back, and its table of them: whose objects lie in
 * them is told by a recording that follows that allocator (--python-allocators).
 */
#ifndef SONDE_ANALYSE_HEAP_KEPT_H
#define SONDE_ANALYSE_HEAP_KEPT_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct heap_row;
struct recording;

/* By heap row: whether what is alive of its stack is the interpreter's. Rows of one stack have the same answer. Owned:
 * free it; NULL with err when memory ran out. */
bool *heap_kept_rows(const struct recording *recording, struct err *err);

/* Whether all that is alive of the row are arenas of Python's object allocator. `sampled`: numbers of blocks are
 * estimates, rounded to whole ones. */
bool heap_kept_is_arenas(const struct heap_row *row, bool sampled);
/* Whether the recording's rows are estimates. */
bool heap_kept_is_sampled(const struct recording *recording);

#endif
