#include "collect/agent/state_list.h"

#include "collect/agent/stack_sample.h"

/* From 3.11 on a thread state holds the kernel's number of its thread, before that only the pthread_t. */
static uint32_t tid_of(const struct stack_reader *reader, const struct memory *memory, const uint8_t *state)
{
    const struct layout *layout = &reader->layout;
    uint64_t number = 0;
    if (layout->thread_native_id != LAYOUT_ABSENT)
        return (uint32_t)memory_word(state + layout->thread_native_id);
    if (reader->tid_offset)
        memory_read_word(memory, memory_word(state + layout->thread_id) + reader->tid_offset, &number);
    return (uint32_t)number;
}

/* As much of a state as is needed, in one read. */
static size_t size_needed(const struct layout *layout)
{
    uint32_t last = layout->thread_next > layout->thread_id ? layout->thread_next : layout->thread_id;
    if (layout->thread_native_id != LAYOUT_ABSENT && layout->thread_native_id > last)
        last = layout->thread_native_id;
    return last + sizeof(uint64_t);
}

static void list_states(struct state_list *list, const struct stack_reader *reader,
                        const struct memory *memory, uint64_t state)
{
    uint8_t bytes[LAYOUT_THREAD_LIMIT];
    size_t size = size_needed(&reader->layout);
    while (state && list->count < STATE_LIST_MAX && size <= sizeof bytes &&
           memory_read(memory, state, bytes, size)) {
        list->rows[list->count++] = (struct state_row){state, tid_of(reader, memory, bytes)};
        state = memory_word(bytes + reader->layout.thread_next);
    }
}

static void list_all(struct state_list *list, const struct stack_reader *reader)
{
    const struct layout *layout = &reader->layout;
    struct memory memory = reader->process.memory;
    uint64_t interpreter, state;
    memory.own = false;
    list->count = 0;
    if (!memory_read_word(&memory, reader->runtime + layout->runtime_interpreters, &interpreter))
        return;
    for (int count = 0; interpreter && count < STATE_LIST_MAX; count++) {
        if (!memory_read_word(&memory, interpreter + layout->interpreter_threads, &state))
            return;
        list_states(list, reader, &memory, state);
        if (!memory_read_word(&memory, interpreter + layout->interpreter_next, &interpreter))
            return;
    }
}

/* The oldest of those that name the thread: a new thread's state bears its maker's number until the thread runs. */
uint64_t state_list_find(struct state_list *list, const struct stack_reader *reader, uint32_t tid,
                         uint64_t look)
{
    if (list->look != look + 1)
        list_all(list, reader);
    list->look = look + 1;
    for (uint32_t i = list->count; i-- > 0;)
        if (list->rows[i].tid == tid)
            return list->rows[i].state;
    return 0;
}
