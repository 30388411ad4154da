#include "collect/agent/sample_area.h"

#include <string.h>

#include "python/names.h"

#define NAME_BYTES 1024

void sample_area_format(struct sample_area *area, uint64_t bytes, uint64_t pid, uint64_t period_ns,
                        uint32_t python)
{
    bool counter = clock_has_counter();
    struct clock_pair now = clock_read_pair(counter);
    area->total_bytes = bytes;
    area->pid = pid;
    area->start_ticks = now.ticks;
    area->start_ns = now.ns;
    area->ns_per_tick = counter ? 0.0 : 1.0;
    area->period_ns = period_ns;
    area->python = python;
    area->code_count = 1; /* 0 is no code, no text */
    area->text_used = 4;
    __atomic_store_n(&area->magic, SAMPLE_AREA_MAGIC, __ATOMIC_RELEASE);
}

/* A counted text in the area; 0 when there is none or no room. */
static uint32_t put_text(struct sample_area *area, const void *bytes, size_t size)
{
    uint32_t need = (uint32_t)((sizeof(uint32_t) + size + 3) & ~(size_t)3);
    uint32_t at = __atomic_fetch_add(&area->text_used, need, __ATOMIC_RELAXED);
    if (size == 0 || at > SAMPLE_AREA_TEXT_BYTES - need) {
        __atomic_fetch_sub(&area->text_used, need, __ATOMIC_RELAXED);
        return 0;
    }
    uint32_t counted = (uint32_t)size;
    memcpy(area->text + at, &counted, sizeof counted);
    memcpy(area->text + at + sizeof counted, bytes, size);
    return at;
}

static uint32_t copy_name(struct sample_area *area, const struct walk_process *process, uint64_t text)
{
    char name[NAME_BYTES];
    ssize_t size = text ? names_text(process->layout, &process->memory, text, name, sizeof name) : -1;
    return size > 0 ? put_text(area, name, (size_t)size) : 0;
}

/* The table of lines can be long: it is read into its place. */
static uint32_t copy_lines(struct sample_area *area, const struct walk_process *process, uint64_t object)
{
    ssize_t size = names_bytes(process->layout, &process->memory, object, NULL, 0);
    if (size <= 0 || size > 1 << 20)
        return 0;
    uint32_t need = (uint32_t)((sizeof(uint32_t) + (size_t)size + 3) & ~(size_t)3);
    uint32_t at = __atomic_fetch_add(&area->text_used, need, __ATOMIC_RELAXED);
    if (at > SAMPLE_AREA_TEXT_BYTES - need) {
        __atomic_fetch_sub(&area->text_used, need, __ATOMIC_RELAXED);
        return 0;
    }
    uint32_t counted = (uint32_t)size;
    memcpy(area->text + at, &counted, sizeof counted);
    if (names_bytes(process->layout, &process->memory, object, area->text + at + sizeof counted, counted) !=
        size)
        return 0;
    return at;
}

/* Whether the row is about the object that lies at the address now: an address may be used again. Reads it in place
 * when a thread looks at its own frames, whose code is alive. */
static bool is_same(const struct sample_code *row, const struct walk_process *process, uint64_t code)
{
    unsigned char copy[LAYOUT_CODE_LIMIT];
    const struct layout *layout = process->layout;
    const unsigned char *bytes =
        row->address == code ? memory_view(&process->memory, true, code, copy, sizeof copy) : NULL;
    return bytes && row->name_at == memory_word(bytes + layout->code_name) &&
           row->filename_at == memory_word(bytes + layout->code_filename) &&
           row->lines_at == memory_word(bytes + layout->code_lines) &&
           row->first_line == memory_int(bytes + layout->code_first_line);
}

/* 0 when the table is full. */
static uint32_t take_row(struct sample_area *area)
{
    uint32_t id = __atomic_fetch_add(&area->code_count, 1, __ATOMIC_RELAXED);
    if (id < SAMPLE_AREA_CODES)
        return id;
    __atomic_fetch_sub(&area->code_count, 1, __ATOMIC_RELAXED);
    return 0;
}

static uint32_t add_code(struct sample_area *area, const struct walk_process *process, uint64_t code,
                         const struct names_code *names)
{
    uint32_t id = take_row(area);
    if (!id)
        return 0;
    struct sample_code *row = &area->codes[id];
    *row = (struct sample_code){
        .address = code,
        .name_at = names->name,
        .filename_at = names->filename,
        .lines_at = names->lines,
        .first_line = names->first_line,
        .name = copy_name(area, process, names->name),
        .qualname = copy_name(area, process, names->qualname),
        .filename = copy_name(area, process, names->filename),
        .lines = copy_lines(area, process, names->lines),
    };
    __atomic_store_n(&row->ready, 1, __ATOMIC_RELEASE);
    return id;
}

static uint32_t place_of(uint64_t address)
{
    return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 40) & (SAMPLE_AREA_INDEX - 1);
}

static uint32_t add_made_up(struct sample_area *area, uint64_t key, const char *name, size_t bytes)
{
    uint32_t id = take_row(area);
    if (!id)
        return 0;
    __atomic_fetch_add(&area->made_up_count, 1, __ATOMIC_RELAXED);
    area->codes[id] = (struct sample_code){.address = key, .name = put_text(area, name, bytes), .made_up = 1};
    __atomic_store_n(&area->codes[id].ready, 1, __ATOMIC_RELEASE);
    return id;
}

static bool has_name(const struct sample_area *area, const struct sample_code *row, const char *name,
                     size_t bytes)
{
    uint32_t size;
    const uint8_t *text = sample_area_text(area, row->name, &size);
    return text && size == bytes && memcmp(text, name, bytes) == 0;
}

uint32_t sample_area_made_up(struct sample_area *area, uint64_t key, const char *name, size_t bytes,
                             uint32_t most)
{
    uint32_t at = place_of(key);
    for (uint32_t tries = 0; tries < 64; tries++, at = (at + 1) & (SAMPLE_AREA_INDEX - 1)) {
        uint32_t found = __atomic_load_n(&area->index[at], __ATOMIC_ACQUIRE);
        if (!found) {
            uint32_t id = area->made_up_count < most ? add_made_up(area, key, name, bytes) : 0;
            if (id)
                __atomic_compare_exchange_n(&area->index[at], &found, id + 1, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED);
            return id;
        }
        const struct sample_code *row = &area->codes[found - 1];
        if (row->address == key && has_name(area, row, name, bytes))
            return found - 1;
    }
    return 0;
}

uint32_t sample_area_code(struct sample_area *area, const struct walk_process *process, uint64_t code)
{
    struct names_code names;
    uint32_t at = place_of(code);
    for (uint32_t tries = 0; tries < 64; tries++, at = (at + 1) & (SAMPLE_AREA_INDEX - 1)) {
        uint32_t found = __atomic_load_n(&area->index[at], __ATOMIC_ACQUIRE);
        if (found) {
            if (is_same(&area->codes[found - 1], process, code))
                return found - 1;
            continue;
        }
        if (!names_read_code(process->layout, &process->memory, process->code_type, code, &names))
            return 0;
        uint32_t id = add_code(area, process, code, &names);
        if (id)
            __atomic_compare_exchange_n(&area->index[at], &found, id + 1, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED);
        return id;
    }
    return 0;
}

static void copy_in(struct sample_slot *slot, uint64_t at, const void *bytes, size_t size)
{
    size_t begin = at % SAMPLE_AREA_RING_BYTES;
    size_t first = size < SAMPLE_AREA_RING_BYTES - begin ? size : SAMPLE_AREA_RING_BYTES - begin;
    memcpy(slot->ring + begin, bytes, first);
    memcpy(slot->ring, (const char *)bytes + first, size - first);
}

bool sample_area_put(struct sample_slot *slot, struct sample_record *record, const struct sample_part *parts,
                     size_t count)
{
    uint64_t taken = __atomic_load_n(&slot->taken, __ATOMIC_ACQUIRE), at = slot->written + sizeof *record;
    record->bytes = sizeof *record;
    for (size_t i = 0; i < count; i++)
        record->bytes += (uint32_t)parts[i].size;
    if (record->bytes > SAMPLE_AREA_RING_BYTES - (slot->written - taken))
        return false;
    copy_in(slot, slot->written, record, sizeof *record);
    for (size_t i = 0; i < count; at += parts[i++].size)
        copy_in(slot, at, parts[i].bytes, parts[i].size);
    __atomic_store_n(&slot->written, at, __ATOMIC_RELEASE);
    return true;
}

const uint8_t *sample_area_text(const struct sample_area *area, uint32_t text, uint32_t *size)
{
    *size = 0;
    if (text == 0 || text > SAMPLE_AREA_TEXT_BYTES - sizeof *size)
        return NULL;
    uint32_t counted;
    memcpy(&counted, area->text + text, sizeof counted);
    if (counted > SAMPLE_AREA_TEXT_BYTES - sizeof counted - text)
        return NULL;
    *size = counted;
    return area->text + text + sizeof counted;
}
