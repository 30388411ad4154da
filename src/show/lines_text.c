#include "show/lines_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/functions.h"
#include "analyse/line_table.h"
#include "analyse/source_block.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/quantity.h"
#include "show/report_text.h"
#include "store/recording.h"

#define HOT_SHARE    0.20
#define WARM_SHARE   0.05
#define UNIT_MAX_S   1e6
#define CELL_SIZE    32
#define NUMBER_WIDTH 6 /* of the line's number */
#define GAP_MAX      200

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
    const struct recording *recording;
    const struct report_options *options;
    const struct line_table_function *function;
    const struct line_table_row *rows; /* of the function */
    const struct code *code;
    const struct source_file *source; /* NULL = not to be had */
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
    if (block->function->total_ns)
        snprintf(cells.texts[PERCENT], CELL_SIZE, "%5.1f",
                 100 * total_ns / (double)block->function->total_ns);
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
    for (uint32_t i = 0; i < block->function->count; i++) {
        struct cells cells = format_row(block, &block->rows[i]);
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
    const struct terminal *terminal = &block->options->terminal;
    size_t start = out->size;
    bytes_putf(out, "%*s", NUMBER_WIDTH, "Line #");
    for (int column = 0; column < COLUMNS; column++)
        if (block->shown[column])
            bytes_putf(out, " %*s", (int)block->widths[column], columns[column].name);
    bytes_put_text(out, "  Line Contents");
    size_t size = out->size - start;
    bytes_put_u8(out, '\n');
    terminal_style(terminal, TERMINAL_DIM, out);
    for (size_t i = 0; i < size; i++)
        bytes_put_u8(out, '=');
    terminal_style(terminal, TERMINAL_PLAIN, out);
    bytes_put_u8(out, '\n');
}

static enum terminal_style style_of(const struct block *block, const struct line_table_row *row)
{
    uint64_t whole_ns = block->function->total_ns;
    double share = row && whole_ns ? (double)row->total_ns / (double)whole_ns : 0;
    return share >= HOT_SHARE ? TERMINAL_HOT : share >= WARM_SHARE ? TERMINAL_WARM : TERMINAL_PLAIN;
}

static void put_line(const struct block *block, uint32_t number, const struct line_table_row *row,
                     const char *text, size_t size, struct bytes *out)
{
    enum terminal_style style = style_of(block, row);
    struct cells cells = {0};
    if (row)
        cells = format_row(block, row);
    bytes_putf(out, "%*" PRIu32, NUMBER_WIDTH, number);
    if (style)
        terminal_style(&block->options->terminal, style, out);
    put_cells(block, row ? &cells : NULL, out);
    if (style)
        terminal_style(&block->options->terminal, TERMINAL_PLAIN, out);
    bytes_put_text(out, "  ");
    terminal_put_source(text, size, out);
    bytes_put_u8(out, '\n');
}

static bool is_module(const struct block *block)
{
    return strcmp(recording_text(block->recording, block->code->name), "<module>") == 0;
}

/* The first line that is shown, and how many: the whole function, and whatever was timed. */
static uint32_t find_lines(const struct block *block, struct source_lines text, uint32_t *first)
{
    const struct line_table_function *function = block->function;
    uint32_t begin = block->code->line ? block->code->line : 1, count = 1;
    size_t size = (size_t)(text.end - text.at);
    if (block->source && is_module(block)) {
        const char *line;
        size_t line_size;
        for (count = 0; source_block_next(&text, &line, &line_size); count++)
            continue;
    } else if (block->source) {
        count = source_block_lines(text.at, size, begin);
    }
    uint32_t last = begin + (count ? count - 1 : 0);
    *first = begin;
    if (function->count && block->rows[0].line < begin)
        *first = block->rows[0].line;
    if (function->count && block->rows[function->count - 1].line > last)
        last = block->rows[function->count - 1].line;
    return last - *first + 1;
}

static struct source_lines text_of(const struct block *block)
{
    size_t size = block->source ? block->source->size_bytes : 0;
    const char *text = size ? recording_source_text(block->recording, block->source) : "";
    return (struct source_lines){text, text + size};
}

/* How many lines from here on are left out: where there is neither text nor time for long, a row's number is not to be
 * believed, and nobody wants to see all the lines before it. */
static uint32_t find_gap(const struct line_table_row *row, const struct line_table_row *end, uint32_t number,
                         uint32_t left)
{
    uint32_t gap = row < end ? row->line - number : left;
    return gap > GAP_MAX ? gap : 0;
}

static void put_lines(const struct block *block, struct bytes *out)
{
    struct source_lines text = text_of(block);
    uint32_t first, count = find_lines(block, text, &first);
    const struct line_table_row *row = block->rows, *end = row + block->function->count;
    text = source_block_seek(text.at, (size_t)(text.end - text.at), first);
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        const char *line = "";
        size_t size = 0;
        if (!source_block_next(&text, &line, &size))
            i += find_gap(row, end, first + i, count - i);
        bool timed = row < end && row->line == first + i;
        if (i < count)
            put_line(block, first + i, timed ? row : NULL, line, size, out);
        row += timed;
    }
}

static const char *file_of(const struct block *block)
{
    const char *file = recording_text(block->recording, block->code->file);
    return block->options->paths == LABEL_BASE ? labels_path(file, LABEL_BASE) : file;
}

static const char *name_of(const struct block *block)
{
    const char *qualname = recording_text(block->recording, block->code->qualname);
    return qualname[0] ? qualname : recording_text(block->recording, block->code->name);
}

static void put_owner(const struct block *block, struct bytes *out)
{
    const struct recording *recording = block->recording;
    uint32_t owner = block->function->owner;
    if (!owner)
        return;
    if (block->options->by == GROUP_PROCESS) {
        bytes_putf(out, "Process: %" PRIu64, recording->processes[owner].pid);
        if (recording->processes[owner].rank != UINT32_MAX)
            bytes_putf(out, " (rank %" PRIu32 ")", recording->processes[owner].rank);
    } else {
        bytes_putf(out, "Thread: %" PRIu64 " ", recording->threads[owner].tid);
        terminal_put(recording_text(recording, recording->threads[owner].name), out);
    }
    bytes_put_u8(out, '\n');
}

/* What line_profiler says; but it leaves out whose lines they are. */
static void put_missing(const struct block *block, struct bytes *out)
{
    bytes_put_text(out, "\nCould not find file ");
    terminal_put(file_of(block), out);
    bytes_put_text(out, "\nAre you sure you are running this program from the same directory\n"
                        "that you ran the profiler from?\n"
                        "Continuing without the function's contents.\n");
}

static void put_block(struct block *block, struct bytes *out)
{
    const struct terminal *terminal = &block->options->terminal;
    set_widths(block);
    bytes_putf(out, "Total time: %g s\nFile: ", (double)block->function->total_ns * 1e-9);
    terminal_put(file_of(block), out);
    bytes_put_text(out, "\nFunction: ");
    terminal_style(terminal, TERMINAL_BOLD, out);
    terminal_put(name_of(block), out);
    terminal_style(terminal, TERMINAL_PLAIN, out);
    bytes_putf(out, " at line %" PRIu32 "\n", block->code->line);
    put_owner(block, out);
    if (!block->source)
        put_missing(block, out);
    bytes_put_u8(out, '\n');
    put_header(block, out);
    put_lines(block, out);
    bytes_put_u8(out, '\n');
}

static void put_summary(struct block *block, struct bytes *out)
{
    bytes_putf(out, "%6.2f seconds - ", (double)block->function->total_ns * 1e-9);
    terminal_put(file_of(block), out);
    bytes_putf(out, ":%" PRIu32 " - ", block->code->line);
    terminal_put(name_of(block), out);
    bytes_put_u8(out, '\n');
}

static struct block make_block(const struct recording *recording, const struct report_options *options,
                               const struct line_table *table, const struct line_table_function *function)
{
    const struct code *code = &recording->codes[function->code];
    bool extremes = options->extremes && !function->sums_only;
    return (struct block){
        .recording = recording,
        .options = options,
        .function = function,
        .rows = table->rows + function->first,
        .code = code,
        .source = recording_source(recording, code->file),
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

typedef void put_function(const struct recording *recording, const struct report_options *options,
                          const struct line_table *table, const struct line_table_function *function,
                          struct bytes *out);

/* Each function that the ranking has, with all its owners. */
static void put_functions(const struct recording *recording, const struct report_options *options,
                          const struct line_table *table, const struct ranking *ranking, put_function *put,
                          struct bytes *out)
{
    const struct line_table_function *end = table->functions + table->function_count;
    for (uint32_t i = 0; i < ranking->count; i++) {
        const struct line_table_function *function = line_table_find(table, ranking->rows[i].id);
        for (; function && function < end && function->code == ranking->rows[i].id; function++)
            if (function->hits || !options->skip_zero)
                put(recording, options, table, function, out);
    }
}

static void put_nothing(const struct recording *recording, const struct report_options *options,
                        struct bytes *out)
{
    struct bytes text = {0};
    line_table_explain(recording, &text);
    bytes_put_u8(&text, '\0');
    if (!text.failed)
        terminal_wrap(&options->terminal, (const char *)text.data, 0, 0, out);
    bytes_clear(&text);
}

/* The functions in the order that the options ask for; all of them unless told otherwise. */
static int rank(const struct recording *recording, const struct report_options *options,
                const struct line_table *table, struct ranking *ranking, struct err *err)
{
    static const char *const hottest_first[] = {"cumulative"};
    struct report_options order = *options;
    struct functions functions;
    order.by = GROUP_FUNCTION;
    order.limit = options->limit ? options->limit : -1;
    if (!order.sort_count) {
        order.sort = hottest_first;
        order.sort_count = 1;
    }
    if (line_table_functions(table, &functions, err) < 0)
        return -1;
    int result = report_text_rows(recording, &functions, &order, ranking, NULL, err);
    functions_clear(&functions);
    return result;
}

static int put_table(const struct recording *recording, const struct report_options *options,
                     const struct line_table *table, struct bytes *out, struct err *err)
{
    struct ranking ranking = {0};
    if (!table->function_count) {
        put_nothing(recording, options, out);
        return 0;
    }
    if (rank(recording, options, table, &ranking, err) < 0)
        return -1;
    bytes_putf(out, "Timer unit: %g s\n\n", unit_of(options));
    put_functions(recording, options, table, &ranking, lines_text_put_function, out);
    if (options->summarize)
        put_functions(recording, options, table, &ranking, lines_text_put_summary, out);
    ranking_clear(&ranking);
    return 0;
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
