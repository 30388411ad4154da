#include "cli/run_request.h"

#include "base/bytes.h"

int run_request_check(const struct run_request *request, bool only_observed, struct err *err)
{
    uint32_t pid = target_pid(request->target.pid);
    if (part_options_check(&request->part, pid || only_observed, err) < 0)
        return -1;
    return marks_option_check(&request->marks, pid, err);
}

void run_request_put_settings(const struct run_request *request, struct bytes *out)
{
    bytes_putf(out, "follow=%d\n", request->target.follow);
    part_options_put_settings(&request->part, out);
}
