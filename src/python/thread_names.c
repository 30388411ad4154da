#include "python/thread_names.h"

#include "python/dictionary.h"
#include "python/names.h"

enum { DIGIT_BITS = 30, MOST_DIGITS = 3 /* of a thread's number */ };

bool thread_names_find(struct thread_names *names, const struct layout *layout, const struct memory *memory,
                       uint64_t state)
{
    struct dictionary modules, threading;
    uint64_t interpreter, dict;
    if (!memory_read_word(memory, state + layout->thread_interpreter, &interpreter))
        return false;
    if (names->active && names->interpreter == interpreter)
        return true;
    *names = (struct thread_names){.interpreter = interpreter};
    if (!memory_read_word(memory, interpreter + layout->interpreter_modules, &dict) ||
        !dictionary_init(&modules, layout, memory, dict))
        return false;
    uint64_t module = dictionary_find(modules, "threading");
    /* A module's first field is its dictionary. */
    if (!module || !memory_read_word(memory, module + layout->object_type + 8, &dict) ||
        !dictionary_init(&threading, layout, memory, dict))
        return false;
    names->active = dictionary_find(threading, "_active");
    return names->active;
}

/* The value of a small positive int; 0 when it is none. */
static uint64_t number_of(const struct layout *layout, const struct memory *memory, uint64_t object)
{
    uint64_t tag, number = 0;
    uint32_t digits[MOST_DIGITS];
    if (!memory_read_word(memory, object + layout->int_tag, &tag))
        return 0;
    uint64_t count = layout_minor(layout) < 12 ? tag : tag >> 3;
    if (count > MOST_DIGITS ||
        !memory_read(memory, object + layout->int_digits, digits, count * sizeof *digits))
        return 0;
    for (uint64_t i = count; i-- > 0;)
        number = number << DIGIT_BITS | digits[i];
    return number;
}

static ssize_t name_of(const struct layout *layout, const struct memory *memory, uint64_t thread, char *out,
                       size_t capacity)
{
    struct dictionary attributes;
    uint64_t type;
    if (!memory_read_word(memory, thread + layout->object_type, &type) ||
        !dictionary_init_attributes(&attributes, layout, memory, thread, type))
        return -1;
    uint64_t name = dictionary_find(attributes, "_name");
    return name ? names_text(layout, memory, name, out, capacity) : -1;
}

/* The Thread of that number between two places of the dictionary; 0 = it is not there. */
static uint64_t thread_between(struct dictionary active, uint64_t from, uint64_t to, uint64_t id,
                               uint64_t *next)
{
    uint64_t key, thread;
    active.at = from;
    active.count = to < active.count ? to : active.count;
    while (dictionary_next(&active, &key, &thread)) {
        if (number_of(active.layout, active.memory, key) != id)
            continue;
        *next = active.at;
        return thread;
    }
    return 0;
}

ssize_t thread_names_read(struct thread_names *names, const struct layout *layout,
                          const struct memory *memory, uint64_t state, char *out, size_t capacity)
{
    struct dictionary active;
    uint64_t id, from = names->next;
    if (!names->active || !memory_read_word(memory, state + layout->thread_id, &id) ||
        !dictionary_init(&active, layout, memory, names->active))
        return -1;
    uint64_t thread = thread_between(active, from, UINT64_MAX, id, &names->next);
    if (!thread)
        thread = thread_between(active, 0, from, id, &names->next);
    return thread ? name_of(layout, memory, thread, out, capacity) : -1;
}
