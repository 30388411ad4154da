/* share: how much of the time or memory lies in stacks that hold any of the functions in `marks`: what a search found. */
#include "analyse/holding.h"
#include "base/err.h"
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"
#include "query/request.h"

int share_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                struct answer *answer, struct err *err)
{
    (void)opened;
    struct holding holding;
    const struct tree *tree = opened_tree(row, &request->selection, err);
    if (!tree || holding_sum(tree, request->marks.bits, request->marks.size_bytes, &holding, err) < 0)
        return -1;
    json_key(&answer->json, "total");
    json_unsigned(&answer->json, holding.total);
    json_key(&answer->json, "whole");
    json_unsigned(&answer->json, holding.whole);
    answer_put_share(answer, "share", (double)holding.total, (double)holding.whole);
    return 0;
}
