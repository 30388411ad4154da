#include "cli/ranks_option.h"

#include <unistd.h>

#include "base/err.h"
#include "base/rank_list.h"
#include "cli/message.h"
#include "cli/target.h"

int ranks_option_has(const char *list, uint32_t rank, bool *has, struct err *err)
{
    *has = !list;
    if (list && !rank_list_has(list, rank, has))
        return err_set(err, "--ranks must be a list such as 0,7,100-115, which '%s' is not", list);
    return 0;
}

uint32_t ranks_option_count(const char *list, uint32_t size)
{
    uint32_t count = 0;
    bool has = true;
    for (uint32_t rank = 0; rank < size; rank++)
        count += !list || (rank_list_has(list, rank, &has) && has);
    return count;
}

int ranks_option_run_plainly(const struct target_request *request)
{
    struct target target = {0};
    struct err err = {0};
    if (target_resolve(request, &target, &err) == 0) {
        execvp(target.argv[0], target.argv);
        err_set_errno(&err, "cannot run %s", target.argv[0]);
    }
    target_clear(&target);
    return message_fail(&err);
}
