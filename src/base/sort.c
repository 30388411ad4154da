#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct sort {
    size_t count, size;
    sort_compare *compare;
    void *context;
};

/* Merges the sorted runs [begin, middle) and [middle, end) of `from` into `to`. */
static void merge_runs(const struct sort *sort, const char *from, char *to, size_t begin, size_t middle,
                       size_t end)
{
    size_t size = sort->size, left = begin, right = middle;
    for (size_t at = begin; at < end; at++) {
        bool take_left =
            left < middle &&
            (right >= end || sort->compare(from + left * size, from + right * size, sort->context) <= 0);
        memcpy(to + at * size, from + (take_left ? left++ : right++) * size, size);
    }
}

int sort_rows(void *rows, size_t count, size_t size, sort_compare *compare, void *context, struct err *err)
{
    const struct sort sort = {.count = count, .size = size, .compare = compare, .context = context};
    char *spare = count > 1 ? malloc(count * size) : NULL;
    if (count > 1 && !spare)
        return err_set(err, "not enough memory to sort %zu rows", count);
    char *from = rows, *to = spare;
    for (size_t run = 1; run < count; run *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * run) {
            size_t middle = begin + run < count ? begin + run : count;
            size_t end = begin + 2 * run < count ? begin + 2 * run : count;
            merge_runs(&sort, from, to, begin, middle, end);
        }
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != (char *)rows)
        memcpy(rows, from, count * size);
    free(spare);
    return 0;
}

int sort_rising(void *rows, size_t count, size_t size, sort_compare *compare, struct err *err)
{
    for (size_t i = 1; i < count; i++)
        if (compare((char *)rows + (i - 1) * size, (char *)rows + i * size, NULL) > 0)
            return sort_rows(rows, count, size, compare, NULL, err);
    return 0;
}
