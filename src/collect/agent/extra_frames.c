#include "collect/agent/extra_frames.h"

#include "python/status.h"
#include "store/recording.h"

#define COLLECTION_KEY 1u /* odd and no address */

/* Where the collection began. Before 3.15 nobody says: then it is the innermost frame, and so may be shown inside a
 * finaliser that it runs. */
static uint32_t collecting_frame(const struct status *status, const struct sample_slot *slot, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (slot->walked[i].frame == status->collecting_frame)
            return i;
    return 0;
}

uint16_t extra_frames_find(struct extra_frames *extra, struct sample_area *area,
                           const struct sample_slot *slot, const struct walk_process *process,
                           uint64_t runtime, uint32_t count)
{
    static const char collection[] = "<garbage collection>";
    struct status status;
    extra->count = 0;
    extra->above = 0;
    if (!status_read(process->layout, &process->memory, runtime, slot->state, &status))
        return 0;
    if (status.collecting) {
        extra->above = collecting_frame(&status, slot, count);
        extra->frames[extra->count++] = (struct sample_frame){
            .code = sample_area_made_up(area, COLLECTION_KEY, collection, sizeof collection - 1)};
    }
    return (status.holds_gil ? SAMPLE_GIL : 0) | (status.collecting ? SAMPLE_GC : 0);
}
