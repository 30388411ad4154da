#include "collect/recorder/mark_rows.h"

#include "base/bytes.h"
#include "store/recording.h"

#define NAMED_MAX 8 /* the others are counted */

void mark_rows_add(struct mark_rows *rows, uint32_t words, bool is_met)
{
    uint32_t i = 0;
    while (i < rows->count && rows->rows[i].words != words)
        i++;
    if (i == MARK_ROWS_MAX || !words)
        return;
    rows->count += i == rows->count;
    rows->rows[i].words = words;
    rows->rows[i].is_met |= is_met;
}

uint32_t mark_rows_put_missing(const struct mark_rows *rows, const struct recording *known, struct bytes *out)
{
    uint32_t missing = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->rows[i].is_met)
            continue;
        if (missing++ < NAMED_MAX)
            bytes_putf(out, "%s%s",
                       missing > 1 ? ", " : "marks: ", recording_text(known, rows->rows[i].words));
    }
    if (missing > NAMED_MAX)
        bytes_putf(out, " and %u more", missing - NAMED_MAX);
    if (missing)
        bytes_put_text(out, " matched no call");
    return missing;
}
