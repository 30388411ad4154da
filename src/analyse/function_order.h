/*
 * function_order: the functions of a table in the order of one of its columns: for tables of any length that are
 * sorted while somebody waits.
 */
#ifndef SONDE_ANALYSE_FUNCTION_ORDER_H
#define SONDE_ANALYSE_FUNCTION_ORDER_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct functions;
struct recording;

/* -1 with words when there is no such column: self, total, calls, primitive, samples, seen (on the stack), name, place
 * (file, then line), module. */
int function_order_find(const char *column, struct err *err);
/* Writes the codes of all rows to `codes`. Those that are equal stand by their id, `falling` or not. */
int function_order_sort(const struct recording *recording, const struct functions *functions, int column,
                        bool falling, uint32_t *codes, struct err *err);

#endif
