#include "show/info_modules.h"

#include <stdbool.h>
#include <stdlib.h>

#include "store/natives.h"
#include "store/recording.h"

static void count(const struct natives *natives, struct info_modules *modules)
{
    const struct recording *recording = natives->recording;
    for (uint32_t i = 0; i < recording->addresses_count; i++) {
        const struct code_address *address = &recording->addresses[i];
        if (natives_address(natives, address->code) != address)
            continue;
        bool named = natives_symbol(natives, address->code);
        modules->rows[address->module].addresses++;
        modules->rows[address->module].named += named;
        modules->addresses++;
        modules->named += named;
    }
}

static void squeeze(const struct recording *recording, struct info_modules *modules)
{
    for (uint32_t i = 0; i < recording->modules_count; i++) {
        struct info_module row = modules->rows[i];
        row.path = recording_text(recording, recording->modules[i].path);
        row.build_id = recording_text(recording, recording->modules[i].build_id);
        if (row.addresses)
            modules->rows[modules->count++] = row;
    }
}

struct info_modules info_modules_of(const struct recording *recording)
{
    struct info_modules modules = {0};
    struct natives natives = {0};
    if (recording->addresses_count == 0 || natives_init(&natives, recording, NULL) < 0)
        return modules;
    modules.rows = calloc(recording->modules_count, sizeof *modules.rows);
    if (modules.rows) {
        count(&natives, &modules);
        squeeze(recording, &modules);
    }
    natives_clear(&natives);
    return modules;
}

void info_modules_clear(struct info_modules *modules)
{
    free(modules->rows);
    *modules = (struct info_modules){0};
}
