#include "collect/agent/stack_sample.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/agent/extra_frames.h"
#include "store/recording.h"

enum { REGISTER_RSP = 7 }; /* as DWARF numbers it */

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

void stack_sample_find_tasks(struct stack_reader *reader, uint64_t table)
{
    struct asyncio *asyncio = &reader->asyncio;
    if (table && asyncio_read(asyncio, &reader->layout, &reader->process.memory, table))
        __atomic_store_n(&reader->tasks, asyncio, __ATOMIC_RELEASE);
}

static const struct asyncio *tasks_of(const struct stack_reader *reader)
{
    return __atomic_load_n(&reader->tasks, __ATOMIC_ACQUIRE);
}

uint64_t stack_sample_own_state(const struct stack_reader *reader)
{
    void *state = reader->current_state ? reader->current_state() : NULL;
    return (uint64_t)(state ? state : reader->thread_state());
}

/* Those of the extra rows that follow the walked frame `above`. What C code called is not the task's coroutine then,
 * but the outermost of those that are shown around it. */
static uint32_t put_extra(struct sample_slot *slot, uint32_t depth, const struct extra_rows *rows,
                          uint32_t above, uint32_t entry)
{
    for (uint32_t i = 0; rows->above == above && i < rows->count && depth < SAMPLE_AREA_DEPTH; i++) {
        slot->now[depth] = rows->frames[i];
        slot->now[depth++].code |= i ? 0 : entry;
    }
    return depth;
}

/* The walked frames as rows, outermost first, so that a common root is a common beginning; among them the extra
 * ones. Of a stack that is too deep with these the innermost frames are left out. */
static uint32_t name_frames(struct sample_area *area, struct sample_slot *slot,
                            const struct walk_process *process, uint32_t count,
                            const struct extra_frames *extra)
{
    uint32_t depth = 0;
    if (!count)
        return put_extra(slot, depth, &extra->collection, 0, 0);
    for (uint32_t i = count; i-- > 0 && depth < SAMPLE_AREA_DEPTH;) {
        const struct walk_frame *frame = &slot->walked[i];
        uint32_t entry = frame->flags & WALK_ENTRY ? SAMPLE_FRAME_ENTRY : 0, before = depth;
        depth = put_extra(slot, depth, &extra->tasks, i + 1, entry);
        if (depth > before)
            entry = 0;
        if (depth < SAMPLE_AREA_DEPTH)
            slot->now[depth++] = (struct sample_frame){
                .code = code_rows_find(&area->codes, process, frame->code) | entry, .offset = frame->offset};
        depth = put_extra(slot, depth, &extra->collection, i, 0);
    }
    return depth;
}

/* What the thread calls just now, innermost; native frames would tell themselves. */
static uint32_t put_call(struct sample_area *area, struct sample_slot *slot,
                         const struct stack_reader *reader, uint32_t depth)
{
    const char *name = reader->calls && !reader->native ? current_calls_find(reader->calls, slot->tid) : NULL;
    if (!name || depth == SAMPLE_AREA_DEPTH)
        return depth;
    uint64_t key = (uint64_t)name | 1; /* of texts only one can begin in two bytes */
    uint32_t code = code_rows_made_up(&area->codes, key, name, strlen(name), UINT32_MAX);
    if (code)
        slot->now[depth++] = (struct sample_frame){.code = code};
    return depth;
}

/* A native stack that goes with the Python frames of a sample. */
struct native_part {
    struct native_slot *slot; /* NULL = there is none */
    struct native_head head;
};

/* That of the thread which now has the slot; NULL when native stacks are not wanted. */
static struct native_slot *native_slot_of(const struct stack_reader *reader, const struct sample_area *area,
                                          const struct sample_slot *slot)
{
    if (!reader->native)
        return NULL;
    struct native_slot *native = &reader->native->area->slots[slot - area->slots];
    if (native->generation != slot->generation) {
        native->depth = 0;
        native->generation = slot->generation;
    }
    return native;
}

static bool write_sample(struct sample_area *area, struct sample_slot *slot, struct sample_record *record,
                         uint32_t depth, const struct stack_reader *reader, const struct native_part *native)
{
    uint16_t shared = 0;
    while (shared < depth && shared < slot->depth &&
           memcmp(&slot->now[shared], &slot->before[shared], sizeof slot->now[0]) == 0)
        shared++;
    record->shared = shared;
    record->frames = (uint16_t)(depth - shared);
    record->ticks = sample_area_now(area);
    record->cpu_ns = slot->cpu_now_ns - slot->cpu_ns;
    record->flags = native->slot ? SAMPLE_HAS_NATIVE : 0;
    const struct sample_part parts[] = {
        {&slot->now[shared], record->frames * sizeof slot->now[0]},
        {&native->head, sizeof native->head},
        {native->slot ? native->slot->packed : NULL, native->head.bytes},
    };
    if (!sample_area_put(slot, record, parts, native->slot ? 3 : 1)) {
        __atomic_fetch_add(&area->lost_full, record->count, __ATOMIC_RELAXED);
        if (native->slot)
            native_stack_drop(reader->native, &native->head);
        return false;
    }
    memcpy(&slot->before[shared], &slot->now[shared], record->frames * sizeof slot->now[0]);
    slot->depth = depth;
    slot->state_before = record->state;
    slot->cpu_ns = slot->cpu_now_ns;
    if (native->slot)
        native_stack_keep(native->slot, &native->head);
    return true;
}

static bool reject(struct sample_area *area, struct sample_slot *slot, enum walk_reason reason,
                   uint32_t count, uint16_t state)
{
    struct sample_record record = {
        .count = count, .ticks = sample_area_now(area), .state = state, .flags = SAMPLE_REJECTED};
    __atomic_fetch_add(&area->rejected[reason], count, __ATOMIC_RELAXED);
    return sample_area_put(slot, &record, NULL, 0);
}

/* 3.11 and 3.12 keep records on the C stack: of what is mapped there for sure no copy must be made. */
static void find_stack(struct walk_thread *thread, const struct walk_process *process,
                       struct sample_slot *slot, const ucontext_t *context)
{
    if (!context || process->layout->chain != LAYOUT_CFRAMES)
        return;
    struct walk_native_registers registers;
    walk_native_from_context(&registers, context);
    uint64_t stack_pointer = registers.value[REGISTER_RSP];
    if (!own_stack_holds(&slot->stack, stack_pointer))
        return;
    thread->stack_low = stack_pointer;
    thread->stack_high = slot->stack.high;
}

/* The frames of a thread; none for one without a state. `context`: where it was interrupted, if it is our own. */
static struct walk walk_python(const struct walk_process *process, struct sample_slot *slot, uint64_t state,
                               const ucontext_t *context)
{
    struct walk_thread thread = {.state = state, .stop_when_full = true};
    if (!state)
        return (struct walk){.status = WALK_EMPTY};
    find_stack(&thread, process, slot, context);
    return walk_frames(process, &thread, slot->walked, SAMPLE_AREA_DEPTH);
}

/* Where a thread that runs was stopped: by a signal, or from outside. One is NULL. */
struct origin {
    const ucontext_t *context;
    const struct walk_native_registers *registers;
};

static bool walk_from(const struct origin *origin, struct native_walker *walker, struct sample_slot *slot,
                      struct native_part *native)
{
    return origin->context
               ? native_stack_of_context(walker, native->slot, &slot->stack, origin->context, &native->head)
               : native_stack_of_registers(walker, native->slot, origin->registers, &native->head);
}

static bool sample_runner(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                          uint64_t state, uint32_t count, bool last_try, const struct origin *origin)
{
    struct native_part native = {.slot = native_slot_of(reader, area, slot)};
    struct walk walk = walk_python(&reader->process, slot, state, origin->context);
    if (walk.status == WALK_REJECTED && walk.reason != WALK_TOO_DEEP) {
        if (last_try)
            reject(area, slot, walk.reason, count, SAMPLE_RUNNING);
        return false;
    }
    if (native.slot && !walk_from(origin, reader->native, slot, &native))
        native.slot = NULL;
    if (!state && !native.slot) {
        __atomic_fetch_add(&area->stateless, count, __ATOMIC_RELAXED);
        return true;
    }
    slot->state = state;
    struct sample_record record = {.count = count,
                                   .state = SAMPLE_RUNNING | (walk.depth > walk.count ? SAMPLE_CUT : 0)};
    struct extra_frames extra = {0};
    if (state)
        record.state |= extra_frames_find(&extra, area, slot, &reader->process, tasks_of(reader),
                                          reader->runtime, walk.count);
    uint32_t depth = name_frames(area, slot, &reader->process, walk.count, &extra);
    depth = put_call(area, slot, reader, depth);
    if (write_sample(area, slot, &record, depth, reader, &native))
        __atomic_fetch_add(&area->taken, count, __ATOMIC_RELAXED);
    return true;
}

bool stack_sample_self(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                       uint32_t count, bool last_try, const ucontext_t *context)
{
    const struct origin origin = {.context = context};
    return sample_runner(area, slot, reader, stack_sample_own_state(reader), count, last_try, &origin);
}

bool stack_sample_runner(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                         uint64_t state, uint32_t count, bool last_try,
                         const struct walk_native_registers *registers)
{
    const struct origin origin = {.registers = registers};
    return sample_runner(area, slot, reader, state, count, last_try, &origin);
}

bool stack_sample_sleeper(struct sample_area *area, struct sample_slot *slot, struct stack_reader *reader,
                          uint32_t count, bool (*still)(void *context), void *context)
{
    struct walk_process process = reader->process;
    process.memory.own = false; /* it may wake up and free what we look at: every read must survive that */
    struct walk walk = walk_python(&process, slot, slot->state, NULL);
    if (walk.status == WALK_REJECTED)
        return still(context) && reject(area, slot, walk.reason, count, 0);
    struct extra_frames extra = {0};
    struct sample_record record = {.count = count, .state = walk.depth > walk.count ? SAMPLE_CUT : 0};
    if (slot->state)
        record.state |=
            extra_frames_find(&extra, area, slot, &process, tasks_of(reader), reader->runtime, walk.count);
    uint32_t depth = name_frames(area, slot, &process, walk.count, &extra);
    depth = put_call(area, slot, reader, depth);
    struct native_part native = {.slot = native_slot_of(reader, area, slot)};
    if (native.slot && !native_stack_of_sleeper(reader->native, native.slot, (uint32_t)area->pid,
                                                (uint32_t)slot->tid, &native.head))
        native.slot = NULL;
    if (!still(context) || (!slot->state && !native.slot)) {
        if (native.slot)
            native_stack_drop(reader->native, &native.head);
        return false;
    }
    bool written = write_sample(area, slot, &record, depth, reader, &native);
    if (written)
        area->idle += count;
    return written;
}

bool stack_sample_again(struct sample_area *area, struct sample_slot *slot, uint32_t count, bool running)
{
    struct sample_record record = {.count = count,
                                   .ticks = sample_area_now(area),
                                   .state = running ? SAMPLE_RUNNING : slot->state_before,
                                   .flags = SAMPLE_AGAIN};
    bool written = sample_area_put(slot, &record, NULL, 0);
    if (written)
        __atomic_fetch_add(running ? &area->taken : &area->idle, count, __ATOMIC_RELAXED);
    return written;
}
