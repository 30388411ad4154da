/* counting_sort: sorts rows by an id, whatever their type. */
#ifndef SONDE_STORE_COUNTING_SORT_H
#define SONDE_STORE_COUNTING_SORT_H

#include <stdint.h>
#include <string.h>

/* Stable, and linear: ids are dense. `places` has one more entry than there are ids. */
#define COUNTING_SORT(from, to, count, places, ids, id)                                                      \
    do {                                                                                                     \
        memset(places, 0, ((size_t)(ids) + 1) * sizeof *(places));                                           \
        for (uint32_t row = 0; row < (count); row++)                                                         \
            (places)[(from)[row].id + 1]++;                                                                  \
        for (uint32_t each = 0; each < (ids); each++)                                                        \
            (places)[each + 1] += (places)[each];                                                            \
        for (uint32_t row = 0; row < (count); row++)                                                         \
            (to)[(places)[(from)[row].id]++] = (from)[row];                                                  \
    } while (0)

#endif
