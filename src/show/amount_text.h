/* amount_text: an amount of a measure as a column of a report: seconds with three decimals, bytes with a unit, a number. */
#ifndef SONDE_SHOW_AMOUNT_TEXT_H
#define SONDE_SHOW_AMOUNT_TEXT_H

#include "analyse/measure.h"

struct bytes;

/* Right-aligned in AMOUNT_TEXT_WIDTH columns. */
#define AMOUNT_TEXT_WIDTH 8
void amount_text_put(enum measure measure, double amount, struct bytes *out);

#endif
