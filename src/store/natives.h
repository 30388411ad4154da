/*
 * natives: what a recording knows of each native code: where it lies, and what that is called. Rows of a
 * code are found by its id; of several the last counts. It borrows the recording, in
 * which no more addresses and symbols may come; codes that are added meanwhile may not be asked for. It owns
 * its index.
 */
#ifndef SONDE_STORE_NATIVES_H
#define SONDE_STORE_NATIVES_H

#include <stdint.h>

struct err;
struct recording;
struct code_address;
struct symbol;

struct natives {
    const struct recording *recording;
    uint32_t *addresses, *symbols; /* row of each code, plus 1; 0 = none. NULL when no code has any */
};

int natives_init(struct natives *natives, const struct recording *recording, struct err *err);
void natives_clear(struct natives *natives);

/* NULL when there is none, as for all codes that have a name of their own. */
const struct code_address *natives_address(const struct natives *natives, uint32_t code);
const struct symbol *natives_symbol(const struct natives *natives, uint32_t code);

#endif
