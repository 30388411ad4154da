/*
 * heap_text: what a report says of memory: how much in one sentence, tables by peak, total, leaks and temporary
 * allocations, and the allocations by size.
 */
#ifndef SONDE_SHOW_HEAP_TEXT_H
#define SONDE_SHOW_HEAP_TEXT_H

#include "analyse/measure.h"

struct bytes;
struct err;
struct functions;
struct ranking;
struct recording;
struct report_options;

/* "Peak 812 MiB in 1,024 blocks after 3.20 s; ...": the counterpart of a count of calls. */
int heap_text_put_counts(const struct recording *recording, const struct report_options *options,
                         struct bytes *out, struct err *err);
/* Rows of functions, or of groups of them, of the measure that the functions are of. */
void heap_text_put_table(const struct recording *recording, const struct report_options *options,
                         const struct ranking *ranking, const struct functions *functions, struct bytes *out);
/* What an amount of the measure is in the report's selection: "alive at the peak", "not freed in this time". */
const char *heap_text_words(const struct report_options *options, enum measure measure);
/* What stands below the table when no measure was asked for: the first rows by the other measures, and the sizes. */
int heap_text_put_more(const struct recording *recording, const struct report_options *options,
                       struct bytes *out, struct err *err);

#endif
