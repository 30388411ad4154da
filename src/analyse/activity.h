/* activity: how much of each stretch of time threads ran, and held the GIL: the strip below a picture. */
#ifndef SONDE_ANALYSE_ACTIVITY_H
#define SONDE_ANALYSE_ACTIVITY_H

#include <stdint.h>

struct recording;
struct selection;

/* Adds, for each of `columns` equal stretches from begin_ns to end_ns, the time that the selected samples stand for: of
 * threads that ran, and of those that held the GIL. A sample's time lies before it is taken as it lies after it, so it
 * is put where it was taken. */
void activity_add(const struct recording *recording, const struct selection *selection, uint64_t begin_ns,
                  uint64_t end_ns, uint32_t columns, double *running_ns, double *gil_ns);

#endif
