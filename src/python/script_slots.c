#include "python/script_slots.h"

enum { WORDS = 6, INTERPRETER_LIMIT = 4 << 20, THREAD_LIMIT = 16384 };

/* The last group of the table of offsets, and what its words mean. */
enum { BREAKER, SUPPORT, ENABLED, PENDING, PATH, PATH_BYTES };
static const uint8_t first_words[] = {[14] = 89, [15] = 105};

static int read_group(const struct layout *layout, const struct memory *memory, uint64_t runtime,
                      uint64_t *words, struct err *err)
{
    unsigned minor = (unsigned)layout_minor(layout);
    if (minor >= sizeof first_words || !first_words[minor])
        return err_set(err, "Python 3.%u does not run scripts that come from outside; 3.14 and later do",
                       minor);
    if (!memory_read(memory, runtime + first_words[minor] * 8u, words, WORDS * sizeof *words))
        return err_set(err, "the memory of Python's runtime cannot be read");
    if (words[BREAKER] < THREAD_LIMIT && words[SUPPORT] < THREAD_LIMIT &&
        words[ENABLED] < INTERPRETER_LIMIT && words[PENDING] < THREAD_LIMIT && words[PATH] < THREAD_LIMIT &&
        words[PATH_BYTES] >= 64 && words[PATH_BYTES] < THREAD_LIMIT)
        return 0;
    return err_set(err, "this Python 3.%u does not say where it looks for scripts from outside", minor);
}

int script_slots_read(struct script_slots *slots, const struct layout *layout, const struct memory *memory,
                      uint64_t runtime, uint64_t interpreter, struct err *err)
{
    uint64_t words[WORDS];
    int enabled = 0;
    *slots = (struct script_slots){0};
    if (read_group(layout, memory, runtime, words, err) < 0)
        return -1;
    if (!memory_read(memory, interpreter + words[ENABLED], &enabled, sizeof enabled) || enabled != 1)
        return err_set(err, "it was told not to run scripts from outside (-X disable-remote-debug, "
                            "PYTHON_DISABLE_REMOTE_DEBUG, or how it was built)");
    *slots = (struct script_slots){.breaker = (uint32_t)words[BREAKER],
                                   .pending = (uint32_t)(words[SUPPORT] + words[PENDING]),
                                   .path = (uint32_t)(words[SUPPORT] + words[PATH]),
                                   .path_bytes = (uint32_t)words[PATH_BYTES]};
    return 0;
}
