#include "query/time_rows.h"

#include "analyse/time_order.h"
#include "query/answer.h"

void time_rows_put(struct answer *answer, const struct time_order *order, uint64_t run_ns)
{
    uint32_t *level = answer_numbers(answer, "level", order->levels + 1);
    for (uint32_t i = 0; level && i < order->count; i++)
        level[order->rows[i].depth + 1] = i + 1;
    double *start = answer_reals(answer, "start", order->count);
    for (uint32_t i = 0; start && i < order->count; i++)
        start[i] = (double)order->rows[i].start_ns;
    double *total = answer_reals(answer, "total", order->count);
    for (uint32_t i = 0; total && i < order->count; i++)
        total[i] = (double)(order->rows[i].end_ns - order->rows[i].start_ns);
    double *share = answer_reals(answer, "share", order->count);
    for (uint32_t i = 0; share && i < order->count; i++)
        share[i] = answer_share((double)(order->rows[i].end_ns - order->rows[i].start_ns), (double)run_ns);
    uint32_t *code = answer_numbers(answer, "code", order->count);
    for (uint32_t i = 0; code && i < order->count; i++)
        code[i] = order->rows[i].code;
    uint32_t *calls = answer_numbers(answer, "calls", order->count);
    for (uint32_t i = 0; calls && i < order->count; i++)
        calls[i] = order->rows[i].calls;
    uint32_t *line = answer_numbers(answer, "line", order->count);
    for (uint32_t i = 0; line && i < order->count; i++)
        line[i] = order->rows[i].line;
}
