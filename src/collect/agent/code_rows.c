#include "collect/agent/code_rows.h"

#include <string.h>

#include "python/names.h"

#define NAME_BYTES 1024

void code_rows_format(struct code_rows *rows)
{
    rows->count = 1; /* 0 is no code, no text */
    rows->text_used = 4;
}

/* A counted text in the table; 0 when there is none or no room. */
static uint32_t put_text(struct code_rows *rows, const void *bytes, size_t size)
{
    uint32_t need = (uint32_t)((sizeof(uint32_t) + size + 3) & ~(size_t)3);
    uint32_t at = __atomic_fetch_add(&rows->text_used, need, __ATOMIC_RELAXED);
    if (size == 0 || at > CODE_ROWS_TEXT_BYTES - need) {
        __atomic_fetch_sub(&rows->text_used, need, __ATOMIC_RELAXED);
        return 0;
    }
    uint32_t counted = (uint32_t)size;
    memcpy(rows->text + at, &counted, sizeof counted);
    memcpy(rows->text + at + sizeof counted, bytes, size);
    return at;
}

static uint32_t copy_name(struct code_rows *rows, const struct walk_process *process, uint64_t text)
{
    char name[NAME_BYTES];
    ssize_t size = text ? names_text(process->layout, &process->memory, text, name, sizeof name) : -1;
    return size > 0 ? put_text(rows, name, (size_t)size) : 0;
}

/* The table of lines can be long: it is read into its place. */
static uint32_t copy_lines(struct code_rows *rows, const struct walk_process *process, uint64_t object)
{
    ssize_t size = names_bytes(process->layout, &process->memory, object, NULL, 0);
    if (size <= 0 || size > 1 << 20)
        return 0;
    uint32_t need = (uint32_t)((sizeof(uint32_t) + (size_t)size + 3) & ~(size_t)3);
    uint32_t at = __atomic_fetch_add(&rows->text_used, need, __ATOMIC_RELAXED);
    if (at > CODE_ROWS_TEXT_BYTES - need) {
        __atomic_fetch_sub(&rows->text_used, need, __ATOMIC_RELAXED);
        return 0;
    }
    uint32_t counted = (uint32_t)size;
    memcpy(rows->text + at, &counted, sizeof counted);
    if (names_bytes(process->layout, &process->memory, object, rows->text + at + sizeof counted, counted) !=
        size)
        return 0;
    return at;
}

/* Python keeps the hash of a text behind its length. */
static uint64_t hash_address(const struct layout *layout, uint64_t text)
{
    return text + layout->text_length + sizeof(uint64_t);
}

/* A look at a name that is not our own costs a system call: the other fields have to do then. */
static bool has_same_name(const struct code_row *row, const struct walk_process *process)
{
    return !process->memory.own ||
           memory_word((const void *)hash_address(process->layout, row->name_at)) == row->name_hash;
}

/* Whether the row is about the object that lies at the address now: an address may be used again. Reads it in place
 * when a thread looks at its own frames, whose code is alive. */
static bool is_same(const struct code_row *row, const struct walk_process *process, uint64_t code)
{
    unsigned char copy[LAYOUT_CODE_LIMIT];
    const struct layout *layout = process->layout;
    const unsigned char *bytes =
        row->address == code ? memory_view(&process->memory, true, code, copy, sizeof copy) : NULL;
    return bytes && row->name_at == memory_word(bytes + layout->code_name) &&
           row->filename_at == memory_word(bytes + layout->code_filename) &&
           row->lines_at == memory_word(bytes + layout->code_lines) &&
           row->first_line == memory_int(bytes + layout->code_first_line) && has_same_name(row, process);
}

/* 0 when the table is full. */
static uint32_t take_row(struct code_rows *rows)
{
    uint32_t id = __atomic_fetch_add(&rows->count, 1, __ATOMIC_RELAXED);
    if (id < CODE_ROWS_MAX)
        return id;
    __atomic_fetch_sub(&rows->count, 1, __ATOMIC_RELAXED);
    return 0;
}

static uint32_t add_code(struct code_rows *rows, const struct walk_process *process, uint64_t code,
                         const struct names_code *names)
{
    uint32_t id = take_row(rows);
    if (!id)
        return 0;
    struct code_row *row = &rows->rows[id];
    uint64_t name_hash = 0;
    memory_read_word(&process->memory, hash_address(process->layout, names->name), &name_hash);
    *row = (struct code_row){
        .address = code,
        .name_at = names->name,
        .filename_at = names->filename,
        .lines_at = names->lines,
        .name_hash = name_hash,
        .first_line = names->first_line,
        .name = copy_name(rows, process, names->name),
        .qualname = copy_name(rows, process, names->qualname),
        .filename = copy_name(rows, process, names->filename),
        .lines = copy_lines(rows, process, names->lines),
    };
    __atomic_store_n(&row->ready, 1, __ATOMIC_RELEASE);
    return id;
}

static uint32_t place_of(uint64_t address)
{
    return (uint32_t)((address >> 4) * 0x9e3779b97f4a7c15u >> 40) & (CODE_ROWS_INDEX - 1);
}

static uint32_t add_made_up(struct code_rows *rows, uint64_t key, const char *name, size_t bytes)
{
    uint32_t id = take_row(rows);
    if (!id)
        return 0;
    __atomic_fetch_add(&rows->made_up_count, 1, __ATOMIC_RELAXED);
    rows->rows[id] = (struct code_row){.address = key, .name = put_text(rows, name, bytes), .made_up = 1};
    __atomic_store_n(&rows->rows[id].ready, 1, __ATOMIC_RELEASE);
    return id;
}

static bool has_name(const struct code_rows *rows, const struct code_row *row, const char *name, size_t bytes)
{
    uint32_t size;
    const uint8_t *text = code_rows_text(rows, row->name, &size);
    return text && size == bytes && memcmp(text, name, bytes) == 0;
}

uint32_t code_rows_made_up(struct code_rows *rows, uint64_t key, const char *name, size_t bytes,
                           uint32_t most)
{
    uint32_t at = place_of(key);
    for (uint32_t tries = 0; tries < 64; tries++, at = (at + 1) & (CODE_ROWS_INDEX - 1)) {
        uint32_t found = __atomic_load_n(&rows->index[at], __ATOMIC_ACQUIRE);
        if (!found) {
            uint32_t id = rows->made_up_count < most ? add_made_up(rows, key, name, bytes) : 0;
            if (id)
                __atomic_compare_exchange_n(&rows->index[at], &found, id + 1, false, __ATOMIC_RELEASE,
                                            __ATOMIC_RELAXED);
            return id;
        }
        const struct code_row *row = &rows->rows[found - 1];
        if (row->address == key && has_name(rows, row, name, bytes))
            return found - 1;
    }
    return 0;
}

uint32_t code_rows_find(struct code_rows *rows, const struct walk_process *process, uint64_t code)
{
    struct names_code names;
    uint32_t at = place_of(code);
    for (uint32_t tries = 0; tries < 64; tries++, at = (at + 1) & (CODE_ROWS_INDEX - 1)) {
        uint32_t found = __atomic_load_n(&rows->index[at], __ATOMIC_ACQUIRE);
        if (found) {
            if (is_same(&rows->rows[found - 1], process, code))
                return found - 1;
            continue;
        }
        if (!names_read_code(process->layout, &process->memory, process->code_type, code, &names))
            return 0;
        uint32_t id = add_code(rows, process, code, &names);
        if (id)
            __atomic_compare_exchange_n(&rows->index[at], &found, id + 1, false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED);
        return id;
    }
    return 0;
}

const uint8_t *code_rows_text(const struct code_rows *rows, uint32_t text, uint32_t *size)
{
    *size = 0;
    if (text == 0 || text > CODE_ROWS_TEXT_BYTES - sizeof *size)
        return NULL;
    uint32_t counted;
    memcpy(&counted, rows->text + text, sizeof counted);
    if (counted > CODE_ROWS_TEXT_BYTES - sizeof counted - text)
        return NULL;
    *size = counted;
    return rows->text + text + sizeof counted;
}
