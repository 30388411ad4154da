/* chart_spans: the regions of a recording (calls of decorated functions, blocks with a name) as spans of a chart. */
#ifndef SONDE_ANALYSE_CHART_SPANS_H
#define SONDE_ANALYSE_CHART_SPANS_H

#include <stdint.h>

struct chart;
struct err;
struct recording;

/* Those of the file that was added last. Threads lie below one another. */
int chart_spans_add(struct chart *chart, const struct recording *recording, uint64_t origin_ns,
                    struct err *err);
/* When the first began; UINT64_MAX = there are none. */
uint64_t chart_spans_start(const struct recording *recording);
/* Keeps what lies in the window, and adds up the functions' calls and times. */
void chart_spans_cut(struct chart *chart, double from_s, double to_s);

#endif
