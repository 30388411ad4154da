#include "collect/inside/thread_slot.h"

#include <string.h>

#define OBJECT_WORD (offsetof(struct thread_slot, object) / sizeof(void *))

static size_t slot_offset; /* in a thread state; 0 = not found */

struct thread_slot *thread_slot_of(PyThreadState *state)
{
    return slot_offset ? (struct thread_slot *)(void *)((char *)state + slot_offset) : NULL;
}

void thread_slot_find_function(PyThreadState *state, interpreter_profile_function *function)
{
    for (size_t i = 1; i < THREAD_SLOT_WORDS && !slot_offset; i++)
        if (*(interpreter_profile_function **)((void **)state + i) == function)
            slot_offset = i * sizeof(void *);
}

void thread_slot_look_before(struct thread_slot_search *search, PyThreadState *state)
{
    memcpy(search->before, state, sizeof search->before);
}

void thread_slot_look_after(const struct thread_slot_search *search, PyThreadState *state, PyObject *object)
{
    void *const *now = (void *const *)state, *const *before = search->before;
    for (size_t i = 1; i + OBJECT_WORD < THREAD_SLOT_WORDS && !slot_offset; i++)
        if (now[i + OBJECT_WORD] == object && !before[i + OBJECT_WORD] && now[i] && !before[i])
            slot_offset = i * sizeof(void *);
}
