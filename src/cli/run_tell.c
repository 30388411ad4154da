#include "cli/run_tell.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "cli/installation.h"
#include "cli/message.h"
#include "cli/run.h"
#include "cli/target.h"
#include "cli/unrecorded.h"

void run_tell_stopped(uint32_t pid, const char *verb)
{
    message_warn("process %" PRIu32
                 " %s stopped (by SIGSTOP, Ctrl-Z or a debugger), and gives no samples until it goes "
                 "on: kill -CONT %" PRIu32,
                 pid, verb, pid);
}

void run_tell_refusal(uint64_t pid, bool is_target, const char *why)
{
    if (is_target)
        message_warn("this interpreter cannot be recorded: %s", why);
    else
        message_warn("process %" PRIu64 " runs without being recorded: %s", pid, why);
}

void run_tell_unrecorded(const struct target *target, const struct installation *installation)
{
    struct bytes why = {0};
    unrecorded_explain(target->argv[0], installation->agent, &why);
    message_warn("no Python program was recorded, so there is no recording: %.*s", (int)why.size,
                 why.failed ? "" : (char *)why.data);
    bytes_clear(&why);
}
