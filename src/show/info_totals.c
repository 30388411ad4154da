#include "show/info_totals.h"

#include <string.h>

#include "store/record.h"
#include "store/recording.h"

const char *info_totals_kind(const struct chunk_info *chunk)
{
    const char *name = record_kind_name(chunk->kind);
    return name ? name : "unknown";
}

const char *info_totals_state(const struct chunk_info *chunk)
{
    static const char *const states[] = {"good", "damaged", "unknown", "orphaned"};
    return chunk->state < sizeof states / sizeof *states ? states[chunk->state] : "unknown";
}

const char *info_totals_note(const struct note *note)
{
    static const char *const kinds[] = {"note", "loss", "refused", "throttled", "clock", "end", "warning"};
    return kinds[note->kind < sizeof kinds / sizeof *kinds ? note->kind : 0];
}

static void add(struct info_total *total, const struct chunk_info *chunk)
{
    total->chunks++;
    total->stored_bytes += chunk->stored_bytes;
    total->raw_bytes += chunk->raw_bytes;
    total->rows += chunk->records;
}

static struct info_total *total_of(struct info_totals *totals, const char *kind)
{
    for (uint32_t i = 0; i < totals->count; i++) {
        if (strcmp(totals->kinds[i].kind, kind) == 0)
            return &totals->kinds[i];
    }
    totals->kinds[totals->count].kind = kind;
    return &totals->kinds[totals->count++];
}

struct info_totals info_totals_of(const struct recording *recording)
{
#define ONE_MORE(name, number) +1
    _Static_assert(0 RECORD_KINDS(ONE_MORE) < INFO_TOTALS_MAX,
                   "a row for each kind, and one for unknown ones");
#undef ONE_MORE
    struct info_totals totals = {.all = {.kind = "all"}};
    for (uint32_t i = 0; i < recording->chunks_count; i++) {
        add(total_of(&totals, info_totals_kind(&recording->chunks[i])), &recording->chunks[i]);
        add(&totals.all, &recording->chunks[i]);
    }
    return totals;
}
