/*
 * memory_lines_text: the lines of functions with their memory, in the layout of memory_profiler, with two columns more
 * for the heap where it is known. "Mem usage" is the resident size, as there: the highest after the line; in the line of
 * the function itself, before its first one.
 */
#ifndef SONDE_SHOW_MEMORY_LINES_TEXT_H
#define SONDE_SHOW_MEMORY_LINES_TEXT_H

#include <stdint.h>

struct bytes;
struct err;
struct line_table;
struct line_table_function;
struct recording;
struct report_options;

#define MEMORY_LINES_TEXT_PRECISION     3
#define MEMORY_LINES_TEXT_PRECISION_MAX 9

int memory_lines_text_put(const struct recording *recording, const struct report_options *options,
                          struct bytes *out, struct err *err);
/* One function of that. */
void memory_lines_text_put_function(const struct recording *recording, const struct report_options *options,
                                    const struct line_table *table,
                                    const struct line_table_function *function, struct bytes *out);

/* -1 with words when there cannot be so many digits behind the point. */
int memory_lines_text_check_precision(int64_t precision, struct err *err);

#endif
