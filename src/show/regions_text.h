/* regions_text: the time in the regions of a program, as a table for people. */
#ifndef SONDE_SHOW_REGIONS_TEXT_H
#define SONDE_SHOW_REGIONS_TEXT_H

#include <stdint.h>

struct bytes;
struct err;
struct recording;
struct report_options;

/* At most `limit` of them, the longest ones (0 = all), after an empty line. Nothing when there are none. */
int regions_text_put(const struct recording *recording, const struct report_options *options, uint32_t limit,
                     struct bytes *out, struct err *err);

#endif
