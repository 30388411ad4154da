#include "show/function_lines.h"

#include <inttypes.h>
#include <string.h>

#include "analyse/functions.h"
#include "analyse/line_table.h"
#include "analyse/source_block.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/report_text.h"
#include "store/recording.h"

#define GAP_MAX 200

struct function_lines function_lines_of(const struct recording *recording,
                                        const struct report_options *options, const struct line_table *table,
                                        const struct line_table_function *function)
{
    const struct code *code = &recording->codes[function->code];
    return (struct function_lines){
        .recording = recording,
        .options = options,
        .function = function,
        .rows = table->rows + function->first,
        .code = code,
        .source = recording_source(recording, code->file),
    };
}

static bool is_module(const struct function_lines *lines)
{
    return strcmp(recording_text(lines->recording, lines->code->name), "<module>") == 0;
}

/* The first line that is shown, and how many: the whole function, and whatever was timed. */
static uint32_t find_lines(const struct function_lines *lines, struct source_lines text, uint32_t *first)
{
    const struct line_table_function *function = lines->function;
    uint32_t begin = lines->code->line ? lines->code->line : 1, count = 1;
    size_t size = (size_t)(text.end - text.at);
    if (lines->source && is_module(lines)) {
        const char *line;
        size_t line_size;
        for (count = 0; source_block_next(&text, &line, &line_size); count++)
            continue;
    } else if (lines->source) {
        count = source_block_lines(text.at, size, begin);
    }
    uint32_t last = begin + (count ? count - 1 : 0);
    *first = begin;
    if (function->count && lines->rows[0].line < begin)
        *first = lines->rows[0].line;
    if (function->count && lines->rows[function->count - 1].line > last)
        last = lines->rows[function->count - 1].line;
    return last - *first + 1;
}

static struct source_lines text_of(const struct function_lines *lines)
{
    size_t size = lines->source ? lines->source->size_bytes : 0;
    const char *text = size ? recording_source_text(lines->recording, lines->source) : "";
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

void function_lines_walk(const struct function_lines *lines, function_lines_put *put, void *context,
                         struct bytes *out)
{
    struct source_lines text = text_of(lines);
    uint32_t first, count = find_lines(lines, text, &first);
    const struct line_table_row *row = lines->rows, *end = row + lines->function->count;
    text = source_block_seek(text.at, (size_t)(text.end - text.at), first);
    for (uint32_t i = 0; i < count && !out->failed; i++) {
        const char *line = "";
        size_t size = 0;
        if (!source_block_next(&text, &line, &size))
            i += find_gap(row, end, first + i, count - i);
        bool measured = row < end && row->line == first + i;
        if (i < count)
            put(context, first + i, measured ? row : NULL, line, size, out);
        row += measured;
    }
}

const char *function_lines_file(const struct function_lines *lines)
{
    const char *file = recording_text(lines->recording, lines->code->file);
    return lines->options->paths == LABEL_BASE ? labels_path(file, LABEL_BASE) : file;
}

const char *function_lines_name(const struct function_lines *lines)
{
    const char *qualname = recording_text(lines->recording, lines->code->qualname);
    return qualname[0] ? qualname : recording_text(lines->recording, lines->code->name);
}

void function_lines_put_owner(const struct function_lines *lines, struct bytes *out)
{
    const struct recording *recording = lines->recording;
    uint32_t owner = lines->function->owner;
    if (!owner)
        return;
    if (lines->options->by == GROUP_PROCESS) {
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
void function_lines_underline(const struct function_lines *lines, size_t letters, struct bytes *out)
{
    const struct terminal *terminal = &lines->options->terminal;
    bytes_put_u8(out, '\n');
    terminal_style(terminal, TERMINAL_DIM, out);
    for (size_t i = 0; i < letters; i++)
        bytes_put_u8(out, '=');
    terminal_style(terminal, TERMINAL_PLAIN, out);
    bytes_put_u8(out, '\n');
}

void function_lines_put_missing(const struct function_lines *lines, struct bytes *out)
{
    bytes_put_text(out, "\nCould not find file ");
    terminal_put(function_lines_file(lines), out);
    bytes_put_text(out, "\nAre you sure you are running this program from the same directory\n"
                        "that you ran the profiler from?\n"
                        "Continuing without the function's contents.\n");
}

/* ---- all of them ---- */

/* The functions in the order that the options ask for; all of them unless told otherwise. */
static int rank(const struct recording *recording, const struct report_options *options,
                const struct line_table *table, const char *order_key, struct ranking *ranking,
                struct err *err)
{
    struct report_options order = *options;
    struct functions functions;
    order.by = GROUP_FUNCTION;
    order.limit = options->limit ? options->limit : -1;
    if (!order.sort_count) {
        order.sort = &order_key;
        order.sort_count = 1;
    }
    if (line_table_functions(table, &functions, err) < 0)
        return -1;
    int result = report_text_rows(recording, &functions, &order, ranking, NULL, err);
    functions_clear(&functions);
    return result;
}

/* Each function that the ranking has, with all its owners. */
static void put_functions(const struct recording *recording, const struct report_options *options,
                          const struct line_table *table, const struct ranking *ranking,
                          function_lines_put_function *put, struct bytes *out)
{
    const struct line_table_function *end = table->functions + table->function_count;
    for (uint32_t i = 0; i < ranking->count; i++) {
        const struct line_table_function *function = line_table_find(table, ranking->rows[i].id);
        for (; function && function < end && function->code == ranking->rows[i].id; function++)
            if (function->hits || !options->skip_zero)
                put(recording, options, table, function, out);
    }
}

int function_lines_put_all(const struct recording *recording, const struct report_options *options,
                           const struct line_table *table, const char *order,
                           function_lines_put_function *const *puts, size_t put_count, struct bytes *out,
                           struct err *err)
{
    struct ranking ranking = {0};
    if (rank(recording, options, table, order, &ranking, err) < 0)
        return -1;
    for (size_t i = 0; i < put_count; i++)
        put_functions(recording, options, table, &ranking, puts[i], out);
    ranking_clear(&ranking);
    return 0;
}
