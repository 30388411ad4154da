#include "cli/native_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/recording.h"

#define BUILD_ID_MAX 64

int native_symbols_init(struct native_symbols *names, const struct recording *recording,
                        const char *const *folders, size_t folder_count, struct err *err)
{
    *names = (struct native_symbols){.recording = recording, .symbols = symbols_new(folders, folder_count)};
    return names->symbols ? 0 : err_set(err, "out of memory");
}

void native_symbols_clear(struct native_symbols *names)
{
    if (names->symbols)
        symbols_free(names->symbols);
    free(names->numbers);
    *names = (struct native_symbols){0};
}

static unsigned digit(char character)
{
    return character <= '9' ? (unsigned)(character - '0') : (unsigned)(character - 'a' + 10);
}

/* The bytes of a build id, which is told in hexadecimal; none when it is something else. */
static size_t parse_build_id(const char *text, uint8_t bytes[static BUILD_ID_MAX])
{
    size_t size = strlen(text);
    if (size % 2 || size > BUILD_ID_MAX * 2 || text[strspn(text, "0123456789abcdef")])
        return 0;
    for (size_t i = 0; i < size / 2; i++)
        bytes[i] = (uint8_t)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return size / 2;
}

static bool make_room(struct native_symbols *names)
{
    uint32_t count = names->recording->modules_count;
    if (count <= names->capacity)
        return true;
    uint32_t *grown = realloc(names->numbers, count * sizeof *grown);
    if (!grown)
        return false;
    memset(grown + names->capacity, 0, (count - names->capacity) * sizeof *grown);
    names->numbers = grown;
    names->capacity = count;
    return true;
}

uint32_t native_symbols_module(struct native_symbols *names, uint32_t module)
{
    uint8_t build_id[BUILD_ID_MAX];
    if (!make_room(names))
        return UINT32_MAX;
    if (names->numbers[module] == 0) {
        const struct module *row = &names->recording->modules[module];
        size_t size = parse_build_id(recording_text(names->recording, row->build_id), build_id);
        uint32_t number =
            symbols_module(names->symbols, recording_text(names->recording, row->path), build_id, size);
        if (number == UINT32_MAX)
            return UINT32_MAX;
        symbols_expect_size(names->symbols, number, row->size_bytes);
        names->numbers[module] = number + 1;
    }
    return names->numbers[module] - 1;
}

size_t native_symbols_find(struct native_symbols *names, const struct code_address *address,
                           struct symbols_frame frames[SYMBOLS_INLINE_MAX])
{
    uint32_t number = native_symbols_module(names, address->module);
    return number == UINT32_MAX ? 0 : symbols_find(names->symbols, number, address->offset, frames);
}
