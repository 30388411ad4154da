/* recordings: what is open. */
#include "query/answer.h"
#include "query/opened.h"
#include "query/queries.h"

int recordings_query(struct opened *opened, struct opened_recording *row, const struct request *request,
                     struct answer *answer, struct err *err)
{
    (void)row, (void)request, (void)err;
    json_key(&answer->json, "recordings");
    json_begin_array(&answer->json);
    for (uint32_t i = 0; i < opened->count; i++)
        json_string(&answer->json, opened->rows[i].name);
    json_end_array(&answer->json);
    return 0;
}
