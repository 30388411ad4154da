#include "cli/top_native.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/native_stacks.h"
#include "base/err.h"
#include "store/recording.h"

int top_native_init(struct top_native *native, struct recording *recording, struct err *err)
{
    *native = (struct top_native){.recording = recording};
    unsetenv("DEBUGINFOD_URLS"); /* nobody waits for a server before the first picture */
    if (native_symbols_init(&native->names, recording, NULL, 0, err) < 0)
        return -1;
    native->stacks = native_stacks_new(recording, false);
    return native->stacks ? 0 : err_set(err, "out of memory");
}

void top_native_clear(struct top_native *native)
{
    native_symbols_clear(&native->names);
    native_stacks_free(native->stacks);
    *native = (struct top_native){0};
}

static uint32_t intern(struct recording *recording, const char *text)
{
    uint32_t id = strings_intern(&recording->strings, text, strlen(text));
    return id == UINT32_MAX ? 0 : id;
}

/* From the outermost function to the innermost, which is what the address is called. One that there is no memory for
 * stays without a name. */
static void add_symbols(struct recording *recording, uint32_t code, const struct symbols_frame *frames,
                        size_t count)
{
    uint32_t outer = 0;
    while (count-- > 0) {
        struct symbol symbol = {
            .code = count ? recording_add_code(recording, &(struct code){.kind = CODE_NATIVE}) : code,
            .name = intern(recording, frames[count].function),
            .file = intern(recording, frames[count].file),
            .line = frames[count].line,
            .inlined_in = outer};
        if (symbol.code)
            recording_add_symbol(recording, &symbol);
        outer = symbol.code;
    }
}

bool top_native_step(struct top_native *native)
{
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    struct recording *recording = native->recording;
    if (!recording || native->addresses_done >= recording->addresses_count)
        return false;
    struct code_address address = recording->addresses[native->addresses_done++];
    size_t count = native_symbols_find(&native->names, &address, frames);
    if (count &&
        (!frames[0].is_offset ||
         symbols_is_found(native->names.symbols, native_symbols_module(&native->names, address.module))))
        add_symbols(recording, address.code, frames, count);
    return true;
}

int top_native_finish(struct top_native *native, struct err *err)
{
    return native->recording ? native_stacks_extend(native->stacks, err) : 0;
}
