/* sonde report: findings, tables and trees of one or more recordings. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/line_table.h"
#include "analyse/native_stacks.h"
#include "analyse/regions.h"
#include "analyse/series.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/commands.h"
#include "cli/conversion.h"
#include "cli/input.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/rank_report.h"
#include "cli/rank_run.h"
#include "cli/report_mpi.h"
#include "cli/selection_options.h"
#include "export/report_json.h"
#include "export/sources.h"
#include "export/table_csv.h"
#include "show/lines_text.h"
#include "show/memory_lines_text.h"
#include "show/report_text.h"
#include "store/recording.h"

struct values {
    struct option_list sort, restrictions;
    struct selection_part part;
    bool reverse;
    const char *limit;
    bool callers, callees, tree, bottom_up, regions;
    double min_percent;
    int64_t depth;
    const char *by, *ranks_of, *mpi;
    const char *process, *thread;
    const char *measure, *range;
    bool idle, gil, internals;
    bool strip_dirs, full_filenames;
    bool findings;
    double unit;
    bool skip_zero, summarize, extremes;
    int64_t precision;
    bool csv, json;
    const char *output;
};

static const struct values defaults = {.findings = true,
                                       .min_percent = REPORT_TEXT_MIN_PERCENT,
                                       .by = "function",
                                       .unit = LINES_TEXT_UNIT_S,
                                       .precision = MEMORY_LINES_TEXT_PRECISION};

/* In the order of enum group_by, but for the last, which is the ranks of cli/rank_report.h. */
static const char *const groupings[] = {"function", "module", "file", "thread",
                                        "process",  "line",   "rank", NULL};

#define FIELD(name) offsetof(struct values, name)

static const struct option options[] = {
    {"What to show", .kind = OPTION_HEADING},
    {"callers", 0, OPTION_FLAG, NULL, FIELD(callers), NULL,
     "List who called each function (choose the functions with --restrict)."},
    {"callees", 0, OPTION_FLAG, NULL, FIELD(callees), NULL, "List whom each function called."},
    {"tree", 't', OPTION_FLAG, NULL, FIELD(tree), NULL, "Show the call tree from the program down."},
    {"bottom-up", 'b', OPTION_FLAG, NULL, FIELD(bottom_up), NULL,
     "Show the costliest functions, each with its chains of callers."},
    {"regions", 0, OPTION_FLAG, NULL, FIELD(regions), NULL,
     "Show the time in the regions of the program (timers, zones, marked functions), with and without the "
     "regions inside; where there are several processes, the least and the most of one."},
    {"mpi", 0, OPTION_CHOICE, "WHAT", FIELD(mpi), report_mpi_tables,
     "Show what ranks did with one another: time by call (calls) and by stack (paths), who waited for whom "
     "(waits), from rank to rank (messages), by rank (ranks), or all of them."},
    {"by", 0, OPTION_CHOICE, "WHAT", FIELD(by), groupings,
     "One row for each function, module, file, thread, process, line or rank."},
    {"ranks-of", 0, OPTION_TEXT, "FUNCTION", FIELD(ranks_of), NULL,
     "Of a run with ranks: this function on each of them. A name, with its class and module or without, or a "
     "regular expression."},
    {"findings", 0, OPTION_FLAG, NULL, FIELD(findings), NULL, "Leave the findings out."},
    {"Which rows", .kind = OPTION_HEADING},
    {"sort", 's', OPTION_LIST, "KEY", FIELD(sort), NULL,
     "Order by calls, cumulative, filename, line, name, nfl, pcalls, stdname or tottime, or a beginning of "
     "one; "
     "may be repeated. Without it: tottime, the time in the function itself. Of memory also by peak, total, "
     "leaked, temporary or count, which is then what is shown. Of a run with ranks also by mean, min, max, "
     "std, "
     "imbalance, imbalance-time or present; without it by mean."},
    {"reverse", 0, OPTION_FLAG, NULL, FIELD(reverse), NULL, "Turn the order round."},
    {"restrict", 'r', OPTION_LIST, "WHAT", FIELD(restrictions), NULL,
     "Keep a number of rows (10), a fraction (0.1), or those that match a regular expression; may be "
     "repeated and "
     "is applied in order."},
    {"limit", 'n', OPTION_TEXT, "N", FIELD(limit), NULL,
     "Show at most N rows; 'all' for no limit. Without it: 25, or all that --restrict keeps."},
    {"min-percent", 0, OPTION_REAL, "P", FIELD(min_percent), NULL,
     "Leave out paths of a tree below P % of the time."},
    {"depth", 0, OPTION_NUMBER, "N", FIELD(depth), NULL, "Cut a tree N calls deep."},
    {"process", 0, OPTION_TEXT, "PID", FIELD(process), NULL, "Only this process."},
    {"thread", 0, OPTION_TEXT, "ID", FIELD(thread), NULL, "Only this thread, by its system id or its name."},
    SELECTION_OPTIONS_PART(struct values),
    {"measure", 0, OPTION_CHOICE, "WHAT", FIELD(measure), measure_names, SELECTION_OPTIONS_MEASURE_HELP},
    {"range", 0, OPTION_TEXT, "A,B", FIELD(range), NULL, SELECTION_OPTIONS_RANGE_HELP},
    {"idle", 'i', OPTION_FLAG, NULL, FIELD(idle), NULL, "Of samples: those of idle threads, too."},
    {"gil", 'g', OPTION_FLAG, NULL, FIELD(gil), NULL, "Of samples: only those of threads that held the GIL."},
    {"internals", 0, OPTION_FLAG, NULL, FIELD(internals), NULL, CONVERSION_INTERNALS_HELP},
    {"Line times", .kind = OPTION_HEADING},
    {"unit", 'u', OPTION_REAL, "SECONDS", FIELD(unit), NULL, "The unit of the times."},
    {"skip-zero", 'z', OPTION_FLAG, NULL, FIELD(skip_zero), NULL,
     "Leave out functions that were never called."},
    {"summarize", 'm', OPTION_FLAG, NULL, FIELD(summarize), NULL,
     "End with a list of the functions and their times."},
    {"extremes", 0, OPTION_FLAG, NULL, FIELD(extremes), NULL,
     "Show the shortest and the longest time of one hit."},
    {"precision", 0, OPTION_NUMBER, "N", FIELD(precision), NULL,
     "Digits behind the point, of the memory of lines."},
    {"Output", .kind = OPTION_HEADING},
    {"strip-dirs", 0, OPTION_FLAG, NULL, FIELD(strip_dirs), NULL, "Show file names without folders."},
    {"full-filenames", 0, OPTION_FLAG, NULL, FIELD(full_filenames), NULL,
     "Show paths as they were recorded."},
    {"csv", 0, OPTION_FLAG, NULL, FIELD(csv), NULL,
     "The table, the lines, the pairs (--callers, --callees), the regions or the tree as comma-separated "
     "values."},
    {"json", 0, OPTION_FLAG, NULL, FIELD(json), NULL, "Everything as one JSON document."},
    {"output", 'o', OPTION_TEXT, "FILE", FIELD(output), NULL, "Write to FILE instead of standard output."},
    {NULL},
};

static int parse_limit(const char *text, int64_t *limit, struct err *err)
{
    char *end;
    if (!text)
        return 0;
    if (strcmp(text, "all") == 0) {
        *limit = -1;
        return 0;
    }
    *limit = strtoll(text, &end, 10);
    if (*end || end == text || *limit < 0)
        return err_set(err, "--limit '%s': give a number of rows, or 'all'", text);
    *limit = *limit ? *limit : -1;
    return 0;
}

static int parse_view(const struct values *values, enum report_view *view, struct err *err)
{
    const struct {
        bool given;
        enum report_view view;
    } views[] = {{values->callers, REPORT_CALLERS},
                 {values->callees, REPORT_CALLEES},
                 {values->tree, REPORT_TREE},
                 {values->bottom_up, REPORT_BOTTOM_UP},
                 {values->regions, REPORT_REGIONS}};
    int given = (strcmp(values->by, "function") != 0) + (values->ranks_of != NULL);
    for (size_t i = 0; i < sizeof views / sizeof *views; i++) {
        given += views[i].given;
        *view = views[i].given ? views[i].view : *view;
    }
    if (given > 1)
        return err_set(err, "--callers, --callees, --tree, --bottom-up, --regions, --ranks-of and --by are "
                            "different views: give one of them");
    return 0;
}

static int find_process(const struct recording *recording, const char *text, struct selection *selection,
                        struct err *err)
{
    for (uint32_t i = 1; text && i < recording->processes_count; i++)
        if (recording->processes[i].pid == strtoull(text, NULL, 10))
            selection->process = i;
    if (text && !selection->process)
        return err_set(err, "no process %s in the recording: 'sonde report --by process' lists them", text);
    return 0;
}

static int find_thread(const struct recording *recording, const char *text, struct selection *selection,
                       struct err *err)
{
    uint32_t found = 0, count = 0;
    for (uint32_t i = 1; text && i < recording->threads_count; i++) {
        const struct thread *thread = &recording->threads[i];
        char id[24];
        snprintf(id, sizeof id, "%" PRIu64, thread->tid);
        bool named = strcmp(recording_text(recording, thread->name), text) == 0 || strcmp(id, text) == 0;
        if (named && (!selection->process || thread->process == selection->process)) {
            found = i;
            count++;
        }
    }
    selection->thread = found;
    if (text && count != 1)
        return err_set(err, "%s thread '%s' in the recording: 'sonde report --by thread' lists them",
                       count ? "more than one" : "no", text);
    return 0;
}

/* Keys that name a measure of memory say what is shown, the others how it is ordered. */
static void choose_keys(const struct values *values, bool memory, struct report_options *report)
{
    report->sort = values->sort.items;
    for (size_t i = 0; i < values->sort.count; i++)
        if (!memory || !selection_options_is_measure(values->sort.items[i]))
            values->sort.items[report->sort_count++] = values->sort.items[i];
}

/* What does not depend on the recording. */
static int choose_look(const struct values *values, struct report_options *report, struct err *err)
{
    report->reverse = values->reverse;
    report->selection.idle = values->idle;
    report->selection.gil = values->gil;
    report->restrictions = values->restrictions.items;
    report->restriction_count = values->restrictions.count;
    report->min_percent = values->min_percent > 0 ? values->min_percent : -1;
    report->depth = values->depth;
    report->no_findings = !values->findings;
    report->paths = values->full_filenames ? LABEL_FULL : values->strip_dirs ? LABEL_BASE : LABEL_SHORT;
    report->unit_s = values->unit;
    report->skip_zero = values->skip_zero;
    report->summarize = values->summarize;
    report->extremes = values->extremes;
    report->precision = values->precision ? values->precision : -1;
    while (strcmp(groupings[report->by], values->by) != 0 && strcmp(values->by, "rank") != 0)
        report->by++;
    if (parse_limit(values->limit, &report->limit, err) < 0 || lines_text_check_unit(values->unit, err) < 0 ||
        memory_lines_text_check_precision(values->precision, err) < 0 ||
        parse_view(values, &report->view, err) < 0)
        return -1;
    return 0;
}

static int choose(const struct values *values, const struct recording *recording,
                  struct report_options *report, struct err *err)
{
    const char *measure = selection_options_measure(values->measure, &values->sort, recording);
    choose_keys(values, measure_has_memory(recording), report);
    if (choose_look(values, report, err) < 0)
        return -1;
    if (find_process(recording, values->process, &report->selection, err) < 0)
        return -1;
    if (find_thread(recording, values->thread, &report->selection, err) < 0)
        return -1;
    return selection_options_choose(measure, values->range, recording, &report->selection, err);
}

static int put_tree_csv(const struct recording *recording, const struct report_options *report,
                        struct bytes *out, struct err *err)
{
    struct tree tree;
    int built = report->view == REPORT_TREE ? tree_build(recording, &report->selection, &tree, err)
                                            : tree_build_bottom_up(recording, &report->selection, &tree, err);
    if (built < 0)
        return -1;
    table_csv_tree(recording, &tree, out);
    tree_clear(&tree);
    return 0;
}

static int put_lines_csv(const struct recording *recording, const struct report_options *report,
                         struct bytes *out, struct err *err)
{
    struct line_table table;
    if (line_table_build(recording, &report->selection, report->by, &table, err) < 0)
        return -1;
    table_csv_lines(recording, &table, report->by, out);
    line_table_clear(&table);
    return 0;
}

static int put_regions_csv(const struct recording *recording, const struct report_options *report,
                           struct bytes *out, struct err *err)
{
    struct regions regions;
    if (regions_build(recording, &report->selection, &regions, err) < 0)
        return -1;
    table_csv_regions(recording, &regions, out);
    regions_clear(&regions);
    return 0;
}

static int put_csv(const struct recording *recording, struct report_options *report, struct bytes *out,
                   struct err *err)
{
    if (report->view == REPORT_TREE || report->view == REPORT_BOTTOM_UP)
        return put_tree_csv(recording, report, out, err);
    if (report->view == REPORT_REGIONS)
        return put_regions_csv(recording, report, out, err);
    bool lines = (recording->lines_count || recording->line_memory_count) && report->by != GROUP_MODULE &&
                 report->by != GROUP_FILE && report->by != GROUP_LINE &&
                 !measure_is_memory(measure_of(recording, &report->selection));
    if (report->view == REPORT_TABLE && lines)
        return put_lines_csv(recording, report, out, err);
    struct functions functions;
    struct ranking ranking = {0};
    if (functions_build(recording, &report->selection, &functions, err) < 0)
        return -1;
    report->limit = report->limit ? report->limit : -1;
    int result = 0;
    if (report->view != REPORT_TABLE)
        table_csv_edges(recording, &functions, out);
    else
        result = report_text_rows(recording, &functions, report, &ranking, NULL, err);
    if (result == 0 && report->view == REPORT_TABLE)
        table_csv_rows(recording, &functions, &ranking, report->by == GROUP_FUNCTION, out);
    ranking_clear(&ranking);
    functions_clear(&functions);
    return result;
}

static int put_report(const struct values *values, const struct recording *recording,
                      struct report_options *report, struct bytes *out, struct err *err)
{
    if (choose(values, recording, report, err) < 0)
        return -1;
    if (values->json)
        return report_json_put(recording, &report->selection, out, err);
    return values->csv ? put_csv(recording, report, out, err) : report_text_put(recording, report, out, err);
}

/* A pipe has no width: names stay whole unless COLUMNS says otherwise. */
static struct terminal terminal_for(const struct values *values)
{
    bool file = values->output && strcmp(values->output, "-") != 0;
    if (file)
        return (struct terminal){0};
    bool wide = !isatty(STDOUT_FILENO) && !getenv("COLUMNS");
    return (struct terminal){.width = wide ? 0 : message_columns(stdout), .color = message_has_color(stdout)};
}

static int report_one(const struct values *values, struct recording *recording, const char *name,
                      struct bytes *out, struct err *err)
{
    struct report_options report = {.terminal = terminal_for(values),
                                    .name = name,
                                    .modules = values->part.modules.items,
                                    .module_count = values->part.modules.count};
    if (native_stacks_name(recording, values->internals, err) < 0)
        return -1;
    if (!values->csv && !values->json && sources_load(recording, report.name) < 0)
        return err_set(err, "not enough memory for the sources");
    if (selection_options_narrow(&values->part, recording, err) < 0)
        return -1;
    return put_report(values, recording, &report, out, err);
}

/* Memory of several runs over time is not summed: they were not at the same time. */
static int report_each(const struct values *values, const struct input_paths *paths, struct bytes *out,
                       struct err *err)
{
    int result = 0;
    for (size_t i = 0; i < paths->count && result == 0; i++) {
        struct recording recording = {0};
        result = input_read(paths->items[i], &recording, err);
        if (result == 0 && i)
            bytes_put_u8(out, '\n');
        if (result == 0)
            result = report_one(values, &recording, paths->items[i], out, err);
        recording_clear(&recording);
    }
    return result;
}

/* Whether the first of several holds counters alone. */
static bool are_of_counters(const struct input_paths *paths)
{
    struct recording recording = {0};
    struct err err = {0};
    bool found = paths->count > 1 && strcmp(paths->items[0], "-") != 0 &&
                 input_read(paths->items[0], &recording, &err) == 0 && series_is_all(&recording);
    recording_clear(&recording);
    return found;
}

/* ---- runs with ranks ---- */

static bool wants_ranks(const struct values *values)
{
    return values->ranks_of || strcmp(values->by, "rank") == 0;
}

/* Other views are those of all ranks together. */
static bool may_be_of_ranks(const struct values *values)
{
    bool by_function = strcmp(values->by, "function") == 0 || wants_ranks(values);
    bool tree = values->tree && values->json; /* one of sums, with everything else */
    return by_function && !values->callers && !values->callees && !tree && !values->bottom_up &&
           !values->regions && !values->process && !values->thread && !values->part.ranks;
}

static struct rank_run_view view_of(const struct values *values)
{
    return (struct rank_run_view){.part = values->part,
                                  .sort = values->sort,
                                  .measure = values->measure,
                                  .range = values->range,
                                  .idle = values->idle,
                                  .gil = values->gil,
                                  .internals = values->internals,
                                  .paths = values->tree,
                                  .any_kind = wants_ranks(values)};
}

static int put_ranks(const struct values *values, const struct rank_table *table, const char *name,
                     struct bytes *out, struct err *err)
{
    struct report_options report = {.terminal = terminal_for(values), .name = name};
    const struct rank_report ranks = {.function = values->ranks_of,
                                      .by_rank = strcmp(values->by, "rank") == 0,
                                      .tree = values->tree,
                                      .csv = values->csv,
                                      .json = values->json};
    choose_keys(values, measure_is_memory(table->measure), &report);
    if (choose_look(values, &report, err) < 0)
        return -1;
    return rank_report_put(table, &ranks, &report, out, err);
}

/* Of the recording, or where that is NULL of the files; RANK_RUN_NONE when these are not several ranks. */
static int report_ranks(const struct values *values, struct recording *recording,
                        const struct input_paths *paths, const char *name, struct bytes *out, struct err *err)
{
    struct rank_run run = {0};
    const struct rank_run_view view = view_of(values);
    if (!may_be_of_ranks(values))
        return RANK_RUN_NONE;
    int result = recording ? rank_run_take_in(&run, &view, recording, err)
                           : rank_run_read_files(&run, &view, paths, err);
    if (result == 0)
        result = put_ranks(values, &run.table, name, out, err);
    rank_run_clear(&run);
    return result;
}

/* ---- all ---- */

static int report_sum(const struct values *values, const struct input_paths *paths, const char *name,
                      struct bytes *out, struct err *err)
{
    struct recording recording = {0};
    char *heading = NULL;
    int result = input_read_all((int)paths->count, paths->items, &recording, &heading, err);
    bool one = result == 0 && paths->count == 1;
    int ranks = one ? report_ranks(values, &recording, NULL, name, out, err) : RANK_RUN_NONE;
    if (result == 0 && ranks != RANK_RUN_NONE)
        result = ranks;
    else if (result == 0 && wants_ranks(values))
        result = err_set(err, "%s holds no run of several ranks, which --ranks-of and --by rank are about",
                         heading);
    else if (result == 0)
        result = report_one(values, &recording, heading, out, err);
    recording_clear(&recording);
    free(heading);
    return result;
}

static bool has_standard_input(const struct input_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        if (strcmp(paths->items[i], "-") == 0)
            return true;
    return false;
}

static int report_on_mpi(const struct values *values, int argc, char **argv, struct bytes *out,
                         struct err *err)
{
    struct terminal terminal = terminal_for(values);
    struct report_mpi report = {
        .table = values->mpi, .terminal = &terminal, .csv = values->csv, .json = values->json};
    if (parse_limit(values->limit, &report.limit, err) < 0)
        return -1;
    return report_mpi_put(&report, argc, argv, out, err);
}

/* As it was named; the newest recording, where it is a run, by its folder. A new string, or NULL. */
static char *name_of(int argc, char **argv, const struct input_paths *paths)
{
    const char *name = argc == 1 ? argv[0] : paths->items[0];
    const char *slash = argc == 0 && paths->count > 1 ? strrchr(name, '/') : NULL;
    return strndup(name, slash ? (size_t)(slash - name) : strlen(name));
}

static int report_inputs(const struct values *values, int argc, char **argv, struct bytes *out,
                         struct err *err)
{
    if (values->mpi)
        return report_on_mpi(values, argc, argv, out, err);
    struct input_paths paths = {0};
    enum report_view view;
    if (parse_view(values, &view, err) < 0)
        return -1;
    if (input_expand(argc, argv, &paths, err) < 0)
        return -1;
    if (values->part.ranks && rank_run_choose_files(values->part.ranks, &paths, err) < 0) {
        input_clear(&paths);
        return -1;
    }
    char *name = name_of(argc, argv, &paths);
    if (!name) {
        input_clear(&paths);
        return err_set(err, "out of memory");
    }
    bool many = paths.count > 1 && !has_standard_input(&paths);
    int result = many ? report_ranks(values, NULL, &paths, name, out, err) : RANK_RUN_NONE;
    if (result == RANK_RUN_NONE && many && !values->json && !values->csv && are_of_counters(&paths))
        result = report_each(values, &paths, out, err);
    else if (result == RANK_RUN_NONE)
        result = report_sum(values, &paths, name, out, err);
    free(name);
    input_clear(&paths);
    return result;
}

static int run(void *given, int argc, char **argv)
{
    const struct values *values = given;
    struct bytes out = {0};
    struct err err = {0};
    int result = report_inputs(values, argc, argv, &out, &err);
    if (result == 0 && out.failed)
        result = err_set(&err, "not enough memory for the report");
    if (result == 0)
        result = output_write(values->output ? values->output : "-", out.data, out.size, &err);
    bytes_clear(&out);
    return result < 0 ? message_fail(&err) : 0;
}

const struct command command_report = {
    .name = "report",
    .group = "Look",
    .summary = "Say what takes time or memory: findings, tables, callers, trees",
    .arguments = "[FILE...]",
    .description =
        "Reads .sonde recordings, cProfile files (.prof of any Python), line_profiler files (.lprof), "
        "speedscope files and collapsed stacks; several files are summed, and "
        "without one "
        "the newest recording in this folder is taken.\n\n"
        "Of a run with ranks (its folder, its files, or what 'sonde merge' made of them) the table has what "
        "each "
        "function took on one rank: the mean over all ranks, the least and the most with their ranks, the "
        "standard "
        "deviation, the imbalance, what the slowest rank has above the mean, and on how many ranks it ran. "
        "Findings "
        "say who does nothing and who too much. --tree shows call paths so; other views are of all ranks "
        "added up.\n\n"
        "The table has pstats' columns: ncalls (all calls, and after a slash those that were not recursive), "
        "tottime "
        "(seconds in the function itself), cumtime (with all that it called), and both for one call.\n\n"
        "A sampled recording has no calls: own and total are the samples with the function innermost and "
        "anywhere on "
        "the stack, each with its share of the time.\n\n"
        "Lines that were timed are printed as line_profiler prints them, the function with the most time "
        "first "
        "(--sort and --reverse order the functions, --restrict and --limit choose among them, --by thread "
        "and "
        "--by process keep apart what is added up otherwise), with the time without Python functions that "
        "the "
        "line called beside the time with them.\n\n"
        "A recording of memory has tables by what functions allocated themselves (own) and with what they "
        "called "
        "(total), with their shares and the number of blocks: alive at the peak, allocated in all, never "
        "freed, and freed at once; --sort or --measure shows one of them alone. Leaks are what is alive when "
        "the "
        "interpreter was taken down, without what it keeps for itself.\n\n"
        "A cProfile file knows who called whom but no whole paths: its tree is an estimate, and says so.",
    .examples = "sonde report\tthe newest recording in this folder\n"
                "sonde report -s cumulative -n 10 out.prof\tas pstats' sort_stats and print_stats\n"
                "sonde report --tree --min-percent 5 run.sonde\twhere the time goes, from the program down\n"
                "sonde report --callers -r 'loads' out.prof\twho called functions whose name matches\n"
                "sonde report --sort leaked --by line m.sonde\tlines whose memory was never freed\n"
                "sonde report -z s.lprof*\tas python -m line_profiler -z, the files of all ranks summed\n"
                "sonde report --module numpy --tree run.sonde\twhat leads to numpy, and what it takes\n"
                "sonde report run.1b2f --ranks-of step\tone function on every rank of a run\n"
                "sonde report run.1b2f --rank 17\tone rank as if it had run alone\n"
                "sonde report --by module cpu_*.prof\tthe sum of many files, by module",
    .options = options,
    .defaults = &defaults,
    .values_size = sizeof(struct values),
    .run = run,
};
