#include "store/natives.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "store/recording.h"

int natives_init(struct natives *natives, const struct recording *recording, struct err *err)
{
    *natives = (struct natives){.recording = recording};
    if (recording->addresses_count == 0 && recording->symbols_count == 0)
        return 0;
    natives->addresses = calloc((size_t)recording->codes_count + 1, sizeof *natives->addresses);
    natives->symbols = calloc((size_t)recording->codes_count + 1, sizeof *natives->symbols);
    if (!natives->addresses || !natives->symbols) {
        natives_clear(natives);
        return err_set(err, "out of memory for the addresses of %u functions", recording->codes_count);
    }
    for (uint32_t i = 0; i < recording->addresses_count; i++)
        natives->addresses[recording->addresses[i].code] = i + 1;
    for (uint32_t i = 0; i < recording->symbols_count; i++)
        natives->symbols[recording->symbols[i].code] = i + 1;
    return 0;
}

void natives_clear(struct natives *natives)
{
    free(natives->addresses);
    free(natives->symbols);
    *natives = (struct natives){0};
}

static bool is_nameless(const struct natives *natives, uint32_t code)
{
    const struct code *row = &natives->recording->codes[code];
    return natives->addresses && row->kind == CODE_NATIVE && row->name == 0;
}

const struct code_address *natives_address(const struct natives *natives, uint32_t code)
{
    if (!is_nameless(natives, code) || natives->addresses[code] == 0)
        return NULL;
    return &natives->recording->addresses[natives->addresses[code] - 1];
}

const struct symbol *natives_symbol(const struct natives *natives, uint32_t code)
{
    if (!is_nameless(natives, code) || natives->symbols[code] == 0)
        return NULL;
    return &natives->recording->symbols[natives->symbols[code] - 1];
}
