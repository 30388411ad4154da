#include "cli/run_request.h"

#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

int run_request_check(const struct run_request *request, bool only_observed, struct err *err)
{
    uint32_t pid = target_pid(request->target.pid);
    if (part_options_check(&request->part, pid || only_observed, err) < 0)
        return -1;
    return marks_option_check(&request->marks, pid, err);
}

int run_request_check_with(const struct option_list *with, const char *command, struct err *err)
{
    for (size_t i = 0; i < with->count; i++)
        if (strcmp(with->items[i], "trace") != 0)
            return err_set(err, "there is no collector '%s' to go with %s; --with knows: trace",
                           with->items[i], command);
    return 0;
}

void run_request_put_settings(const struct run_request *request, struct bytes *out)
{
    bytes_putf(out, "follow=%d\n", request->target.follow);
    part_options_put_settings(&request->part, out);
}
