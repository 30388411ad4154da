#include "cli/ranks_option.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rank.h"
#include "cli/message.h"
#include "cli/target.h"

/* A number at `at`; NULL when there is none, else where it ends. */
static const char *read_number(const char *at, uint32_t *number)
{
    char *end;
    if (*at < '0' || *at > '9')
        return NULL;
    unsigned long value = strtoul(at, &end, 10);
    *number = (uint32_t)value;
    return value < RANK_NONE ? end : NULL;
}

int ranks_option_has(const char *list, uint32_t rank, bool *has, struct err *err)
{
    const char *at = list;
    *has = !list;
    while (at) {
        uint32_t first, last;
        at = read_number(at, &first);
        last = first;
        if (at && *at == '-')
            at = read_number(at + 1, &last);
        if (!at || last < first || (*at && *at != ','))
            return err_set(err, "--ranks must be a list such as 0,7,100-115, which '%s' is not", list);
        *has |= rank >= first && rank <= last;
        at = *at ? at + 1 : NULL;
    }
    return 0;
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
