/* callers_text: who called each function of a table, or whom each called, as pstats' print_callers does. */
#ifndef SONDE_SHOW_CALLERS_TEXT_H
#define SONDE_SHOW_CALLERS_TEXT_H

struct bytes;
struct ranking;
struct err;
struct functions;
struct recording;
struct report_options;

/* options->view says which: REPORT_CALLERS or REPORT_CALLEES. */
int callers_text_put(const struct recording *recording, const struct functions *functions,
                     const struct ranking *ranking, const struct report_options *options, struct bytes *out,
                     struct err *err);

#endif
