#include "cli/rank_report.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/labels.h"
#include "analyse/rank_rows.h"
#include "analyse/restrict.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/suggest.h"
#include "export/rank_csv.h"
#include "export/rank_json.h"
#include "show/rank_bars.h"
#include "show/rank_text.h"
#include "show/report_text.h"

#define FUNCTIONS_MAX 5 /* that are shown one after the other, unless a limit is given */

/* Functions that were asked for, the one with the most time first. */
struct asked {
    uint32_t *codes;
    uint32_t count;
};

static bool is_text(struct bytes *text, const char *name)
{
    bytes_put_u8(text, '\0');
    bool found = !text->failed && strcmp((const char *)text->data, name) == 0;
    bytes_reset(text);
    return found;
}

/* "solver" of "app/solver.py": what people call a script whose module is "__main__". */
static void put_stem(const char *file, struct bytes *text)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strchr(name, '.');
    bytes_put(text, name, dot ? (size_t)(dot - name) : strlen(name));
}

/* "step", "Solver.step", "app.solver.Solver.step", "solver.Solver.step". */
static bool is_called(const struct recording *names, uint32_t code, const char *name, struct bytes *text)
{
    if (strcmp(recording_text(names, names->codes[code].name), name) == 0)
        return true;
    labels_brief(names, code, text);
    if (is_text(text, name))
        return true;
    labels_module(names, code, text);
    bytes_put_u8(text, '.');
    labels_brief(names, code, text);
    if (is_text(text, name))
        return true;
    put_stem(recording_text(names, names->codes[code].file), text);
    bytes_put_u8(text, '.');
    labels_brief(names, code, text);
    return is_text(text, name);
}

/* `rows` come sorted by mean. */
static void find_named(const struct rank_table *table, const struct rank_rows *rows, const char *name,
                       struct asked *asked)
{
    struct bytes text = {0};
    for (uint32_t i = 0; i < rows->ranking.count; i++)
        if (is_called(&table->names, rows->ranking.rows[i].id, name, &text))
            asked->codes[asked->count++] = rows->ranking.rows[i].id;
    bytes_clear(&text);
}

static int find_matching(const struct rank_rows *rows, const char *pattern, struct asked *asked,
                         struct err *err)
{
    regex_t regex;
    if (restrict_compile(&regex, pattern, err) < 0)
        return -1;
    for (uint32_t i = 0; i < rows->ranking.count; i++)
        if (regexec(&regex, rows->ranking.rows[i].label, 0, NULL, 0) == 0)
            asked->codes[asked->count++] = rows->ranking.rows[i].id;
    regfree(&regex);
    return 0;
}

static int not_found(const struct rank_table *table, const char *name, struct err *err)
{
    struct suggestion suggestion = {.word = name};
    for (uint32_t code = 1; code < table->names.codes_count; code++)
        suggest_try(&suggestion, recording_text(&table->names, table->names.codes[code].name));
    if (suggestion.nearest)
        return err_set(err, "no function '%s' on any rank; did you mean '%s'?", name, suggestion.nearest);
    return err_set(err, "no function '%s' on any rank: 'sonde report' lists them", name);
}

static int find_functions(const struct rank_table *table, const char *name, struct asked *asked,
                          struct err *err)
{
    struct rank_rows rows;
    if (rank_rows_build(table, RANK_TOTAL, LABEL_FULL, &rows, err) < 0)
        return -1;
    asked->codes = malloc(((size_t)rows.ranking.count + 1) * sizeof *asked->codes);
    int result = asked->codes ? rank_rows_sort(&rows, NULL, 0, false, err) : err_set(err, "out of memory");
    if (result == 0)
        find_named(table, &rows, name, asked);
    if (result == 0 && !asked->count)
        result = find_matching(&rows, name, asked, err);
    rank_rows_clear(&rows);
    return result < 0 || asked->count ? result : not_found(table, name, err);
}

static int put_bars(const struct rank_table *table, const struct asked *asked,
                    const struct report_options *options, struct bytes *out, struct err *err)
{
    uint32_t limit = options->limit > 0 ? (uint32_t)options->limit : FUNCTIONS_MAX;
    for (uint32_t i = 0; i < asked->count && i < limit; i++) {
        bytes_put_text(out, i ? "\n" : "");
        if (rank_bars_put(table, asked->codes[i], options, out, err) < 0)
            return -1;
    }
    if (asked->count > limit)
        bytes_putf(out, "\n%u more functions are called so (--limit shows more)\n", asked->count - limit);
    return 0;
}

/* Tables for programs are whole unless a limit is given. */
static int put_rows(const struct rank_table *table, const struct rank_report *report,
                    const struct report_options *options, const struct asked *asked, struct bytes *out,
                    struct err *err)
{
    struct report_options whole = *options;
    struct rank_rows rows;
    int result = 0;
    whole.limit = options->limit ? options->limit : -1;
    if (rank_text_rows(table, &whole, &rows, NULL, err) < 0)
        return -1;
    if (report->json)
        result = rank_json_put(table, &rows, asked->codes, asked->count, out, err);
    else
        rank_csv_functions(table, &rows, out);
    rank_rows_clear(&rows);
    return result;
}

static int put_asked(const struct rank_table *table, const struct rank_report *report,
                     const struct report_options *options, const struct asked *asked, struct bytes *out,
                     struct err *err)
{
    if (report->json)
        return put_rows(table, report, options, asked, out, err);
    if (!report->csv)
        return put_bars(table, asked, options, out, err);
    rank_csv_cells(table, asked->codes, asked->count, out);
    return 0;
}

int rank_report_put(const struct rank_table *table, const struct rank_report *report,
                    const struct report_options *options, struct bytes *out, struct err *err)
{
    struct asked asked = {0};
    if (report->function) {
        int result = find_functions(table, report->function, &asked, err);
        if (result == 0)
            result = put_asked(table, report, options, &asked, out, err);
        free(asked.codes);
        return result;
    }
    if (report->tree)
        return report->csv ? rank_csv_paths(table, out, err) : rank_text_put_tree(table, options, out, err);
    if (report->by_rank && report->csv)
        rank_csv_ranks(table, out);
    else if (report->csv || report->json)
        return put_rows(table, report, options, &asked, out, err);
    else
        return report->by_rank ? rank_text_put_ranks(table, options, out, err)
                               : rank_text_put(table, options, out, err);
    return 0;
}
