#include "python/status.h"

static bool load(const struct memory *memory, uint64_t address, uint64_t *out)
{
    unsigned char copy[8];
    const unsigned char *bytes = memory_view(memory, true, address, copy, sizeof copy);
    if (bytes)
        *out = memory_word(bytes);
    return bytes;
}

static bool load_int(const struct memory *memory, uint64_t address, int32_t *out)
{
    unsigned char copy[4];
    const unsigned char *bytes = memory_view(memory, true, address, copy, sizeof copy);
    if (bytes)
        *out = memory_int(bytes);
    return bytes;
}

bool status_gil_holder(const struct layout *layout, const struct memory *memory, uint64_t runtime,
                       uint64_t interpreter, uint64_t *holder)
{
    uint64_t gil = runtime + layout->runtime_gil;
    int32_t locked;
    *holder = 0;
    if (layout->runtime_gil == LAYOUT_ABSENT && !load(memory, interpreter + layout->interpreter_gil, &gil))
        return false;
    if (!gil)
        return true; /* the interpreter is being made */
    if (!load_int(memory, gil + layout->gil_locked, &locked))
        return false;
    return locked != 1 || load(memory, gil + layout->gil_holder, holder);
}

bool status_read(const struct layout *layout, const struct memory *memory, uint64_t runtime, uint64_t state,
                 struct status *status)
{
    uint64_t interpreter, holder;
    int32_t collecting;
    *status = (struct status){0};
    if (!load(memory, state + layout->thread_interpreter, &interpreter) ||
        !status_gil_holder(layout, memory, runtime, interpreter, &holder) ||
        !load_int(memory, interpreter + layout->interpreter_collecting, &collecting))
        return false;
    status->holds_gil = holder == state;
    status->collecting = status->holds_gil && collecting;
    if (status->collecting && layout->interpreter_collecting_frame != LAYOUT_ABSENT)
        load(memory, interpreter + layout->interpreter_collecting_frame, &status->collecting_frame);
    return true;
}
