/*
 * mark_rows: the rows of --marks as the processes of a run tell of them, and which of them have meant a function that was
 * called, in whatever process. Rows are known by their words, as strings of the file. A zeroed struct has none; it owns nothing.
 */
#ifndef SONDE_COLLECT_RECORDER_MARK_ROWS_H
#define SONDE_COLLECT_RECORDER_MARK_ROWS_H

#include <stdbool.h>
#include <stdint.h>

struct bytes;
struct recording;

#define MARK_ROWS_MAX 1024u /* more are not judged */

struct mark_rows {
    uint32_t count;
    struct {
        uint32_t words;
        bool is_met;
    } rows[MARK_ROWS_MAX];
};

void mark_rows_add(struct mark_rows *rows, uint32_t words, bool is_met);
/* In words, of the strings that are known: the rows that no process has met. How many there are. */
uint32_t mark_rows_put_missing(const struct mark_rows *rows, const struct recording *known,
                               struct bytes *out);

#endif
