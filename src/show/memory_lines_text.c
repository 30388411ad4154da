#include "show/memory_lines_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "analyse/line_table.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/function_lines.h"
#include "show/lines_text.h"
#include "show/report_text.h"
#include "store/recording.h"

#define NUMBER_WIDTH 6
#define MEMORY_WIDTH 12 /* at least */
#define HITS_WIDTH   11
#define MIB          1048576.0
#define LARGE_SHARE  0.20 /* of what the function's lines have grown by */
#define SMALL_SHARE  0.05

struct page {
    struct function_lines lines;
    int precision, width;
    bool heap; /* is known */
    double growth_bytes;
};

int memory_lines_text_check_precision(int64_t precision, struct err *err)
{
    if (precision >= 0 && precision <= MEMORY_LINES_TEXT_PRECISION_MAX)
        return 0;
    return err_set(err, "--precision must be a number of digits, at most %d",
                   MEMORY_LINES_TEXT_PRECISION_MAX);
}

/* Of a line that never ended, because the program was killed in it, nothing is known but that it ran. */
static void put_memory(const struct page *page, bool known, double bytes, struct bytes *out)
{
    char text[48] = "";
    if (known)
        snprintf(text, sizeof text, "%.*f MiB", page->precision, bytes / MIB);
    bytes_putf(out, " %*s", page->width, text);
}

static double growth_of(const struct line_table_memory *memory, bool heap)
{
    return (double)(heap ? memory->heap_growth_bytes : memory->rss_growth_bytes);
}

static void put_figures(const struct page *page, const struct line_table_row *row, struct bytes *out)
{
    const struct line_table_memory *memory = &row->memory;
    bool ended = memory->rss_bytes || memory->heap_bytes;
    put_memory(page, ended, (double)memory->rss_bytes, out);
    put_memory(page, ended, (double)memory->rss_growth_bytes, out);
    bytes_putf(out, "  %*" PRIu64, HITS_WIDTH, row->hits);
    if (!page->heap)
        return;
    put_memory(page, ended, (double)memory->heap_bytes, out);
    put_memory(page, ended, (double)memory->heap_growth_bytes, out);
}

static void put_blanks(const struct page *page, struct bytes *out)
{
    int columns = page->heap ? 4 : 2;
    bytes_putf(out, "%*s", columns * (1 + page->width) + 2 + HITS_WIDTH, "");
}

/* By the heap's growth where it is known: the resident size may grow long after. */
static enum terminal_style style_of(const struct page *page, const struct line_table_row *row)
{
    double growth = row ? growth_of(&row->memory, page->heap) : 0;
    double share = page->growth_bytes > 0 ? growth / page->growth_bytes : 0;
    return share >= LARGE_SHARE ? TERMINAL_HOT : share >= SMALL_SHARE ? TERMINAL_WARM : TERMINAL_PLAIN;
}

static void put_line(void *context, uint32_t number, const struct line_table_row *row, const char *text,
                     size_t size, struct bytes *out)
{
    const struct page *page = context;
    const struct terminal *terminal = &page->lines.options->terminal;
    enum terminal_style style = style_of(page, row);
    bytes_putf(out, "%*" PRIu32, NUMBER_WIDTH, number);
    if (style)
        terminal_style(terminal, style, out);
    if (row && row->memory.known)
        put_figures(page, row, out);
    else
        put_blanks(page, out);
    if (style)
        terminal_style(terminal, TERMINAL_PLAIN, out);
    bytes_put_text(out, "   ");
    terminal_put_source(text, size, out);
    bytes_put_u8(out, '\n');
}

static void put_header(const struct page *page, struct bytes *out)
{
    size_t start = out->size;
    bytes_putf(out, "%*s %*s %*s  %*s", NUMBER_WIDTH, "Line #", page->width, "Mem usage", page->width,
               "Increment", HITS_WIDTH, "Occurrences");
    if (page->heap)
        bytes_putf(out, " %*s %*s", page->width, "Heap", page->width, "Heap growth");
    bytes_put_text(out, "   Line Contents");
    function_lines_underline(&page->lines, out->size - start, out);
}

static int precision_of(const struct report_options *options)
{
    if (options->precision < 0)
        return 0;
    return options->precision ? (int)options->precision : MEMORY_LINES_TEXT_PRECISION;
}

static void add_growth(struct page *page)
{
    for (uint32_t i = 0; i < page->lines.function->count; i++) {
        double growth = growth_of(&page->lines.rows[i].memory, page->heap);
        page->growth_bytes += growth > 0 ? growth : 0;
    }
}

void memory_lines_text_put_function(const struct recording *recording, const struct report_options *options,
                                    const struct line_table *table,
                                    const struct line_table_function *function, struct bytes *out)
{
    struct page page = {
        .lines = function_lines_of(recording, options, table, function),
        .precision = precision_of(options),
        .heap = table->has_heap,
    };
    if (!function->has_memory)
        return;
    page.width = page.precision > 3 ? MEMORY_WIDTH - 3 + page.precision : MEMORY_WIDTH;
    add_growth(&page);
    bytes_put_text(out, "Filename: ");
    terminal_put(function_lines_file(&page.lines), out);
    bytes_put_u8(out, '\n');
    function_lines_put_owner(&page.lines, out);
    if (!page.lines.source)
        function_lines_put_missing(&page.lines, out);
    bytes_put_u8(out, '\n');
    put_header(&page, out);
    function_lines_walk(&page.lines, put_line, &page, out);
    bytes_put_text(out, "\n\n");
}

/* As in their files, as long as no other order is asked for. */
static int put_table(const struct recording *recording, const struct report_options *options,
                     const struct line_table *table, struct bytes *out, struct err *err)
{
    static const char *const places[] = {"filename", "line"};
    function_lines_put_function *const puts[] = {memory_lines_text_put_function};
    struct report_options ordered = *options;
    if (!ordered.sort_count) {
        ordered.sort = places;
        ordered.sort_count = 2;
    }
    if (table->function_count)
        return function_lines_put_all(recording, &ordered, table, places[0], puts, 1, out, err);
    lines_text_put_nothing(recording, options, out);
    return 0;
}

int memory_lines_text_put(const struct recording *recording, const struct report_options *options,
                          struct bytes *out, struct err *err)
{
    struct line_table table;
    if (line_table_build(recording, &options->selection, options->by, &table, err) < 0)
        return -1;
    int result = put_table(recording, options, &table, out, err);
    line_table_clear(&table);
    return result;
}
