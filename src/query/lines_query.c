/* lines: what each line of one file cost, and its text where the recording has it. */
#include <string.h>

#include "analyse/line_heat.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

/* Nothing is read from a disk: what the recording has not got is not shown. */
static void put_text(const struct recording *recording, uint32_t file, struct answer *answer)
{
    const struct source_file *source = recording_source(recording, file);
    json_key(&answer->json, "has_text");
    json_bool(&answer->json, source != NULL);
    uint8_t *text = answer_small(answer, "text", source ? source->size_bytes : 0);
    if (text && source && source->size_bytes)
        memcpy(text, recording_source_text(recording, source), source->size_bytes);
}

/* Empty where no line's memory was measured. */
static void put_memory(const struct line_heat *heat, struct answer *answer)
{
    uint32_t count = heat->has_memory ? heat->count : 0;
    ANSWER_COLUMNS_PUT_REALS(answer, "growth", heat->rows, count, growth_bytes);
    ANSWER_COLUMNS_PUT_REALS(answer, "highest", heat->rows, count, highest_bytes);
}

static void put_times(const struct line_heat *heat, uint64_t whole, struct answer *answer)
{
    const struct line_heat_row *rows = heat->rows;
    ANSWER_COLUMNS_PUT_REALS(answer, "self", rows, heat->count, self);
    ANSWER_COLUMNS_PUT_REALS(answer, "total", rows, heat->count, total);
    ANSWER_COLUMNS_PUT_REALS(answer, "samples", rows, heat->count, samples);
    ANSWER_COLUMNS_PUT_REALS(answer, "hits", rows, heat->count, hits);
    ANSWER_COLUMNS_PUT_SHARES(answer, "self_share", rows, heat->count, self, whole);
    ANSWER_COLUMNS_PUT_SHARES(answer, "total_share", rows, heat->count, total, whole);
    ANSWER_COLUMNS_PUT_SHARES(answer, "per_hit", rows, heat->count, total, rows[i].hits);
}

int lines_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                struct answer *answer, struct err *err)
{
    (void)opened;
    struct line_heat heat;
    const struct line_heat_of of = {request->file, request->code};
    const struct functions *functions = opened_functions(row, &request->selection, err);
    if (!functions || line_heat_build(&row->recording, &request->selection, of, &heat, err) < 0)
        return -1;
    put_times(&heat, functions->whole, answer);
    put_memory(&heat, answer);
    line_heat_clear(&heat);
    put_text(&row->recording, request->file, answer);
    return 0;
}
