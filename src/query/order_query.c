/* order: the functions of a selection in the order of one column (`view`). */
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
    uint32_t *codes = answer_numbers(answer, "code", functions->row_count);
    if (!codes)
        return err_set(err, "not enough memory to sort %u functions", functions->row_count);
    return function_order_sort(&row->recording, functions, column, request->falling, codes, err);
}
