/*
 * lines_text: the lines of functions with their hits and times, in the layout of line_profiler, character by character,
 * with one column more for the time without callees where it is known, and two for the shortest and longest hit when
 * asked for.
 *
 * The source is that of the recording: whoever wants it from the disk puts it there first.
 */
#ifndef SONDE_SHOW_LINES_TEXT_H
#define SONDE_SHOW_LINES_TEXT_H

struct bytes;
struct err;
struct line_table;
struct line_table_function;
struct recording;
struct report_options;

#define LINES_TEXT_UNIT_S 1e-6

/* -1 with words when nothing can be told in that unit. */
int lines_text_check_unit(double unit_s, struct err *err);

int lines_text_put(const struct recording *recording, const struct report_options *options, struct bytes *out,
                   struct err *err);

/* Why there are no lines to show. */
void lines_text_put_nothing(const struct recording *recording, const struct report_options *options,
                            struct bytes *out);

/* The parts of that, for whoever has an order of his own: a function with its lines, and its line in the list at the
 * end. */
void lines_text_put_function(const struct recording *recording, const struct report_options *options,
                             const struct line_table *table, const struct line_table_function *function,
                             struct bytes *out);
void lines_text_put_summary(const struct recording *recording, const struct report_options *options,
                            const struct line_table *table, const struct line_table_function *function,
                            struct bytes *out);

#endif
