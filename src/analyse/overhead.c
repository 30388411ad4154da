#include "analyse/overhead.h"

#include <stdlib.h>

#include "analyse/functions.h"
#include "store/recording.h"

struct overhead overhead_of(const struct recording *recording, const struct functions *functions)
{
    const char *text = recording_meta(recording, "overhead_ns");
    const char *elapsed = functions->sampled ? recording_meta(recording, "elapsed_ns") : NULL;
    double ns = text ? strtod(text, NULL) : 0;
    double total_ns = measure_is_memory(functions->measure) ? 0 : (double)functions->whole;
    double whole_ns = elapsed ? strtod(elapsed, NULL) : total_ns;
    if (!(ns > 0 && whole_ns > 0))
        return (struct overhead){0};
    return (struct overhead){ns, ns / whole_ns};
}
