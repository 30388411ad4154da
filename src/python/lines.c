#include "python/lines.h"

#include <stdbool.h>

static const struct lines_location unknown = {-1, -1, -1, -1};

/* A damaged table may overflow: then the sum is wrong, but defined. */
static int32_t add(int32_t one, int32_t other)
{
    return (int32_t)((uint32_t)one + (uint32_t)other);
}

enum lines_format lines_format(uint32_t version)
{
    if (version >= 0x030b0000)
        return LINES_LOCATIONS;
    return version >= 0x030a0000 ? LINES_3_10 : LINES_3_9;
}

/* Pairs of (bytes to go, lines to add before what follows). */
static int32_t find_3_9(const uint8_t *table, size_t size, int32_t line, int32_t offset)
{
    int32_t address = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        address += table[i];
        if (address > offset)
            break;
        line = add(line, (int8_t)table[i + 1]);
    }
    return line;
}

/* Pairs of (bytes, lines to add for these bytes); -128 = these bytes belong to no line. */
static int32_t find_3_10(const uint8_t *table, size_t size, int32_t line, int32_t offset)
{
    int32_t end = 0;
    for (size_t i = 0; i + 1 < size; i += 2) {
        int8_t delta = (int8_t)table[i + 1];
        end += table[i];
        if (delta != -128)
            line = add(line, delta);
        if (offset < end)
            return delta == -128 ? -1 : line;
    }
    return -1;
}

struct location_reader {
    const uint8_t *at;
    const uint8_t *end;
};

static uint8_t next_byte(struct location_reader *reader)
{
    return reader->at < reader->end ? *reader->at++ : 0;
}

/* Six bits in each byte, the lowest first. */
static uint32_t next_number(struct location_reader *reader)
{
    uint32_t number = 0;
    for (unsigned shift = 0; shift < 32; shift += 6) {
        uint8_t byte = next_byte(reader);
        number |= (uint32_t)(byte & 63) << shift;
        if (!(byte & 64))
            break;
    }
    return number;
}

/* The sign is the lowest bit. */
static int32_t next_signed(struct location_reader *reader)
{
    uint32_t number = next_number(reader);
    return number & 1 ? -(int32_t)(number >> 1) : (int32_t)(number >> 1);
}

enum { KIND_ONE_LINE = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

static struct lines_location read_long(struct location_reader *reader, int32_t line)
{
    struct lines_location location = {.line = line};
    location.end_line = add(line, (int32_t)next_number(reader));
    location.column = add((int32_t)next_number(reader), -1);
    location.end_column = add((int32_t)next_number(reader), -1);
    return location;
}

/* One entry after its first byte; moves `line`, which entries count from. */
static struct lines_location read_entry(struct location_reader *reader, unsigned kind, int32_t *line)
{
    if (kind == KIND_NONE)
        return unknown;
    if (kind >= KIND_NO_COLUMNS) {
        *line = add(*line, next_signed(reader));
        return kind == KIND_LONG ? read_long(reader, *line) : (struct lines_location){*line, *line, -1, -1};
    }
    if (kind >= KIND_ONE_LINE) {
        *line = add(*line, (int32_t)kind - KIND_ONE_LINE);
        int32_t column = next_byte(reader);
        return (struct lines_location){*line, *line, column, next_byte(reader)};
    }
    uint8_t columns = next_byte(reader);
    int32_t column = (int32_t)(kind << 3) | columns >> 4;
    return (struct lines_location){*line, *line, column, column + (columns & 15)};
}

static struct lines_location find_location(const uint8_t *table, size_t size, int32_t line, int32_t offset)
{
    struct location_reader reader = {table, table + size};
    int32_t end = 0;
    while (reader.at < reader.end) {
        uint8_t first = next_byte(&reader);
        end += 2 * ((first & 7) + 1);
        struct lines_location location = read_entry(&reader, first >> 3 & 15, &line);
        if (offset < end)
            return location;
    }
    return unknown;
}

struct lines_location lines_find(enum lines_format format, const uint8_t *table, size_t table_bytes,
                                 int32_t first_line, int32_t offset)
{
    if (offset < 0)
        return (struct lines_location){first_line, first_line, -1, -1};
    if (format == LINES_LOCATIONS)
        return find_location(table, table_bytes, first_line, offset);
    int32_t line = format == LINES_3_9 ? find_3_9(table, table_bytes, first_line, offset)
                                       : find_3_10(table, table_bytes, first_line, offset);
    return (struct lines_location){line, line, -1, -1};
}
