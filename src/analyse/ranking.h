/*
 * ranking: the rows of a report's table with their texts, sorted by pstats' keys.
 *
 * A row is a function, or a group of them (see groups.h). It owns the texts. Row order is that of the
 * last sort; ranking_sort is stable and ends with the standard name, so equal input gives equal output.
 */
#ifndef SONDE_ANALYSE_RANKING_H
#define SONDE_ANALYSE_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/functions.h"
#include "analyse/labels.h"
#include "base/strings.h"

struct ranking_row {
    uint32_t id; /* code, also of a line; for groups their number, a thread or a process */
    uint32_t line;
    const char *file, *name;
    const char *label; /* pstats' standard name */
    uint64_t calls, primitive_calls;
    uint64_t samples, total_samples;
    uint64_t self, total;
};

struct ranking {
    struct ranking_row *rows;
    uint32_t count;
    struct strings texts;
};

int ranking_build(const struct recording *recording, const struct functions *functions,
                  enum label_paths paths, struct ranking *ranking, struct err *err);
void ranking_clear(struct ranking *ranking);

/* `keys`: pstats' names or any beginning that means one thing ("tot", "cum"). `reverse` turns the whole
 * order. */
int ranking_sort(struct ranking *ranking, const char *const *keys, size_t key_count, bool reverse,
                 struct err *err);
/* -1 with words when the key is not one of them. */
int ranking_check_key(const char *key, struct err *err);
/* "internal time" for "tottime"; NULL for an unknown key. */
const char *ranking_key_words(const char *key);

#endif
