/*
 * pairing: which function of one call graph is which of another, for comparing two runs.
 *
 * By module, line and name; then, because an edit moves lines, by module and name where only one function on
 * each side is left with them.
 */
#ifndef SONDE_ANALYSE_PAIRING_H
#define SONDE_ANALYSE_PAIRING_H

#include <stdint.h>

struct callgraph;
struct err;

#define PAIRING_NONE UINT32_MAX

struct pairing {
    uint32_t *after_of;  /* index in `before` → index in `after`, or PAIRING_NONE */
    uint32_t *before_of; /* the other way round */
};

int pairing_make(const struct callgraph *before, const struct callgraph *after, struct pairing *pairing,
                 struct err *err);
void pairing_clear(struct pairing *pairing);

#endif
