#include "python/threads.h"

#include "python/status.h"

/* A list that is longer is taken for a loop. */
enum { MOST_THREADS = 1 << 16 };

struct listing {
    const struct layout *layout;
    const struct memory *memory;
    uint64_t runtime;
    struct threads_row *rows;
    size_t capacity;
    size_t count;
};

static bool add_thread(struct listing *listing, const struct threads_row *like, uint64_t state,
                       uint64_t holder)
{
    const struct layout *layout = listing->layout;
    struct threads_row row = *like;
    row.state = state;
    row.holds_gil = state == holder;
    if (!memory_read_word(listing->memory, state + layout->thread_id, &row.thread_id))
        return false;
    if (layout->thread_native_id != LAYOUT_ABSENT &&
        !memory_read_word(listing->memory, state + layout->thread_native_id, &row.native_id))
        return false;
    if (listing->count < listing->capacity)
        listing->rows[listing->count] = row;
    return ++listing->count < MOST_THREADS;
}

static bool add_interpreter(struct listing *listing, uint64_t interpreter)
{
    const struct layout *layout = listing->layout;
    struct threads_row row = {.interpreter = interpreter};
    uint64_t state, holder, id;
    if (!memory_read_word(listing->memory, interpreter + layout->interpreter_id, &id) ||
        !memory_read_word(listing->memory, interpreter + layout->interpreter_threads, &state) ||
        !status_gil_holder(listing->layout, listing->memory, listing->runtime, interpreter, &holder))
        return false;
    row.interpreter_id = (int64_t)id;
    while (state) {
        if (!add_thread(listing, &row, state, holder) ||
            !memory_read_word(listing->memory, state + layout->thread_next, &state))
            return false;
    }
    return true;
}

ssize_t threads_list(const struct layout *layout, const struct memory *memory, uint64_t runtime,
                     struct threads_row *rows, size_t capacity)
{
    struct listing listing = {
        .layout = layout, .memory = memory, .runtime = runtime, .rows = rows, .capacity = capacity};
    uint64_t interpreter;
    if (!memory_read_word(memory, runtime + layout->runtime_interpreters, &interpreter))
        return -1;
    for (int seen = 0; interpreter; seen++) {
        if (seen == MOST_THREADS || !add_interpreter(&listing, interpreter) ||
            !memory_read_word(memory, interpreter + layout->interpreter_next, &interpreter))
            return -1;
    }
    return (ssize_t)listing.count;
}
