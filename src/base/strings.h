/*
 * strings: an interning table of byte strings. Id 0 is always the empty string. Ids are dense and given in
 * order of first use. Text returned by strings_text ends with NUL (the text itself may hold NULs: use the
 * size where that matters) and stays valid until strings_clear.
 */
#ifndef SONDE_BASE_STRINGS_H
#define SONDE_BASE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

struct strings_block;

struct strings {
    char **texts;
    struct strings_block *blocks; /* where the texts lie */
    uint32_t *sizes, *hashes;
    uint32_t count; /* 0 before the first use; then at least 1 */
    uint32_t capacity;
    uint32_t *slots; /* hash → id + 1 */
    uint32_t slot_count;
    uint32_t next; /* whoever interns the texts of another table again asks for the one behind the last */
};

void strings_clear(struct strings *strings);
/* The id of the text, added when new. UINT32_MAX when memory ran out. */
uint32_t strings_intern(struct strings *strings, const char *text, size_t size);
uint32_t strings_intern_text(struct strings *strings, const char *text);
/* Unknown ids give "". */
const char *strings_text(const struct strings *strings, uint32_t id);
size_t strings_size(const struct strings *strings, uint32_t id);

#endif
