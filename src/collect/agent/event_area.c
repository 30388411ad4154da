#include "collect/agent/event_area.h"

#include <string.h>

uint64_t event_area_bytes(uint32_t ring_slots)
{
    return sizeof(struct event_area) + (uint64_t)EVENT_AREA_THREADS * ring_slots * sizeof(struct event_slot);
}

uint32_t event_area_ring_within(uint64_t bytes)
{
    uint32_t slots = EVENT_AREA_RING;
    while (slots >= EVENT_AREA_RING_LEAST && event_area_bytes(slots) > bytes)
        slots /= 2;
    return slots >= EVENT_AREA_RING_LEAST ? slots : 0;
}

void event_area_format(struct event_area *area, uint32_t ring_slots, uint64_t pid, uint32_t python)
{
    bool counter = clock_has_counter();
    struct clock_pair now = clock_read_pair(counter);
    area->total_bytes = event_area_bytes(ring_slots);
    area->ring_slots = ring_slots;
    area->python = python;
    area->pid = pid;
    area->start_ticks = now.ticks;
    area->start_ns = now.ns;
    area->ns_per_tick = counter ? 0.0 : 1.0;
    area->name_count = 1;
    __atomic_store_n(&area->magic, EVENT_AREA_MAGIC, __ATOMIC_RELEASE);
}

bool event_area_is_sound(const struct event_area *area, uint64_t size)
{
    if (size < sizeof *area || __atomic_load_n(&area->magic, __ATOMIC_ACQUIRE) != EVENT_AREA_MAGIC)
        return false;
    uint32_t slots = area->ring_slots;
    return slots >= EVENT_AREA_RING_LEAST && slots <= EVENT_AREA_RING && (slots & (slots - 1)) == 0 &&
           area->total_bytes == size && event_area_bytes(slots) == size;
}

/* ---- names ---- */

static uint64_t hash_of(enum event_name_kind kind, const char *text, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u ^ (uint64_t)kind;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
    return hash ^ hash >> 29;
}

static bool is_name(const struct event_area *area, uint32_t id, const struct event_name_row *wanted,
                    const char *text)
{
    const struct event_name_row *row = &area->names[id];
    return row->hash == wanted->hash && row->kind == wanted->kind && row->bytes == wanted->bytes &&
           memcmp(area->texts + row->at, text, row->bytes) == 0;
}

/* A row for the name that nobody can find yet; 0 = no room. */
static uint32_t add_row(struct event_area *area, const struct event_name_row *wanted, const char *text)
{
    uint32_t at = __atomic_load_n(&area->name_bytes, __ATOMIC_RELAXED), id;
    do {
        if (at + wanted->bytes > EVENT_AREA_NAME_BYTES)
            return 0;
    } while (!__atomic_compare_exchange_n(&area->name_bytes, &at, at + wanted->bytes, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    id = __atomic_load_n(&area->name_count, __ATOMIC_RELAXED);
    do {
        if (id >= EVENT_AREA_NAMES)
            return 0;
    } while (!__atomic_compare_exchange_n(&area->name_count, &id, id + 1, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    memcpy(area->texts + at, text, wanted->bytes);
    area->names[id] = *wanted;
    area->names[id].at = at;
    return id;
}

static size_t cut(const char *text, size_t bytes)
{
    if (bytes <= EVENT_AREA_NAME_MAX)
        return bytes;
    bytes = EVENT_AREA_NAME_MAX;
    while (bytes && ((uint8_t)text[bytes] & 0xc0) == 0x80) /* not within a character of UTF-8 */
        bytes--;
    return bytes;
}

uint32_t event_area_name(struct event_area *area, enum event_name_kind kind, const char *text, size_t bytes)
{
    struct event_name_row wanted = {.bytes = (uint32_t)cut(text, bytes), .kind = (uint32_t)kind};
    wanted.hash = hash_of(kind, text, wanted.bytes);
    uint32_t own = 0; /* a row that two threads made at the same time is left empty-handed */
    for (uint32_t steps = 0; steps < EVENT_AREA_INDEX; steps++) {
        uint32_t *place = &area->index[(wanted.hash + steps) % EVENT_AREA_INDEX];
        uint32_t found = __atomic_load_n(place, __ATOMIC_ACQUIRE);
        if (!found) {
            own = own ? own : add_row(area, &wanted, text);
            if (!own)
                break;
            if (__atomic_compare_exchange_n(place, &found, own, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
                return own;
        }
        if (is_name(area, found, &wanted, text))
            return found;
    }
    __atomic_fetch_add(&area->lost_names, 1, __ATOMIC_RELAXED);
    return 0;
}

/* The other process goes on and may add names meanwhile: rows that are not filled yet are nobody's here. */
void event_area_copy_names(struct event_area *area, const struct event_area *from)
{
    uint32_t count = __atomic_load_n(&from->name_count, __ATOMIC_RELAXED);
    uint32_t bytes = __atomic_load_n(&from->name_bytes, __ATOMIC_RELAXED);
    count = count < EVENT_AREA_NAMES ? count : EVENT_AREA_NAMES;
    bytes = bytes < EVENT_AREA_NAME_BYTES ? bytes : EVENT_AREA_NAME_BYTES;
    memcpy(area->names, from->names, count * sizeof *area->names);
    memcpy(area->texts, from->texts, bytes);
    area->name_count = count;
    area->name_bytes = bytes;
    for (uint32_t id = 1; id < count; id++) {
        struct event_name_row *row = &area->names[id];
        uint64_t place = row->hash;
        if (!row->kind || row->at > bytes || row->bytes > bytes - row->at)
            continue;
        while (area->index[place % EVENT_AREA_INDEX])
            place++;
        area->index[place % EVENT_AREA_INDEX] = id;
    }
}
