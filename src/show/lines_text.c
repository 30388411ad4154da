#include "show/lines_text.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/line_table.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/function_lines.h"
#include "show/report_text.h"
#include "store/recording.h"

#define HOT_SHARE    0.20
#define WARM_SHARE   0.05
#define UNIT_MAX_S   1e6
#define CELL_SIZE    32
#define NUMBER_WIDTH 6 /* of the line's number */

enum column { HITS, TIME, PER_HIT, PERCENT, SELF, SHORTEST, LONGEST, COLUMNS };

static const struct {
    const char *name;
    unsigned width; /* at least */
} columns[COLUMNS] = {
    [HITS] = {"Hits", 9},      [TIME] = {"Time", 12},      [PER_HIT] = {"Per Hit", 8},
    [PERCENT] = {"% Time", 8}, [SELF] = {"Self Time", 12}, [SHORTEST] = {"Min", 8},
    [LONGEST] = {"Max", 8},
};

/* The figures of one line as they are printed. */
struct cells {
    char texts[COLUMNS][CELL_SIZE];
};

/* One function on its way to the page. */
struct block {
    struct function_lines lines;
    double unit_s;
    bool shown[COLUMNS];
    unsigned widths[COLUMNS];
};

int lines_text_check_unit(double unit_s, struct err *err)
{
    if (unit_s > 0 && unit_s <= UNIT_MAX_S)
        return 0;
    return err_set(err, "--unit must be a number of seconds above 0, such as 1e-6");
}

static double unit_of(const struct report_options *options)
{
    return options->unit_s > 0 ? options->unit_s : LINES_TEXT_UNIT_S;
}

/* With a decimal, unless that is wider than the column: then three digits and an exponent. */
static void format_time(enum column column, double value, char *text)
{
    if (snprintf(text, CELL_SIZE, "%5.1f", value) > (int)columns[column].width)
        snprintf(text, CELL_SIZE, "%5.3g", value);
}

static struct cells format_row(const struct block *block, const struct line_table_row *row)
{
    struct cells cells = {0};
    double scale = 1e-9 / block->unit_s, total_ns = (double)row->total_ns;
    if (snprintf(cells.texts[HITS], CELL_SIZE, "%" PRIu64, row->hits) > (int)columns[HITS].width)
        snprintf(cells.texts[HITS], CELL_SIZE, "%g", (double)row->hits);
    format_time(TIME, total_ns * scale, cells.texts[TIME]);
    if (row->hits)
        format_time(PER_HIT, total_ns * scale / (double)row->hits, cells.texts[PER_HIT]);
    if (block->lines.function->total_ns)
        snprintf(cells.texts[PERCENT], CELL_SIZE, "%5.1f",
                 100 * total_ns / (double)block->lines.function->total_ns);
    format_time(SELF, (double)row->self_ns * scale, cells.texts[SELF]);
    format_time(SHORTEST, (double)row->min_ns * scale, cells.texts[SHORTEST]);
    format_time(LONGEST, (double)row->max_ns * scale, cells.texts[LONGEST]);
    return cells;
}

/* Columns grow with their numbers, but for the share, which never needs to. */
static void set_widths(struct block *block)
{
    for (int column = 0; column < COLUMNS; column++)
        block->widths[column] = columns[column].width;
    for (uint32_t i = 0; i < block->lines.function->count; i++) {
        struct cells cells = format_row(block, &block->lines.rows[i]);
        for (int column = 0; column < COLUMNS; column++) {
            unsigned size = (unsigned)strlen(cells.texts[column]);
            if (size > block->widths[column])
                block->widths[column] = size;
        }
    }
}

static void put_cells(const struct block *block, const struct cells *cells, struct bytes *out)
{
    for (int column = 0; column < COLUMNS; column++)
        if (block->shown[column])
            bytes_putf(out, " %*s", (int)block->widths[column], cells ? cells->texts[column] : "");
}

static void put_header(const struct block *block, struct bytes *out)
{
    size_t start = out->size;
    bytes_putf(out, "%*s", NUMBER_WIDTH, "Line #");
    for (int column = 0; column < COLUMNS; column++)
        if (block->shown[column])
            bytes_putf(out, " %*s", (int)block->widths[column], columns[column].name);
    bytes_put_text(out, "  Line Contents");
    function_lines_underline(&block->lines, out->size - start, out);
}

static enum terminal_style style_of(const struct block *block, const struct line_table_row *row)
{
    uint64_t whole_ns = block->lines.function->total_ns;
    double share = row && whole_ns ? (double)row->total_ns / (double)whole_ns : 0;
    return share >= HOT_SHARE ? TERMINAL_HOT : share >= WARM_SHARE ? TERMINAL_WARM : TERMINAL_PLAIN;
}

static void put_line(void *context, uint32_t number, const struct line_table_row *row, const char *text,
                     size_t size, struct bytes *out)
{
    const struct block *block = context;
    enum terminal_style style = style_of(block, row);
    struct cells cells = {0};
    if (row)
        cells = format_row(block, row);
    bytes_putf(out, "%*" PRIu32, NUMBER_WIDTH, number);
    if (style)
        terminal_style(&block->lines.options->terminal, style, out);
    put_cells(block, row ? &cells : NULL, out);
    if (style)
        terminal_style(&block->lines.options->terminal, TERMINAL_PLAIN, out);
    bytes_put_text(out, "  ");
    terminal_put_source(text, size, out);
    bytes_put_u8(out, '\n');
}

static void put_block(struct block *block, struct bytes *out)
{
    const struct terminal *terminal = &block->lines.options->terminal;
    set_widths(block);
    bytes_putf(out, "Total time: %g s\nFile: ", (double)block->lines.function->total_ns * 1e-9);
    terminal_put(function_lines_file(&block->lines), out);
    bytes_put_text(out, "\nFunction: ");
    terminal_style(terminal, TERMINAL_BOLD, out);
    terminal_put(function_lines_name(&block->lines), out);
    terminal_style(terminal, TERMINAL_PLAIN, out);
    bytes_putf(out, " at line %" PRIu32 "\n", block->lines.code->line);
    function_lines_put_owner(&block->lines, out);
    if (!block->lines.source)
        function_lines_put_missing(&block->lines, out);
    bytes_put_u8(out, '\n');
    put_header(block, out);
    function_lines_walk(&block->lines, put_line, block, out);
    bytes_put_u8(out, '\n');
}

static void put_summary(struct block *block, struct bytes *out)
{
    bytes_putf(out, "%6.2f seconds - ", (double)block->lines.function->total_ns * 1e-9);
    terminal_put(function_lines_file(&block->lines), out);
    bytes_putf(out, ":%" PRIu32 " - ", block->lines.code->line);
    terminal_put(function_lines_name(&block->lines), out);
    bytes_put_u8(out, '\n');
}

static struct block make_block(const struct recording *recording, const struct report_options *options,
                               const struct line_table *table, const struct line_table_function *function)
{
    bool extremes = options->extremes && !function->sums_only;
    return (struct block){
        .lines = function_lines_of(recording, options, table, function),
        .unit_s = unit_of(options),
        .shown = {true, true, true, true, !function->sums_only && function->hits, extremes, extremes},
    };
}

void lines_text_put_function(const struct recording *recording, const struct report_options *options,
                             const struct line_table *table, const struct line_table_function *function,
                             struct bytes *out)
{
    struct block block = make_block(recording, options, table, function);
    put_block(&block, out);
}

void lines_text_put_summary(const struct recording *recording, const struct report_options *options,
                            const struct line_table *table, const struct line_table_function *function,
                            struct bytes *out)
{
    struct block block = make_block(recording, options, table, function);
    put_summary(&block, out);
}

void lines_text_put_nothing(const struct recording *recording, const struct report_options *options,
                            struct bytes *out)
{
    struct bytes text = {0};
    line_table_explain(recording, &text);
    bytes_put_u8(&text, '\0');
    if (!text.failed)
        terminal_wrap(&options->terminal, (const char *)text.data, 0, 0, out);
    bytes_clear(&text);
}

static int put_table(const struct recording *recording, const struct report_options *options,
                     const struct line_table *table, struct bytes *out, struct err *err)
{
    function_lines_put_function *const puts[] = {lines_text_put_function, lines_text_put_summary};
    if (!table->function_count) {
        lines_text_put_nothing(recording, options, out);
        return 0;
    }
    bytes_putf(out, "Timer unit: %g s\n\n", unit_of(options));
    return function_lines_put_all(recording, options, table, "cumulative", puts, options->summarize ? 2 : 1,
                                  out, err);
}

int lines_text_put(const struct recording *recording, const struct report_options *options, struct bytes *out,
                   struct err *err)
{
    struct line_table table;
    if (line_table_build(recording, &options->selection, options->by, &table, err) < 0)
        return -1;
    int result = put_table(recording, options, &table, out, err);
    line_table_clear(&table);
    return result;
}
