/* order: the functions of a selection in the order of one column (`view`); the first `limit` of them, 0 = all. */
#include <stdlib.h>
#include <string.h>

#include "analyse/function_order.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

int order_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                struct answer *answer, struct err *err)
{
    (void)opened;
    int column = function_order_find(request->view, err);
    const struct functions *functions = column < 0 ? NULL : opened_functions(row, &request->selection, err);
    if (!functions)
        return -1;
    uint32_t count = functions->row_count;
    uint32_t shown = request->limit && request->limit < count ? request->limit : count;
    uint32_t *codes = calloc((size_t)count + 1, sizeof *codes);
    uint32_t *out = codes ? answer_numbers(answer, "code", shown) : NULL;
    int result = out ? function_order_sort(&row->recording, functions, column, request->falling, codes, err)
                     : err_set(err, "not enough memory to sort %u functions", count);
    if (result == 0 && shown)
        memcpy(out, codes, shown * sizeof *out);
    free(codes);
    return result;
}
