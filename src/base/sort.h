/* sort: a stable sort whose comparison knows a context; qsort_r is not everywhere. */
#ifndef SONDE_BASE_SORT_H
#define SONDE_BASE_SORT_H

#include <stddef.h>

struct err;

typedef int sort_compare(const void *a, const void *b, void *context);

/* `rows` of `size` bytes each. Takes as much memory again. */
int sort_rows(void *rows, size_t count, size_t size, sort_compare *compare, void *context, struct err *err);
/* The same for rows that are mostly in order already; without a context. */
int sort_rising(void *rows, size_t count, size_t size, sort_compare *compare, struct err *err);

#endif
