#include "query/name_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

struct named {
    uint32_t code;
    size_t at; /* in the texts */
};

static int by_name(const void *left, const void *right, void *context)
{
    const char *texts = context;
    return strcmp(texts + ((const struct named *)left)->at, texts + ((const struct named *)right)->at);
}

/* Fills `ranks`, of `rows` that are there to be sorted. */
static int rank_names(const struct recording *recording, struct named *rows, uint32_t *ranks,
                      struct bytes *texts, struct err *err)
{
    for (uint32_t code = 0; code < recording->codes_count; code++) {
        rows[code] = (struct named){code, texts->size};
        if (code)
            labels_brief(recording, code, texts);
        bytes_put_u8(texts, 0);
    }
    if (texts->failed)
        return err_set(err, "not enough memory for the names of %u functions", recording->codes_count);
    if (sort_rows(rows, recording->codes_count, sizeof *rows, by_name, texts->data, err) < 0)
        return -1;
    for (uint32_t i = 0; i < recording->codes_count; i++)
        ranks[rows[i].code] = i;
    return 0;
}

uint32_t *name_ranks_new(const struct recording *recording, struct err *err)
{
    size_t count = recording->codes_count ? recording->codes_count : 1;
    struct named *rows = calloc(count, sizeof *rows);
    uint32_t *ranks = calloc(count, sizeof *ranks);
    struct bytes texts = {0};
    int result = rows && ranks ? rank_names(recording, rows, ranks, &texts, err)
                               : err_set(err, "not enough memory to sort %zu names", count);
    free(rows);
    bytes_clear(&texts);
    if (result == 0)
        return ranks;
    free(ranks);
    return NULL;
}
