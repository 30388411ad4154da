/* threads: the time of one function (`code`) in each thread. */
#include <stdlib.h>

#include "analyse/thread_shares.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/answer_columns.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

int threads_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                  struct answer *answer, struct err *err)
{
    (void)opened;
    const struct functions *functions = opened_functions(row, &request->selection, err);
    struct thread_share *shares =
        functions ? thread_shares_new(&row->recording, &request->selection, request->code, err) : NULL;
    if (!shares)
        return -1;
    uint32_t count = row->recording.threads_count;
    ANSWER_COLUMNS_PUT_REALS(answer, "self", shares, count, self);
    ANSWER_COLUMNS_PUT_REALS(answer, "total", shares, count, total);
    ANSWER_COLUMNS_PUT_SHARES(answer, "total_share", shares, count, total, functions->whole);
    free(shares);
    return 0;
}
