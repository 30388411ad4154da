#include "collect/agent/extra_frames.h"

#include "python/status.h"
#include "store/recording.h"

#define COLLECTION_KEY 1u /* odd and no address */

/* Tasks in a chain, and coroutines of one of them. */
enum { TASKS_MAX = 16, COROUTINES_MAX = 32, TASK_NAMES_MAX = 1024 };

/* Where the collection began. Before 3.15 nobody says: then it is the innermost frame, and so may be shown inside a
 * finaliser that it runs. */
static uint32_t collecting_frame(const struct status *status, const struct sample_slot *slot, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (slot->walked[i].frame == status->collecting_frame)
            return i;
    return 0;
}

/* ---- tasks ---- */

/* A chain in the making, innermost first. */
struct chain {
    struct sample_area *area;
    const struct asyncio *asyncio;
    struct walk_process process;
    struct memory careful; /* that survives any address */
    uint32_t count;
    struct sample_frame frames[EXTRA_FRAMES_MAX];
};

static void put(struct chain *chain, uint32_t code, int32_t offset)
{
    if (chain->count < EXTRA_FRAMES_MAX)
        chain->frames[chain->count++] = (struct sample_frame){.code = code, .offset = offset};
}

/* Odd, so that it is no address. */
static uint64_t key_of(const char *name, size_t size)
{
    uint64_t key = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        key = (key ^ (unsigned char)name[i]) * 0x100000001b3u;
    return key | 1;
}

/* Numbers are no names: every task has another, and the same work would be in as many places. A program that gives
 * each task a name of its own ends up without, too, before the table of functions is full. */
static void put_name(struct chain *chain, const struct asyncio_task *task)
{
    char name[ASYNCIO_NAME_BYTES + sizeof "<task >"] = "<task ";
    size_t at = sizeof "<task " - 1;
    bool chosen;
    ssize_t size = asyncio_name(chain->asyncio, &chain->process.memory, task, name + at, &chosen);
    if (size <= 0 || !chosen)
        return;
    name[at + (size_t)size] = '>';
    size_t bytes = at + (size_t)size + 1;
    uint32_t code = code_rows_made_up(&chain->area->codes, key_of(name, bytes), name, bytes, TASK_NAMES_MAX);
    if (code)
        put(chain, code, 0);
}

static bool is_walked(const struct sample_slot *slot, uint32_t count, uint64_t frame, uint32_t *index)
{
    for (*index = 0; *index < count; ++*index)
        if (slot->walked[*index].frame == frame)
            return true;
    return false;
}

/* A task that waits: its coroutines, then its name outside of them. */
static void put_waiting_task(struct chain *chain, const struct asyncio_task *task)
{
    struct walk_frame frames[COROUTINES_MAX];
    uint32_t count = asyncio_stack(chain->asyncio, &chain->process.memory, task, frames, COROUTINES_MAX);
    for (uint32_t i = count; i-- > 0;)
        put(chain, code_rows_find(&chain->area->codes, &chain->process, frames[i].code), frames[i].offset);
    put_name(chain, task);
}

static bool is_known(const uint64_t *tasks, uint32_t count, uint64_t task)
{
    for (uint32_t i = 0; i < count; i++)
        if (tasks[i] == task)
            return true;
    return false;
}

/* From the running task outwards. Ends at a task that is on the stack already (it began the running one eagerly), at
 * one that was met before, and where the room ends. */
static void put_awaiters(struct chain *chain, const struct sample_slot *slot, uint32_t count,
                         struct asyncio_task task)
{
    const struct memory *memory = &chain->process.memory;
    uint64_t met[TASKS_MAX];
    uint32_t index;
    for (uint32_t i = 0; i < TASKS_MAX && chain->count < EXTRA_FRAMES_MAX; i++) {
        met[i] = task.address;
        if (task.awaited_by_is_set)
            chain->process.memory = chain->careful;
        uint64_t parent = asyncio_parent(chain->asyncio, memory, &task);
        if (is_known(met, i + 1, parent) || !asyncio_read_task(chain->asyncio, memory, parent, &task) ||
            is_walked(slot, count, asyncio_frame(chain->asyncio, task.coroutine), &index))
            return;
        put_waiting_task(chain, &task);
    }
}

static void find_tasks(struct extra_rows *rows, struct sample_area *area, const struct sample_slot *slot,
                       const struct walk_process *process, const struct asyncio *asyncio, uint32_t count,
                       bool holds_lock)
{
    uint64_t running = asyncio_running(asyncio, &process->memory, slot->state);
    struct chain chain = {.area = area, .asyncio = asyncio, .process = *process};
    struct asyncio_task task;
    uint32_t index;
    chain.careful = process->memory;
    chain.careful.own = false;
    /* Nobody else can change objects then. A system call for each would cost more than all the rest. */
    chain.process.memory = process->memory.own && holds_lock ? memory_own_alive() : chain.careful;
    /* Before its first step and after its last one a task has no frame on the stack. */
    if (!running || !asyncio_read_task(asyncio, &chain.process.memory, running, &task) ||
        !is_walked(slot, count, asyncio_frame(asyncio, task.coroutine), &index))
        return;
    put_name(&chain, &task);
    put_awaiters(&chain, slot, count, task);
    rows->above = index + 1;
    for (uint32_t i = chain.count; i-- > 0;)
        rows->frames[rows->count++] = chain.frames[i];
}

uint16_t extra_frames_find(struct extra_frames *extra, struct sample_area *area,
                           const struct sample_slot *slot, const struct walk_process *process,
                           const struct asyncio *asyncio, uint64_t runtime, uint32_t count)
{
    static const char collection[] = "<garbage collection>";
    struct status status;
    extra->collection.count = extra->tasks.count = 0;
    bool known = status_read(process->layout, &process->memory, runtime, slot->state, &status);
    if (asyncio)
        find_tasks(&extra->tasks, area, slot, process, asyncio, count, known && status.holds_gil);
    if (!known)
        return 0;
    if (status.collecting) {
        extra->collection.above = collecting_frame(&status, slot, count);
        extra->collection.frames[extra->collection.count++] =
            (struct sample_frame){.code = code_rows_made_up(&area->codes, COLLECTION_KEY, collection,
                                                            sizeof collection - 1, UINT32_MAX)};
    }
    return (status.holds_gil ? SAMPLE_GIL : 0) | (status.collecting ? SAMPLE_GC : 0);
}
