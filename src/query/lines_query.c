/* lines: what each line of one file cost, and its text where the recording has it. */
#include <string.h>

#include "analyse/line_heat.h"
#include "base/err.h"
#include "query/answer.h"
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
    double *growth = answer_reals(answer, "growth", count);
    for (uint32_t i = 0; growth && i < count; i++)
        growth[i] = (double)heat->rows[i].growth_bytes;
    double *highest = answer_reals(answer, "highest", count);
    for (uint32_t i = 0; highest && i < count; i++)
        highest[i] = (double)heat->rows[i].highest_bytes;
}

int lines_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                struct answer *answer, struct err *err)
{
    (void)opened;
    struct line_heat heat;
    const struct line_heat_of of = {request->file, request->code};
    if (line_heat_build(&row->recording, &request->selection, of, &heat, err) < 0)
        return -1;
    double *self = answer_reals(answer, "self", heat.count);
    for (uint32_t i = 0; self && i < heat.count; i++)
        self[i] = (double)heat.rows[i].self;
    double *total = answer_reals(answer, "total", heat.count);
    for (uint32_t i = 0; total && i < heat.count; i++)
        total[i] = (double)heat.rows[i].total;
    double *samples = answer_reals(answer, "samples", heat.count);
    for (uint32_t i = 0; samples && i < heat.count; i++)
        samples[i] = (double)heat.rows[i].samples;
    double *hits = answer_reals(answer, "hits", heat.count);
    for (uint32_t i = 0; hits && i < heat.count; i++)
        hits[i] = (double)heat.rows[i].hits;
    put_memory(&heat, answer);
    line_heat_clear(&heat);
    put_text(&row->recording, request->file, answer);
    return 0;
}
