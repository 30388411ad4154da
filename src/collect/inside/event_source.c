#include "collect/inside/event_source.h"

#include "collect/inside/frame_hook.h"
#include "collect/inside/monitoring.h"
#include "collect/inside/profile_slot.h"
#include "collect/inside/tracer.h"

static bool anything_is_active(void)
{
    for (int slot = 0; slot < TRACER_TRACES; slot++)
        if (tracer.traces[slot] && tracer.traces[slot]->enabled)
            return true;
    return false;
}

int event_source_update(char *why, size_t why_bytes)
{
    bool active = anything_is_active(), c_calls = active && tracer_wants_c_calls();
    if (interpreter.has_monitoring)
        return monitoring_set(active, c_calls, why, why_bytes);
    /* The evaluation hook is cheaper, but it sees no C calls. */
    bool hook = active && !c_calls && frame_hook_is_possible();
    frame_hook_set(hook);
    return profile_slot_set(active && !hook, c_calls, why, why_bytes);
}
