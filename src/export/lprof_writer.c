#include "export/lprof_writer.h"

#include <string.h>

#include "analyse/line_table.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/python_text.h"
#include "store/recording.h"

#define PROTOCOL_2 "\x80\x02" /* Python 2 reads it, too */
/* The one place where both old and new releases have it. */
#define LINE_STATS "cline_profiler._line_profiler\nLineStats\n"

static void put_text(struct bytes *out, const struct recording *recording, uint32_t string)
{
    python_text_put(out, 'X', recording_text(recording, string), strings_size(&recording->strings, string));
}

/* Four bytes have a sign; more than that are counted, and end with a byte that says that there is none. */
static void put_integer(struct bytes *out, uint64_t value)
{
    if (value <= INT32_MAX) {
        bytes_put_u8(out, 'J');
        bytes_put_u32(out, (uint32_t)value);
        return;
    }
    bytes_put_text(out, "\x8a\x09");
    bytes_put_u64(out, value);
    bytes_put_u8(out, 0);
}

static void put_real(struct bytes *out, double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    bytes_put_u8(out, 'G');
    bytes_put_u64(out, __builtin_bswap64(bits)); /* it is big-endian */
}

static void put_function(const struct recording *recording, const struct line_table *table,
                         const struct line_table_function *function, struct bytes *out)
{
    const struct code *code = &recording->codes[function->code];
    put_text(out, recording, code->file);
    put_integer(out, code->line);
    put_text(out, recording, code->qualname ? code->qualname : code->name);
    bytes_put_text(out, "\x87](");
    for (uint32_t i = 0; i < function->count; i++) {
        const struct line_table_row *row = &table->rows[function->first + i];
        put_integer(out, row->line);
        put_integer(out, row->hits);
        put_integer(out, row->total_ns);
        bytes_put_u8(out, 0x87);
    }
    bytes_put_u8(out, 'e');
}

int lprof_writer_write(const struct recording *recording, const struct line_table *table, struct bytes *out,
                       struct err *err)
{
    bytes_put_text(out, PROTOCOL_2 LINE_STATS ")\x81}(");
    python_text_put(out, 'X', "timings", 7);
    bytes_put_text(out, "}(");
    for (uint32_t i = 0; i < table->function_count; i++)
        put_function(recording, table, &table->functions[i], out);
    bytes_put_u8(out, 'u');
    python_text_put(out, 'X', "unit", 4);
    put_real(out, 1e-9);
    bytes_put_text(out, "ub.");
    return out->failed ? err_set(err, "not enough memory for the .lprof file") : 0;
}
