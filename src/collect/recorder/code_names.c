#include "collect/recorder/code_names.h"

#include <stdlib.h>

#include "collect/agent/code_rows.h"
#include "python/lines.h"
#include "store/writer.h"

bool code_names_init(struct code_names *names, const struct code_rows *rows, struct writer *writer,
                     uint32_t python)
{
    *names = (struct code_names){.rows = rows,
                                 .writer = writer,
                                 .python = python,
                                 .codes = calloc(CODE_ROWS_MAX, sizeof *names->codes)};
    return names->codes;
}

void code_names_clear(struct code_names *names)
{
    map_clear(&names->lines);
    free(names->codes);
    names->codes = NULL;
}

static uint32_t copy_text(struct code_names *names, uint32_t text)
{
    uint32_t size;
    const uint8_t *bytes = code_rows_text(names->rows, text, &size);
    return bytes ? writer_string(names->writer, (const char *)bytes, size) : 0;
}

static uint32_t define(struct code_names *names, const struct code_row *row)
{
    struct code code = {
        .name = copy_text(names, row->name),
        .qualname = copy_text(names, row->qualname ? row->qualname : row->name),
        .file = copy_text(names, row->filename),
        .line = row->first_line > 0 ? (uint32_t)row->first_line : 0,
        .kind = row->made_up ? CODE_OTHER : CODE_PYTHON,
    };
    return writer_code(names->writer, &code);
}

uint32_t code_names_id(struct code_names *names, uint32_t row)
{
    if (row == 0 || row >= CODE_ROWS_MAX ||
        !__atomic_load_n(&names->rows->rows[row].ready, __ATOMIC_ACQUIRE)) {
        const struct code unknown = {.name = writer_string(names->writer, "(unknown)", 9),
                                     .kind = CODE_OTHER};
        return writer_code(names->writer, &unknown);
    }
    if (!names->codes[row])
        names->codes[row] = define(names, &names->rows->rows[row]);
    return names->codes[row];
}

uint32_t code_names_line(struct code_names *names, uint32_t row, int32_t offset)
{
    if (row == 0 || row >= CODE_ROWS_MAX)
        return 0;
    uint64_t key = map_pair(row, (uint32_t)offset);
    uint32_t known = map_get(&names->lines, key);
    if (known != MAP_NONE)
        return known;
    const struct code_row *code = &names->rows->rows[row];
    uint32_t size;
    const uint8_t *table = code_rows_text(names->rows, code->lines, &size);
    struct lines_location location = {.line = code->first_line};
    if (table)
        location = lines_find(lines_format(names->python), table, size, code->first_line, offset);
    uint32_t line = location.line > 0 ? (uint32_t)location.line : 0;
    map_set(&names->lines, key, line);
    return line;
}
