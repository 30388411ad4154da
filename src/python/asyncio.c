#include "python/asyncio.h"

#include "python/names.h"

/* The most that is believed. */
enum { TASK_BYTES_MAX = 1024, STATE_BYTES_MAX = 4 << 20, TASKS_MAX = 1 << 20, SET_SLOTS_SEEN = 128 };
enum {
    LINKS_MAX = 3,
    BASES_MAX = 8,
    TYPE_NAME_BYTES = 32,
    PAGE_BYTES = 4096,
    SET_ENTRY_BYTES = 16,
    MOST_CODE_BYTES = 1 << 26
};

/* Flags of a type (Include/object.h). */
enum { IS_INT = 1 << 24, IS_TEXT = 1 << 28 };

static bool fits(uint32_t offset, size_t bytes, uint32_t size)
{
    return offset <= size && bytes <= size - offset;
}

static bool is_sound(const struct asyncio *a)
{
    return a->task_size <= TASK_BYTES_MAX && a->interpreter_size <= STATE_BYTES_MAX &&
           a->thread_size <= STATE_BYTES_MAX && fits(a->task_name, 8, a->task_size) &&
           fits(a->task_awaited_by, 8, a->task_size) && fits(a->task_is_task, 1, a->task_size) &&
           fits(a->task_awaited_by_is_set, 1, a->task_size) && fits(a->task_coroutine, 8, a->task_size) &&
           fits(a->task_node, 16, a->task_size) && fits(a->interpreter_tasks, 16, a->interpreter_size) &&
           fits(a->thread_running_loop, 8, a->thread_size) &&
           fits(a->thread_running_task, 8, a->thread_size) && fits(a->thread_tasks, 16, a->thread_size);
}

bool asyncio_read(struct asyncio *asyncio, const struct layout *layout, const struct memory *memory,
                  uint64_t table)
{
    struct {
#define WORD(name) uint64_t name;
        ASYNCIO_FIELDS(WORD)
#undef WORD
    } words;
    *asyncio = (struct asyncio){0};
    if (layout_minor(layout) < ASYNCIO_FIRST_MINOR || !memory_read(memory, table, &words, sizeof words))
        return false;
    struct asyncio read = {.layout = layout};
#define TAKE(name) read.name = words.name > STATE_BYTES_MAX ? UINT32_MAX : (uint32_t)words.name;
    ASYNCIO_FIELDS(TAKE)
#undef TAKE
    if (!is_sound(&read))
        return false;
    *asyncio = read;
    return true;
}

uint64_t asyncio_running(const struct asyncio *asyncio, const struct memory *memory, uint64_t state)
{
    unsigned char copy[8];
    const unsigned char *word =
        memory_view(memory, true, state + asyncio->thread_running_task, copy, sizeof copy);
    return word ? memory_word(word) : 0;
}

/* No further than its end: behind it nothing may be mapped. */
static bool read_type_name(const struct layout *layout, const struct memory *memory, uint64_t type,
                           char out[TYPE_NAME_BYTES])
{
    uint64_t name;
    if (!memory_read_word(memory, type + layout->type_name, &name))
        return false;
    size_t first = PAGE_BYTES - name % PAGE_BYTES;
    if (first >= TYPE_NAME_BYTES)
        return memory_read(memory, name, out, TYPE_NAME_BYTES);
    return memory_read(memory, name, out, first) &&
           (memchr(out, '\0', first) ||
            memory_read(memory, name + first, out + first, TYPE_NAME_BYTES - first));
}

static bool is_named(const char *name, const char *other)
{
    return strncmp(name, other, TYPE_NAME_BYTES) == 0;
}

/* A task, a future, or an instance of a class that is derived from one. A set may be met here that has just taken the
 * place of a single awaiter. */
static bool is_future(const struct layout *layout, const struct memory *memory, uint64_t object)
{
    uint64_t type;
    char name[TYPE_NAME_BYTES];
    if (!memory_read_word(memory, object + layout->object_type, &type))
        return false;
    for (int i = 0; type && i < BASES_MAX; i++) {
        if (!read_type_name(layout, memory, type, name))
            return false;
        if (is_named(name, "_asyncio.Task") || is_named(name, "_asyncio.Future"))
            return true;
        if (!memory_read_word(memory, type + layout->type_dictionary - 8, &type)) /* its base */
            return false;
    }
    return false;
}

/* Tasks begin as futures do. */
static uint32_t end_of_future(const struct asyncio *asyncio)
{
    uint32_t end = asyncio->task_awaited_by + 8;
    end = asyncio->task_is_task >= end ? asyncio->task_is_task + 1 : end;
    return asyncio->task_awaited_by_is_set >= end ? asyncio->task_awaited_by_is_set + 1 : end;
}

bool asyncio_read_task(const struct asyncio *asyncio, const struct memory *memory, uint64_t address,
                       struct asyncio_task *task)
{
    unsigned char bytes[TASK_BYTES_MAX];
    uint32_t common = end_of_future(asyncio);
    if (!address || address % 8 || !is_future(asyncio->layout, memory, address) ||
        !memory_read(memory, address, bytes, common))
        return false;
    bool is_task = bytes[asyncio->task_is_task];
    if (is_task && !memory_read(memory, address + common, bytes + common, asyncio->task_size - common))
        return false;
    *task = (struct asyncio_task){
        .address = address,
        .awaited_by = memory_word(bytes + asyncio->task_awaited_by),
        .awaited_by_is_set = bytes[asyncio->task_awaited_by_is_set],
        .name = is_task ? memory_word(bytes + asyncio->task_name) : 0,
        .coroutine = is_task ? memory_word(bytes + asyncio->task_coroutine) : 0,
    };
    return true;
}

/* ---- names ---- */

static bool is_numbered(const char *name, size_t size)
{
    static const char prefix[] = "Task-";
    size_t at = sizeof prefix - 1;
    if (size <= at || memcmp(name, prefix, at) != 0)
        return false;
    while (at < size && name[at] >= '0' && name[at] <= '9')
        at++;
    return at == size;
}

/* A task has only a number until somebody asks for its name. */
static ssize_t name_by_number(const struct layout *layout, const struct memory *memory, uint64_t number,
                              char out[ASYNCIO_NAME_BYTES])
{
    uint32_t digits[2] = {0};
    uint64_t tag;
    if (!memory_read_word(memory, number + layout->int_tag, &tag) || tag >> 3 > 2 ||
        !memory_read(memory, number + layout->int_digits, digits, (tag >> 3) * sizeof *digits))
        return -1;
    char text[24];
    size_t used = 0, size = sizeof "Task-" - 1;
    uint64_t value = (uint64_t)digits[1] << 30 | digits[0];
    do
        text[used++] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(out, "Task-", size);
    while (used)
        out[size++] = text[--used];
    return (ssize_t)size;
}

ssize_t asyncio_name(const struct asyncio *asyncio, const struct memory *memory,
                     const struct asyncio_task *task, char out[ASYNCIO_NAME_BYTES], bool *chosen)
{
    const struct layout *layout = asyncio->layout;
    uint64_t type, flags;
    *chosen = false;
    if (!task->name || !memory_read_word(memory, task->name + layout->object_type, &type) ||
        !memory_read_word(memory, type + layout->type_flags, &flags))
        return -1;
    if (flags & IS_INT)
        return name_by_number(layout, memory, task->name, out);
    if (!(flags & IS_TEXT))
        return -1;
    ssize_t size = names_text(layout, memory, task->name, out, ASYNCIO_NAME_BYTES);
    *chosen = size > 0 && !is_numbered(out, (size_t)size);
    return size;
}

/* ---- who awaits ---- */

uint32_t asyncio_awaiters(const struct asyncio *asyncio, const struct memory *memory,
                          const struct asyncio_task *task, uint64_t *out, uint32_t capacity)
{
    const struct layout *layout = asyncio->layout;
    uint64_t mask, table, slots[SET_SLOTS_SEEN * SET_ENTRY_BYTES / 8];
    uint32_t count = 0;
    if (task->awaited_by && !task->awaited_by_is_set) {
        if (capacity)
            out[0] = task->awaited_by;
        return 1;
    }
    if (!task->awaited_by || !memory_read_word(memory, task->awaited_by + layout->set_mask, &mask) ||
        !memory_read_word(memory, task->awaited_by + layout->set_table, &table))
        return 0;
    uint64_t seen = mask < SET_SLOTS_SEEN ? mask + 1 : SET_SLOTS_SEEN;
    if (!memory_read(memory, table, slots, seen * SET_ENTRY_BYTES))
        return 0;
    for (uint64_t i = 0; i < seen; i++) {
        uint64_t key = slots[2 * i], hash = slots[2 * i + 1];
        if (!key || hash == UINT64_MAX) /* free, or was left */
            continue;
        if (count < capacity)
            out[count] = key;
        count++;
    }
    return count;
}

uint64_t asyncio_parent(const struct asyncio *asyncio, const struct memory *memory,
                        const struct asyncio_task *task)
{
    uint64_t awaiters[SET_SLOTS_SEEN], lowest = 0;
    uint32_t count = asyncio_awaiters(asyncio, memory, task, awaiters, SET_SLOTS_SEEN);
    for (uint32_t i = 0; i < count; i++)
        if (!lowest || awaiters[i] < lowest)
            lowest = awaiters[i];
    return lowest;
}

/* ---- where a task waits ---- */

enum standing { RUNS_OR_ENDED, WAITS, AWAITS_ANOTHER };

/* The states of a generator (pycore_frame.h). */
static enum standing standing_of(const struct layout *layout, unsigned char state)
{
    bool first = layout_minor(layout) == ASYNCIO_FIRST_MINOR;
    int created = first ? -3 : 0, suspended = first ? -2 : 1, awaits = first ? -1 : 2,
        locked = first ? -1 : 3;
    int value = (signed char)state;
    if (value == awaits || value == locked)
        return AWAITS_ANOTHER;
    return value == created || value == suspended ? WAITS : RUNS_OR_ENDED;
}

/* One coroutine, generator or asynchronous generator that waits, and where the object lies that it awaits (0 = it
 * awaits none). */
static enum standing read_coroutine(const struct asyncio *asyncio, const struct memory *memory,
                                    uint64_t address, struct walk_frame *frame, uint64_t *awaited_at)
{
    const struct layout *layout = asyncio->layout;
    unsigned char state, bytes[LAYOUT_FRAME_LIMIT];
    uint64_t at = asyncio_frame(asyncio, address);
    *awaited_at = 0;
    if (!address || address % 8 || !memory_read(memory, address + layout->generator_state, &state, 1) ||
        !memory_read(memory, at, bytes, layout->frame_locals))
        return RUNS_OR_ENDED;
    enum standing standing = standing_of(layout, state);
    uint64_t code = memory_word(bytes + layout->frame_code) & ~(uint64_t)7;
    uint64_t offset = memory_word(bytes + layout->frame_instruction) - code - layout->code_instructions;
    if (bytes[layout->frame_owner] != LAYOUT_OWNED_BY_GENERATOR || !code ||
        (offset > MOST_CODE_BYTES && offset != (uint64_t)-2))
        return RUNS_OR_ENDED;
    *frame =
        (struct walk_frame){.code = code, .frame = at, .offset = (int32_t)offset, .flags = WALK_GENERATOR};
    /* What it awaits lies on its stack: on top in 3.14, from 3.15 on below an index. */
    if (standing == AWAITS_ANOTHER)
        *awaited_at = memory_word(bytes + layout->frame_stack_pointer) -
                      (layout_minor(layout) == ASYNCIO_FIRST_MINOR ? 8 : 16);
    return standing;
}

/* The coroutine behind what is awaited: itself, or what its wrapper names first. 0 when it is something else. */
static uint64_t coroutine_of(const struct asyncio *asyncio, const struct memory *memory, uint64_t object,
                             uint64_t coroutine_type)
{
    const struct layout *layout = asyncio->layout;
    for (int i = 0; i < LINKS_MAX; i++) {
        uint64_t type;
        char text[TYPE_NAME_BYTES];
        if (!object || !memory_read_word(memory, object + layout->object_type, &type))
            return 0;
        if (type == coroutine_type)
            return object;
        if (!read_type_name(layout, memory, type, text))
            return 0;
        if (is_named(text, "coroutine") || is_named(text, "generator") || is_named(text, "async_generator"))
            return object;
        if (!is_named(text, "coroutine_wrapper") && !is_named(text, "async_generator_asend") &&
            !is_named(text, "async_generator_athrow"))
            return 0;
        if (!memory_read_word(memory, object + layout->object_type + 8, &object))
            return 0;
    }
    return 0;
}

uint32_t asyncio_stack(const struct asyncio *asyncio, const struct memory *memory,
                       const struct asyncio_task *task, struct walk_frame *frames, uint32_t capacity)
{
    uint64_t coroutine = task->coroutine, type, awaited_at, awaited;
    uint32_t count = 0;
    if (!coroutine || !memory_read_word(memory, coroutine + asyncio->layout->object_type, &type) ||
        !coroutine_of(asyncio, memory, coroutine, 0))
        return 0; /* a coroutine of Cython's, or of somebody else's making */
    while (coroutine && count < capacity) {
        if (read_coroutine(asyncio, memory, coroutine, &frames[count], &awaited_at) == RUNS_OR_ENDED)
            break;
        count++;
        if (!awaited_at || !memory_read_word(memory, awaited_at, &awaited) || (awaited & 3) == 3)
            break; /* the last: a number, not an object */
        coroutine = coroutine_of(asyncio, memory, awaited & ~(uint64_t)7, type);
    }
    return count;
}

/* ---- all of them ---- */

ssize_t asyncio_tasks(const struct asyncio *asyncio, const struct memory *memory, uint64_t state,
                      uint64_t *out, size_t capacity)
{
    uint64_t head = state + asyncio->thread_tasks, node;
    size_t count = 0;
    if (!memory_read_word(memory, head, &node)) /* a ring: next, previous */
        return -1;
    while (node && node != head) {
        if (count >= TASKS_MAX)
            return -1;
        if (count < capacity)
            out[count] = node - asyncio->task_node;
        count++;
        if (!memory_read_word(memory, node, &node))
            return -1;
    }
    return (ssize_t)count;
}
