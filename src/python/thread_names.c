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

ssize_t thread_names_read(const struct thread_names *names, const struct layout *layout,
                          const struct memory *memory, uint64_t state, char *out, size_t capacity)
{
    struct dictionary active;
    uint64_t id, key, thread;
    if (!names->active || !memory_read_word(memory, state + layout->thread_id, &id) ||
        !dictionary_init(&active, layout, memory, names->active))
        return -1;
    while (dictionary_next(&active, &key, &thread))
        if (number_of(layout, memory, key) == id)
            return name_of(layout, memory, thread, out, capacity);
    return -1;
}
