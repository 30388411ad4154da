/*
 * top_rows: the lines of the table as they are to be shown: chosen by the filter, sorted by a column.
 *
 * Owns its lines and their labels.
 */
#ifndef SONDE_SHOW_TOP_ROWS_H
#define SONDE_SHOW_TOP_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct err;
struct live;
struct recording;
struct top_view;

struct top_row {
    uint64_t values_ns[4]; /* by column: of the latest interval (2), since the start (2) */
    uint32_t label;        /* offset of its text in `labels` */
    uint32_t id;           /* of the row or thread: equal values stay in this order */
};

struct top_rows {
    struct top_row *rows;
    uint32_t count;
    uint32_t hidden; /* that the filter left out */
    struct bytes labels;
    bool bad_filter; /* it is no regular expression; all are shown */
};

int top_rows_build(const struct top_view *view, const struct recording *recording, const struct live *live,
                   struct top_rows *rows, struct err *err);
void top_rows_clear(struct top_rows *rows);
/* "Thread" and the four columns before it, for the heading. */
const char *top_rows_heading(const struct top_view *view, unsigned column);

static inline const char *top_rows_label(const struct top_rows *rows, const struct top_row *row)
{
    return (const char *)rows->labels.data + row->label;
}

#endif
