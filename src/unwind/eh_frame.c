#include "unwind/eh_frame.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* The DW_EH_PE encodings: how a value is stored (low half), what it is relative to (high half). */
enum {
    ENCODING_ABSOLUTE = 0x00,
    ENCODING_ULEB = 0x01,
    ENCODING_U16 = 0x02,
    ENCODING_U32 = 0x03,
    ENCODING_U64 = 0x04,
    ENCODING_SLEB = 0x09,
    ENCODING_S16 = 0x0a,
    ENCODING_S32 = 0x0b,
    ENCODING_S64 = 0x0c,
    ENCODING_FORM = 0x0f,
    ENCODING_PLACE_RELATIVE = 0x10,
    ENCODING_DATA_RELATIVE = 0x30,
    ENCODING_BASE = 0x70,
    ENCODING_INDIRECT = 0x80,
    ENCODING_OMITTED = 0xff,
};
/* The table of every linker: pairs of signed 32-bit distances from the header. */
#define ENCODING_USUAL_TABLE (ENCODING_DATA_RELATIVE | ENCODING_S32)

int64_t eh_frame_get_sleb(struct cursor *cursor)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = cursor_get_u8(cursor);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && shift + 7 < 64)
            value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    cursor->failed = true;
    return 0;
}

static uint64_t get_form(struct cursor *cursor, uint8_t encoding)
{
    switch (encoding & ENCODING_FORM) {
    case ENCODING_ULEB:
        return cursor_get_varint(cursor);
    case ENCODING_U16:
        return cursor_get_u16(cursor);
    case ENCODING_U32:
        return cursor_get_u32(cursor);
    case ENCODING_ABSOLUTE:
    case ENCODING_U64:
    case ENCODING_S64:
        return cursor_get_u64(cursor);
    case ENCODING_SLEB:
        return (uint64_t)eh_frame_get_sleb(cursor);
    case ENCODING_S16:
        return (uint64_t)(int64_t)(int16_t)cursor_get_u16(cursor);
    case ENCODING_S32:
        return (uint64_t)(int64_t)(int32_t)cursor_get_u32(cursor);
    }
    cursor->failed = true;
    return 0;
}

uint64_t eh_frame_get_pointer(struct cursor *cursor, uint8_t encoding, uint64_t address, uint64_t data)
{
    uint64_t value = get_form(cursor, encoding);
    uint8_t base = encoding & ENCODING_BASE;
    if (encoding & ENCODING_INDIRECT ||
        (base && base != ENCODING_PLACE_RELATIVE && base != ENCODING_DATA_RELATIVE))
        cursor->failed = true;
    return value + (base == ENCODING_PLACE_RELATIVE ? address : base == ENCODING_DATA_RELATIVE ? data : 0);
}

static int by_start(const void *left, const void *right)
{
    const struct eh_frame_entry *one = left, *other = right;
    return (one->start > other->start) - (one->start < other->start);
}

/* Linkers sort the table; what comes from elsewhere is sorted here. */
static void put_in_order(struct eh_frame_list *list)
{
    bool sorted = true;
    for (size_t index = 1; index < list->count && sorted; index++)
        sorted = list->entries[index - 1].start < list->entries[index].start;
    if (sorted)
        return;
    qsort(list->entries, list->count, sizeof list->entries[0], by_start);
    size_t kept = 1;
    for (size_t index = 1; index < list->count; index++)
        if (list->entries[index].start != list->entries[kept - 1].start)
            list->entries[kept++] = list->entries[index];
    list->count = kept;
}

static int read_table(struct eh_frame_list *list, struct cursor table, uint64_t count, uint64_t header,
                      struct err *err)
{
    if (count > cursor_left(&table) / 8)
        return err_set(err, "a damaged .eh_frame_hdr: %llu entries in %zu bytes", (unsigned long long)count,
                       cursor_left(&table));
    list->entries = calloc(count + 1, sizeof list->entries[0]);
    if (!list->entries)
        return err_set(err, "no memory for %llu frame descriptions", (unsigned long long)count);
    for (uint64_t index = 0; index < count; index++) {
        uint64_t start = eh_frame_get_pointer(&table, ENCODING_USUAL_TABLE, 0, header);
        uint64_t description = eh_frame_get_pointer(&table, ENCODING_USUAL_TABLE, 0, header);
        list->entries[index] = (struct eh_frame_entry){.start = start, .description = description};
    }
    list->count = count;
    put_in_order(list);
    return 0;
}

int eh_frame_list(struct eh_frame_list *list, const struct elf_image *image, struct err *err)
{
    *list = (struct eh_frame_list){0};
    if (!image->frame_header)
        return 0;
    uint64_t header = image->frame_header;
    struct cursor cursor = elf_image_at(image, header);
    const uint8_t *start = cursor.at;
    uint8_t version = cursor_get_u8(&cursor), section_encoding = cursor_get_u8(&cursor);
    uint8_t count_encoding = cursor_get_u8(&cursor), table_encoding = cursor_get_u8(&cursor);
    if (cursor.failed || version != 1)
        return err_set(err, "a damaged .eh_frame_hdr");
    if (table_encoding != ENCODING_USUAL_TABLE || count_encoding == ENCODING_OMITTED)
        return 0;
    eh_frame_get_pointer(&cursor, section_encoding, header + 4, header);
    uint64_t place = header + (uint64_t)(cursor.at - start);
    uint64_t count = eh_frame_get_pointer(&cursor, count_encoding, place, header);
    if (cursor.failed)
        return err_set(err, "a damaged .eh_frame_hdr");
    return read_table(list, cursor, count, header, err);
}

void eh_frame_clear(struct eh_frame_list *list)
{
    free(list->entries);
    *list = (struct eh_frame_list){0};
}

const struct eh_frame_entry *eh_frame_find(const struct eh_frame_list *list, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &list->entries[low - 1] : NULL;
}

/* A cursor on the next record's contents. */
static struct cursor open_record(struct cursor at, const uint8_t **contents)
{
    uint64_t size = cursor_get_u32(&at);
    if (size == UINT32_MAX)
        size = cursor_get_u64(&at);
    *contents = at.at;
    if (at.failed || size > cursor_left(&at))
        return (struct cursor){.failed = true};
    at.end = at.at + size;
    return at;
}

/* The letters of the augmentation and their data. */
static void read_augmentation(struct eh_frame_description *description, struct cursor *cursor,
                              const char *letters)
{
    struct cursor data = cursor_get_counted(cursor);
    description->has_data = true;
    for (; *letters && !data.failed; letters++) {
        if (*letters == 'R')
            description->pointer_encoding = cursor_get_u8(&data);
        else if (*letters == 'L')
            cursor_get_u8(&data);
        else if (*letters == 'P')
            get_form(&data, cursor_get_u8(&data));
        else if (*letters == 'S')
            description->is_signal_frame = true;
        else if (*letters != 'B')
            cursor->failed = true;
    }
    cursor->failed |= data.failed;
}

static bool read_cie(struct eh_frame_description *description, struct cursor at)
{
    const uint8_t *contents;
    struct cursor cursor = open_record(at, &contents);
    uint32_t id = cursor_get_u32(&cursor);
    uint8_t version = cursor_get_u8(&cursor);
    const char *letters = (const char *)cursor.at;
    while (cursor_get_u8(&cursor))
        ;
    if (cursor.failed || id != 0 || (version != 1 && version != 3))
        return false;
    description->code_factor = cursor_get_varint(&cursor);
    description->data_factor = eh_frame_get_sleb(&cursor);
    description->return_register =
        version == 1 ? cursor_get_u8(&cursor) : (unsigned)cursor_get_varint(&cursor);
    if (letters[0] == 'z')
        read_augmentation(description, &cursor, letters + 1);
    else if (letters[0])
        return false;
    description->initial = cursor;
    return !cursor.failed;
}

bool eh_frame_describe(struct eh_frame_description *description, const struct elf_image *image,
                       const struct eh_frame_entry *entry)
{
    *description = (struct eh_frame_description){0};
    struct cursor outer = elf_image_at(image, entry->description);
    const uint8_t *base = outer.at, *contents;
    struct cursor cursor = open_record(outer, &contents);
    uint32_t distance = cursor_get_u32(&cursor);
    if (cursor.failed || !distance)
        return false;
    uint64_t cie = entry->description + (uint64_t)(contents - base) - distance;
    if (!read_cie(description, elf_image_at(image, cie)))
        return false;
    uint64_t place = entry->description + (uint64_t)(cursor.at - base);
    description->start = eh_frame_get_pointer(&cursor, description->pointer_encoding, place, 0);
    uint64_t size = get_form(&cursor, description->pointer_encoding);
    if (description->has_data)
        cursor_get_counted(&cursor);
    description->program = cursor;
    description->program_address = entry->description + (uint64_t)(cursor.at - base);
    description->end = description->start + size;
    return !cursor.failed && description->start == entry->start && description->end > description->start;
}
