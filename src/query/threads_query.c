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
    struct thread_share *shares = thread_shares_new(&row->recording, &request->selection, request->code, err);
    if (!shares)
        return -1;
    uint32_t count = row->recording.threads_count;
    ANSWER_COLUMNS_PUT_REALS(answer, "self", shares, count, self);
    ANSWER_COLUMNS_PUT_REALS(answer, "total", shares, count, total);
    free(shares);
    return 0;
}
