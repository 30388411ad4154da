/*
 * function_lines: a function whose lines were measured, on its way to a report: its file and name, and its lines one
 * after the other, each with its text and what was measured of it.
 *
 * The source is that of the recording: whoever wants it from the disk puts it there first. Borrows everything.
 */
#ifndef SONDE_SHOW_FUNCTION_LINES_H
#define SONDE_SHOW_FUNCTION_LINES_H

#include <stddef.h>
#include <stdint.h>

struct bytes;
struct code;
struct err;
struct line_table;
struct line_table_function;
struct line_table_row;
struct recording;
struct report_options;
struct source_file;

struct function_lines {
    const struct recording *recording;
    const struct report_options *options;
    const struct line_table_function *function;
    const struct line_table_row *rows; /* of the function */
    const struct code *code;
    const struct source_file *source; /* NULL = not to be had */
};

struct function_lines function_lines_of(const struct recording *recording,
                                        const struct report_options *options, const struct line_table *table,
                                        const struct line_table_function *function);

const char *function_lines_file(const struct function_lines *lines);
const char *function_lines_name(const struct function_lines *lines);
/* Whose they are, where threads or processes are kept apart. */
void function_lines_put_owner(const struct function_lines *lines, struct bytes *out);
/* Ends the line with the heads of the columns, of so many letters, and rules it off. */
void function_lines_underline(const struct function_lines *lines, size_t letters, struct bytes *out);
/* That the text is not there. */
void function_lines_put_missing(const struct function_lines *lines, struct bytes *out);

/* Told of each line of the function, and whatever was measured besides; `row` is NULL where nothing was. */
typedef void function_lines_put(void *context, uint32_t number, const struct line_table_row *row,
                                const char *text, size_t size, struct bytes *out);
void function_lines_walk(const struct function_lines *lines, function_lines_put *put, void *context,
                         struct bytes *out);

/* Told of each function that the options choose, in their order, or else that of `order`, a key of pstats'. */
typedef void function_lines_put_function(const struct recording *recording,
                                         const struct report_options *options, const struct line_table *table,
                                         const struct line_table_function *function, struct bytes *out);
int function_lines_put_all(const struct recording *recording, const struct report_options *options,
                           const struct line_table *table, const char *order,
                           function_lines_put_function *const *puts, size_t put_count, struct bytes *out,
                           struct err *err);

#endif
