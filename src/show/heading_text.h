/* heading_text: the lines between findings and table: what was recorded, how, where, and what is missing. */
#ifndef SONDE_SHOW_HEADING_TEXT_H
#define SONDE_SHOW_HEADING_TEXT_H

struct bytes;
struct err;
struct functions;
struct recording;
struct report_options;

int heading_text_put(const struct recording *recording, const struct functions *functions,
                     const struct report_options *options, struct bytes *out, struct err *err);

#endif
