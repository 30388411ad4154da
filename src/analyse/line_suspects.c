#include "analyse/line_suspects.h"

#include <string.h>

#include "analyse/labels.h"
#include "analyse/line_table.h"
#include "analyse/own_code.h"
#include "analyse/source_block.h"
#include "base/bytes.h"
#include "base/quantity.h"
#include "store/recording.h"

#define LINE_MIN_SHARE   0.05
#define SOURCE_BYTES     60
#define GROWTH_MIN_BYTES (1 << 20)
#define NAMES_MAX        3

/* Below these a function is not missed. */
#define MISSED_MIN_SHARE   0.1
#define MISSED_MIN_SAMPLES 20

static uint64_t own_ns(const struct line_table *table)
{
    uint64_t sum_ns = 0;
    for (uint32_t i = 0; i < table->function_count; i++)
        sum_ns += table->functions[i].self_ns;
    return sum_ns;
}

bool line_suspects_lie_elsewhere(const struct suspects *suspects)
{
    const struct line_table *table = &suspects->lines;
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < table->function_count; i++)
        if (table->functions[i].total_ns > longest_ns)
            longest_ns = table->functions[i].total_ns;
    return table->sums_only || own_ns(table) < longest_ns / 2;
}

/* Times with callees include each other, and are compared with their function's only. */
static uint64_t whole_ns(const struct line_table *table, const struct line_table_function *function,
                         bool with_callees)
{
    return with_callees ? function->total_ns : own_ns(table);
}

static uint64_t time_ns(const struct line_table_row *row, bool with_callees)
{
    return with_callees ? row->total_ns : row->self_ns;
}

static const struct line_table_row *hottest(const struct line_table *table, bool with_callees,
                                            const struct line_table_function **function)
{
    const struct line_table_row *best = NULL;
    for (uint32_t i = 0; i < table->function_count; i++) {
        const struct line_table_function *one = &table->functions[i];
        for (uint32_t j = 0; j < one->count; j++) {
            const struct line_table_row *row = &table->rows[one->first + j];
            if (best && time_ns(row, with_callees) <= time_ns(best, with_callees))
                continue;
            best = row;
            *function = one;
        }
    }
    return best;
}

/* The beginning of the line, where the recording has it. */
static void put_source(const struct recording *recording, uint32_t file, uint32_t number, struct bytes *text)
{
    const struct source_file *source = recording_source(recording, file);
    const char *line = "";
    size_t size = 0;
    if (source && source->size_bytes) {
        struct source_lines lines =
            source_block_seek(recording_source_text(recording, source), source->size_bytes, number);
        source_block_next(&lines, &line, &size);
    }
    while (size && (*line == ' ' || *line == '\t'))
        line++, size--;
    bool whole = size <= SOURCE_BYTES;
    size = whole ? size : SOURCE_BYTES;
    while (!whole && size && ((unsigned char)line[size] & 0xc0) == 0x80)
        size--; /* not in the middle of a character */
    bytes_put_text(text, size ? ": " : ".");
    bytes_put(text, line, size);
    bytes_put_text(text, whole ? "" : "…");
}

static void put_hits(const struct line_table_row *row, uint64_t ns, struct bytes *text)
{
    bytes_putf(text, " (%s in %s hit%s", quantity_duration((double)ns).text, quantity_count(row->hits).text,
               row->hits == 1 ? "" : "s");
    if (row->hits > 1)
        bytes_putf(text, ", %s each", quantity_duration((double)ns / (double)row->hits).text);
    bytes_put_text(text, ")");
}

double line_suspects_hot_line(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct line_table *table = &suspects->lines;
    const struct line_table_function *function = NULL;
    bool with_callees = line_suspects_lie_elsewhere(suspects);
    const struct line_table_row *row = hottest(table, with_callees, &function);
    uint64_t ns = row ? time_ns(row, with_callees) : 0;
    uint64_t whole = row ? whole_ns(table, function, with_callees) : 0;
    double share = whole ? (double)ns / (double)whole : 0;
    if (share < LINE_MIN_SHARE)
        return 0;
    *code = function->code;
    bytes_putf(text, "Line %u of ", row->line);
    labels_words(suspects->recording, function->code, text);
    bytes_putf(text,
               with_callees ? " takes %s of that function's time, with what it calls"
                            : " itself takes %s of the time of all lines",
               quantity_share(share).text);
    put_hits(row, ns, text);
    put_source(suspects->recording, suspects->recording->codes[function->code].file, row->line, text);
    return share;
}

static double growth_of(const struct line_table *table, const struct line_table_row *row)
{
    return (double)(table->has_heap ? row->memory.heap_growth_bytes : row->memory.rss_growth_bytes);
}

/* What lines of the function have added, not counting what others gave back. */
static double added_by(const struct line_table *table, const struct line_table_function *function)
{
    double sum = 0;
    for (uint32_t i = 0; i < function->count; i++) {
        double growth = growth_of(table, &table->rows[function->first + i]);
        sum += growth > 0 ? growth : 0;
    }
    return sum;
}

static const struct line_table_row *most_growing(const struct line_table *table,
                                                 const struct line_table_function **function)
{
    const struct line_table_row *best = NULL;
    for (uint32_t i = 0; i < table->function_count; i++)
        for (uint32_t j = 0; j < table->functions[i].count; j++) {
            const struct line_table_row *row = &table->rows[table->functions[i].first + j];
            if (growth_of(table, row) <= (best ? growth_of(table, best) : 0))
                continue;
            best = row;
            *function = &table->functions[i];
        }
    return best;
}

double line_suspects_growth(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct line_table *table = &suspects->lines;
    const struct line_table_function *function = NULL;
    const struct line_table_row *row = most_growing(table, &function);
    if (!row || growth_of(table, row) < GROWTH_MIN_BYTES)
        return 0;
    *code = function->code;
    bytes_putf(text, "Line %u of ", row->line);
    labels_words(suspects->recording, function->code, text);
    bytes_putf(text, " adds %s to %s in %s hit%s, with what it calls",
               quantity_bytes(growth_of(table, row)).text, table->has_heap ? "the heap" : "resident memory",
               quantity_count(row->hits).text, row->hits == 1 ? "" : "s");
    put_source(suspects->recording, suspects->recording->codes[function->code].file, row->line, text);
    return growth_of(table, row) / added_by(table, function);
}

/* The sampler does not know modules, and has names of its own for what was timed. */
static bool is_timed(const struct suspects *suspects, const struct code *code)
{
    const struct line_table *table = &suspects->lines;
    for (uint32_t i = 0; i < table->function_count; i++) {
        const struct code *timed = &suspects->recording->codes[table->functions[i].code];
        if (timed->file == code->file && timed->line == code->line)
            return true;
    }
    return false;
}

static bool is_missed(const struct suspects *suspects, const struct function_row *row)
{
    const struct recording *recording = suspects->recording;
    const struct code *code = &recording->codes[row->code];
    return row->samples >= MISSED_MIN_SAMPLES && code->kind == CODE_PYTHON &&
           recording_text(recording, code->name)[0] != '<' && !own_code_is_library(recording, code) &&
           !is_timed(suspects, code);
}

double line_suspects_not_timed(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct functions *functions = suspects->functions;
    const struct function_row *most = NULL;
    for (uint32_t i = 0; suspects->lines.function_count && i < functions->row_count; i++) {
        const struct function_row *row = &functions->rows[i];
        if (is_missed(suspects, row) && (!most || row->self > most->self))
            most = row;
    }
    double share = most && functions->total ? (double)most->self / (double)functions->total : 0;
    if (share < MISSED_MIN_SHARE)
        return 0;
    *code = most->code;
    labels_words(suspects->recording, most->code, text);
    bytes_putf(text, " takes %s of the time itself, but its lines were not timed: name it with -f.",
               quantity_share(share).text);
    return share;
}

double line_suspects_never_ran(const struct suspects *suspects, struct bytes *text, uint32_t *code)
{
    const struct line_table *table = &suspects->lines;
    uint32_t count = 0;
    struct bytes names = {0};
    for (uint32_t i = 0; i < table->function_count; i++) {
        if (table->functions[i].hits)
            continue;
        *code = *code ? *code : table->functions[i].code;
        if (count++ >= NAMES_MAX)
            continue;
        bytes_put_text(&names, count > 1 ? ", " : "");
        labels_words(suspects->recording, table->functions[i].code, &names);
    }
    if (count)
        bytes_putf(text, "%u chosen function%s never called: ", count, count == 1 ? " was" : "s were");
    bytes_put(text, names.data, names.size);
    if (count)
        bytes_put_text(text, count > NAMES_MAX ? " and others." : ".");
    bytes_clear(&names);
    return count ? 1e-6 : 0;
}
