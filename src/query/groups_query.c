/* groups: the table of functions by module, file, line, thread or process (`view`) instead. */
#include <stdlib.h>
#include <string.h>

#include "analyse/groups.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

static const struct {
    const char *name;
    enum group_by by;
} kinds[] = {
    {"module", GROUP_MODULE},   {"file", GROUP_FILE}, {"thread", GROUP_THREAD},
    {"process", GROUP_PROCESS}, {"line", GROUP_LINE},
};

static enum group_by find(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return kinds[i].by;
    return GROUP_FUNCTION;
}

static int put_names(struct answer *answer, const struct ranking *ranking)
{
    struct bytes text = {0};
    uint32_t *ends = calloc((size_t)ranking->count + 1, sizeof *ends);
    for (uint32_t i = 0; ends && i < ranking->count; i++) {
        bytes_put_text(&text, ranking->rows[i].name);
        ends[i] = (uint32_t)text.size;
    }
    bool failed = !ends || text.failed || text.size > UINT32_MAX;
    if (!failed)
        answer_texts(answer, "name", &text, ends, ranking->count);
    free(ends);
    bytes_clear(&text);
    return failed ? -1 : 0;
}

int groups_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                 struct answer *answer, struct err *err)
{
    (void)opened;
    enum group_by by = find(request->view);
    struct ranking ranking;
    const struct functions *functions = opened_functions(row, &request->selection, err);
    if (!functions)
        return -1;
    if (by == GROUP_FUNCTION)
        return err_set(err, "functions cannot be grouped by \"%s\"", request->view);
    if (groups_build(&row->recording, &request->selection, by, LABEL_FULL, &ranking, err) < 0)
        return -1;
    const struct ranking_row *rows = ranking.rows;
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "id", rows, ranking.count, id);
    ANSWER_COLUMNS_PUT_NUMBERS(answer, "line", rows, ranking.count, line);
    ANSWER_COLUMNS_PUT_REALS(answer, "calls", rows, ranking.count, calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "primitive_calls", rows, ranking.count, primitive_calls);
    ANSWER_COLUMNS_PUT_REALS(answer, "samples", rows, ranking.count, samples);
    ANSWER_COLUMNS_PUT_REALS(answer, "total_samples", rows, ranking.count, total_samples);
    ANSWER_COLUMNS_PUT_REALS(answer, "self", rows, ranking.count, self);
    ANSWER_COLUMNS_PUT_REALS(answer, "total", rows, ranking.count, total);
    ANSWER_COLUMNS_PUT_SHARES(answer, "self_share", rows, ranking.count, self, functions->whole);
    ANSWER_COLUMNS_PUT_SHARES(answer, "total_share", rows, ranking.count, total, functions->whole);
    int result = put_names(answer, &ranking);
    ranking_clear(&ranking);
    return result < 0 ? err_set(err, "not enough memory for the groups") : 0;
}
