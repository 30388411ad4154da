#include "collect/agent/stack_sample.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/agent/extra_frames.h"
#include "store/recording.h"

/* Before 3.11 a thread state names its thread by the pthread_t alone. That is a pointer, and somewhere behind it
 * lies the kernel's number: where, our own tells. */
static uint32_t find_tid_offset(void)
{
    const int32_t *words = (const int32_t *)pthread_self();
    int32_t tid = (int32_t)syscall(SYS_gettid);
    for (uint32_t i = 0x80; i < 0x100; i++)
        if (words[i] == tid)
            return i * sizeof *words;
    return 0;
}

const char *stack_sample_init(struct stack_reader *reader)
{
    static struct err err;
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    reader->runtime = (uint64_t)dlsym(RTLD_DEFAULT, "_PyRuntime");
    *(void **)&reader->thread_state = dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (!version || !reader->runtime || !reader->thread_state)
        return "its interpreter exports too little to be sampled";
    reader->tid_offset = find_tid_offset();
    reader->process.memory = memory_own();
    reader->process.layout = &reader->layout;
    reader->process.codes = &reader->codes;
    reader->process.code_type = (uint64_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
    reader->process.frame_type = (uint64_t)dlsym(RTLD_DEFAULT, "PyFrame_Type");
    if (layouts_read(&reader->process.memory, reader->runtime, layouts_version(version()), &reader->layout,
                     &err) < 0 ||
        layouts_check(&reader->layout, &reader->process.memory, reader->process.code_type, &err) < 0)
        return err.text;
    /* Up to 3.11 the unchecked function gives the holder of the lock, not the calling thread's state. */
    if (layout_minor(&reader->layout) >= 12) {
        *(void **)&reader->current_state = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
        if (!reader->current_state)
            *(void **)&reader->current_state = dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
    }
    return NULL;
}

static uint64_t own_state(const struct stack_reader *reader)
{
    void *state = reader->current_state ? reader->current_state() : NULL;
    return (uint64_t)(state ? state : reader->thread_state());
}

/* The walked frames as rows, outermost first, so that a common root is a common beginning; among them the extra
 * ones. Of a stack that is too deep with these the innermost frames are left out. */
static uint32_t name_frames(struct sample_area *area, struct sample_slot *slot,
                            const struct walk_process *process, uint32_t count,
                            const struct extra_frames *extra)
{
    uint32_t depth = 0;
    for (uint32_t j = 0; !count && j < extra->count; j++)
        slot->now[depth++] = extra->frames[j];
    for (uint32_t i = count; i-- > 0 && depth < SAMPLE_AREA_DEPTH;) {
        const struct walk_frame *frame = &slot->walked[i];
        slot->now[depth++] = (struct sample_frame){.code = sample_area_code(area, process, frame->code),
                                                   .offset = frame->offset};
        for (uint32_t j = 0; extra->above == i && j < extra->count && depth < SAMPLE_AREA_DEPTH; j++)
            slot->now[depth++] = extra->frames[j];
    }
    return depth;
}

static bool write_sample(struct sample_area *area, struct sample_slot *slot, struct sample_record *record,
                         uint32_t depth)
{
    uint32_t shared = 0;
    while (shared < depth && shared < slot->depth &&
           memcmp(&slot->now[shared], &slot->before[shared], sizeof slot->now[0]) == 0)
        shared++;
    record->shared = shared;
    record->ticks = sample_area_now(area);
    record->bytes = (uint32_t)(sizeof *record + (depth - shared) * sizeof slot->now[0]);
    if (!sample_area_put(slot, record, &slot->now[shared])) {
        __atomic_fetch_add(&area->lost_full, record->count, __ATOMIC_RELAXED);
        return false;
    }
    memcpy(&slot->before[shared], &slot->now[shared], (depth - shared) * sizeof slot->now[0]);
    slot->depth = depth;
    slot->state_before = record->state;
    return true;
}

static bool reject(struct sample_area *area, struct sample_slot *slot, enum walk_reason reason,
                   uint32_t count, uint16_t state)
{
    struct sample_record record = {.bytes = sizeof record,
                                   .count = count,
                                   .ticks = sample_area_now(area),
                                   .state = state,
                                   .flags = SAMPLE_REJECTED};
    __atomic_fetch_add(&area->rejected[reason], count, __ATOMIC_RELAXED);
    return sample_area_put(slot, &record, NULL);
}

bool stack_sample_self(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                       uint32_t count, bool last_try)
{
    return stack_sample_runner(area, slot, reader, own_state(reader), count, last_try);
}

bool stack_sample_runner(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                         uint64_t state, uint32_t count, bool last_try)
{
    if (!state) {
        __atomic_fetch_add(&area->stateless, count, __ATOMIC_RELAXED);
        return true;
    }
    slot->state = state;
    struct walk_thread thread = {.state = state};
    struct walk walk = walk_frames(&reader->process, &thread, slot->walked, SAMPLE_AREA_DEPTH);
    if (walk.status == WALK_REJECTED && walk.reason != WALK_TOO_DEEP) {
        if (last_try)
            reject(area, slot, walk.reason, count, SAMPLE_RUNNING);
        return false;
    }
    struct sample_record record = {.count = count, .state = SAMPLE_RUNNING};
    if (walk.depth > walk.count)
        record.state |= SAMPLE_CUT;
    struct extra_frames extra;
    record.state |= extra_frames_find(&extra, area, slot, &reader->process, reader->runtime, walk.count);
    uint32_t depth = name_frames(area, slot, &reader->process, walk.count, &extra);
    if (write_sample(area, slot, &record, depth))
        __atomic_fetch_add(&area->taken, count, __ATOMIC_RELAXED);
    return true;
}

bool stack_sample_sleeper(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                          uint32_t count, bool (*still)(void *context), void *context)
{
    struct walk_thread thread = {.state = slot->state};
    struct walk_process process = reader->process;
    process.memory.own = false; /* it may wake up and free what we look at: every read must survive that */
    struct walk walk = walk_frames(&process, &thread, slot->walked, SAMPLE_AREA_DEPTH);
    if (walk.status == WALK_REJECTED)
        return still(context) && reject(area, slot, walk.reason, count, 0);
    struct extra_frames extra;
    struct sample_record record = {.count = count};
    record.state = extra_frames_find(&extra, area, slot, &process, reader->runtime, walk.count);
    uint32_t depth = name_frames(area, slot, &process, walk.count, &extra);
    if (!still(context))
        return false;
    bool written = write_sample(area, slot, &record, depth);
    if (written)
        area->idle += count;
    return written;
}

bool stack_sample_again(struct sample_area *area, struct sample_slot *slot, uint32_t count, bool running)
{
    struct sample_record record = {.bytes = sizeof record,
                                   .count = count,
                                   .ticks = sample_area_now(area),
                                   .shared = slot->depth,
                                   .state = running ? SAMPLE_RUNNING : slot->state_before};
    bool written = sample_area_put(slot, &record, NULL);
    if (written)
        __atomic_fetch_add(running ? &area->taken : &area->idle, count, __ATOMIC_RELAXED);
    return written;
}
