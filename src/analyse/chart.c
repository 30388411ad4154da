#include "analyse/chart.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/chart_curve.h"
#include "analyse/chart_spans.h"
#include "analyse/series.h"
#include "base/bytes.h"
#include "base/err.h"
#include "store/recording.h"

#define VALUE_MARKS       6
#define VALUE_MARKS_BELOW 4    /* panels below the first are half as high */
#define COMMAND_BYTES     60   /* of a process's command line in a label */
#define HEADROOM          0.07 /* above the highest value, for its text */
#define NAMED_MAX         100  /* counters that are looked at for a message */
#define RISEN             0.75 /* a panel whose lowest value is above this share of the highest does not begin at 0 */

/* Room for one more row in an array that doubles. */
static void *grow(void *rows, uint32_t count, size_t size, struct err *err)
{
    if (count & (count - 1)) /* room is made at powers of two */
        return rows;
    void *larger = realloc(rows, (count ? (size_t)count * 2 : 1) * size);
    if (!larger)
        err_set(err, "out of memory for the plot");
    return larger;
}

#define GROW(rows, count, err)                                                                               \
    do {                                                                                                     \
        void *larger = grow(rows, count, sizeof *(rows), err);                                               \
        if (!larger)                                                                                         \
            return -1;                                                                                       \
        (rows) = larger;                                                                                     \
    } while (0)

static char *text_of(struct bytes *bytes)
{
    size_t size;
    bytes_put_u8(bytes, 0);
    if (bytes->failed)
        bytes_clear(bytes);
    return (char *)bytes_take(bytes, &size);
}

/* ---- which counters ---- */

static const char *counter_name(const struct recording *recording, uint32_t id)
{
    return recording_text(recording, recording->counters[id].name);
}

static bool counts_bytes(const struct recording *recording, const struct counter *counter)
{
    return counter->kind != COUNTER_SUM && strcmp(recording_text(recording, counter->unit), "bytes") == 0;
}

static bool has_bytes(const struct recording *recording)
{
    for (uint32_t id = 1; id < recording->counters_count; id++)
        if (counts_bytes(recording, &recording->counters[id]) && series_of(recording, id).count)
            return true;
    return false;
}

static bool is_chosen(const struct recording *recording, uint32_t id, const struct chart_options *options,
                      bool only_bytes)
{
    if (!options->counter_count)
        return counts_bytes(recording, &recording->counters[id]) || !only_bytes;
    for (size_t i = 0; i < options->counter_count; i++)
        if (strcmp(options->counters[i], counter_name(recording, id)) == 0)
            return true;
    return false;
}

/* Each name once; of many processes' counters the first will do. */
static void put_names(const struct recording *recording, struct bytes *out)
{
    for (uint32_t id = 1; id < recording->counters_count && id <= NAMED_MAX; id++) {
        bool met = false;
        for (uint32_t other = 1; other < id && !met; other++)
            met = recording->counters[other].name == recording->counters[id].name;
        if (!met)
            bytes_putf(out, "%s%.80s", out->size ? ", " : "", counter_name(recording, id));
    }
}

static int fail_without(const struct recording *recording, const char *name, struct err *err)
{
    struct bytes names = {0};
    put_names(recording, &names);
    char *text = text_of(&names);
    if (!text || !*text)
        err_set(err, "%s holds no values over time; record some: sonde mem --rss SCRIPT", name);
    else
        err_set(err, "%s has no values of that counter; it counts: %s", name, text);
    free(text);
    return -1;
}

/* ---- panels ---- */

/* What a counter's values are, and the heading of their panel. */
struct measure {
    enum axis_kind kind;
    bool rate;
    double scale;
    const char *title;
};

static struct measure measure_of(const struct recording *recording, const struct counter *counter)
{
    const char *unit = recording_text(recording, counter->unit);
    const char *name = recording_text(recording, counter->name);
    bool sum = counter->kind == COUNTER_SUM;
    if (strcmp(unit, "ns") == 0)
        return sum ? (struct measure){AXIS_NUMBER, false, 1, "CPU cores in use"}
                   : (struct measure){AXIS_SECONDS, false, 1e-9, name};
    if (strcmp(unit, "bytes") == 0)
        return (struct measure){AXIS_BYTES, sum, 1, sum ? name : "memory"};
    return (struct measure){AXIS_NUMBER, sum, 1, name};
}

static int find_panel(struct chart *chart, const struct measure *measure, uint32_t *panel, struct err *err)
{
    for (*panel = 0; *panel < chart->panel_count; ++*panel) {
        const struct chart_panel *known = &chart->panels[*panel];
        if (known->kind == measure->kind && known->rate == measure->rate &&
            strcmp(known->title, measure->title) == 0)
            return 0;
    }
    GROW(chart->panels, chart->panel_count, err);
    struct chart_panel made = {.title = strdup(measure->title), .kind = measure->kind, .rate = measure->rate};
    if (!made.title)
        return err_set(err, "out of memory for the plot");
    chart->panels[chart->panel_count++] = made;
    return 0;
}

/* ---- curves ---- */

/* A command line without the folders of its words, and cut. */
static void put_command(const char *command, struct bytes *out)
{
    size_t start = out->size;
    while (*command) {
        size_t size = strcspn(command, " ");
        const char *slash = memrchr(command, '/', size);
        const char *name = slash && slash + 1 < command + size ? slash + 1 : command;
        bytes_putf(out, "%s%.*s", out->size > start ? " " : "", (int)(command + size - name), name);
        command += size + (command[size] == ' ');
    }
    if (out->size <= start + COMMAND_BYTES)
        return;
    out->size = start + COMMAND_BYTES;
    while (out->size > start && (out->data[out->size] & 0xc0) == 0x80)
        out->size--;
    bytes_put_text(out, "…");
}

/* "4100 python run.py"; of what was imported there may be less. */
static char *process_label(const struct recording *recording, uint32_t id)
{
    const struct process *process = &recording->processes[id];
    const char *command = id ? recording_text(recording, process->command) : "";
    struct bytes text = {0};
    if (!*command && id)
        bytes_putf(&text, "%s %llu", process->parent ? "child" : "process", (unsigned long long)process->pid);
    else if (id && process->pid)
        bytes_putf(&text, "%llu ", (unsigned long long)process->pid);
    put_command(command, &text);
    return text_of(&text);
}

static int add_curve(struct chart *chart, const struct recording *recording, uint32_t id, uint64_t origin_ns,
                     struct err *err)
{
    const struct counter *counter = &recording->counters[id];
    struct measure measure = measure_of(recording, counter);
    struct series series = series_of(recording, id);
    GROW(chart->curves, chart->curve_count, err);
    struct chart_curve *curve = &chart->curves[chart->curve_count];
    *curve = (struct chart_curve){.file = chart->file_count - 1,
                                  .process = process_label(recording, counter->process),
                                  .counter = strdup(counter_name(recording, id)),
                                  .is_rate = counter->kind == COUNTER_SUM};
    chart->curve_count++;
    if (!curve->process || !curve->counter)
        return err_set(err, "out of memory for the plot");
    if (find_panel(chart, &measure, &curve->panel, err) != 0)
        return -1;
    return chart_curve_fill(curve, &series, origin_ns, measure.scale, err);
}

static int add_file(struct chart *chart, const struct recording *recording, const char *name, struct err *err)
{
    GROW(chart->files, chart->file_count, err);
    const char *command = recording_meta(recording, "command");
    if (!command && recording->processes_count > 1)
        command = recording_text(recording, recording->processes[1].command);
    if (!chart->file_count && command && *command && !(chart->command = strdup(command)))
        return err_set(err, "out of memory for the plot");
    chart->files[chart->file_count] = (struct chart_file){.name = strdup(name)};
    return chart->files[chart->file_count++].name ? 0 : err_set(err, "out of memory for the plot");
}

int chart_add(struct chart *chart, const struct recording *recording, const char *name,
              const struct chart_options *options, struct err *err)
{
    uint64_t origin_ns = series_axis(recording).begin_ns, regions_ns = chart_spans_start(recording);
    uint32_t before = chart->curve_count;
    bool only_bytes = has_bytes(recording);
    origin_ns = regions_ns < origin_ns && options->functions ? regions_ns : origin_ns;
    int result = add_file(chart, recording, name, err);
    for (uint32_t id = 1; id < recording->counters_count && result == 0; id++)
        if (is_chosen(recording, id, options, only_bytes) && series_of(recording, id).count)
            result = add_curve(chart, recording, id, origin_ns, err);
    if (result == 0 && chart->curve_count == before)
        return fail_without(recording, name, err);
    return result == 0 && options->functions ? chart_spans_add(chart, recording, origin_ns, err) : result;
}

/* ---- labels ---- */

static const char *plain_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* The file's name without its folder, if that is enough to know it by. */
static const char *file_label(const struct chart *chart, uint32_t file)
{
    for (uint32_t i = 0; i < chart->file_count; i++)
        if (i != file && strcmp(plain_name(chart->files[i].name), plain_name(chart->files[file].name)) == 0)
            return chart->files[file].name;
    return plain_name(chart->files[file].name);
}

static const char *counter_label(const char *name)
{
    static const char *const words[][2] = {
        {"rss", "resident (RSS)"},
        {"pss", "resident, shared pages divided (PSS)"},
        {"uss", "resident, not shared (USS)"},
        {"heap", "heap"},
        {"cpu", "CPU"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], name) == 0)
            return words[i][1];
    return name;
}

/* What tells the curves apart; whether there are several counters is the result. */
static bool look_for_differences(struct chart *chart)
{
    bool counters = false;
    for (uint32_t i = 1; i < chart->curve_count; i++) {
        const struct chart_curve *one = &chart->curves[i - 1], *other = &chart->curves[i];
        if (one->file == other->file && strcmp(one->process, other->process) != 0)
            chart->files[one->file].processes = true;
        counters |= strcmp(one->counter, other->counter) != 0;
    }
    return counters;
}

static int make_label(const struct chart *chart, struct chart_curve *curve, bool counters, struct err *err)
{
    struct bytes text = {0};
    if (chart->file_count > 1)
        bytes_put_text(&text, file_label(chart, curve->file));
    if (chart->files[curve->file].processes && *curve->process)
        bytes_putf(&text, "%s%s", text.size ? ", " : "", curve->process);
    if (counters || !text.size)
        bytes_putf(&text, "%s%s", text.size ? ", " : "", counter_label(curve->counter));
    curve->label = text_of(&text);
    return curve->label ? 0 : err_set(err, "out of memory for the plot");
}

/* ---- the end ---- */

static double last_time(const struct chart *chart)
{
    double last = 0;
    for (uint32_t i = 0; i < chart->curve_count; i++) {
        const struct chart_curve *curve = &chart->curves[i];
        last = curve->count ? fmax(last, curve->points[curve->count - 1].time_s) : last;
    }
    return last;
}

static int finish_curve(struct chart *chart, struct chart_curve *curve, const struct chart_options *options,
                        struct err *err)
{
    if (chart_curve_cut(curve, chart->time.low, chart->time.high, err) != 0)
        return -1;
    return options->slope && !curve->is_rate ? trend_fit(curve->points, curve->count, &curve->trend, err) : 0;
}

static void finish_panel(struct chart *chart, uint32_t at)
{
    struct chart_panel *panel = &chart->panels[at];
    double low = INFINITY, high = -INFINITY;
    panel->highest = UINT32_MAX;
    for (uint32_t i = 0; i < chart->curve_count; i++) {
        const struct chart_curve *curve = &chart->curves[i];
        if (curve->panel != at)
            continue;
        for (uint32_t j = 0; j < curve->count; j++) {
            low = fmin(low, curve->points[j].value);
            high = fmax(high, curve->points[j].value);
        }
        if (curve->has_peak &&
            (panel->highest == UINT32_MAX || curve->peak.value > chart->curves[panel->highest].peak.value))
            panel->highest = i;
    }
    bool empty = low > high;
    if (empty)
        low = high = 0;
    if (low < RISEN * high || low == high)
        low = fmin(low, 0);
    high = fmax(high, low < 0 ? 0 : high);
    axis_make_wide(&panel->axis, panel->kind, low, high + HEADROOM * (high - low),
                   at ? VALUE_MARKS_BELOW : VALUE_MARKS);
}

static int by_peak(const void *left, const void *right)
{
    const struct chart_curve *a = left, *b = right;
    double one = a->has_peak ? a->peak.value : -INFINITY, other = b->has_peak ? b->peak.value : -INFINITY;
    return (one < other) - (one > other);
}

int chart_finish(struct chart *chart, const struct chart_options *options, unsigned time_marks,
                 struct err *err)
{
    double to_s = isfinite(options->to_s) ? options->to_s : last_time(chart);
    axis_make(&chart->time, AXIS_SECONDS, options->from_s, to_s, time_marks);
    bool counters = look_for_differences(chart);
    for (uint32_t i = 0; i < chart->curve_count; i++)
        if (make_label(chart, &chart->curves[i], counters, err) != 0 ||
            finish_curve(chart, &chart->curves[i], options, err) != 0)
            return -1;
    if (chart->curve_count > CHART_NAMED_MAX)
        qsort(chart->curves, chart->curve_count, sizeof *chart->curves, by_peak);
    for (uint32_t i = 0; i < chart->panel_count; i++)
        finish_panel(chart, i);
    chart_spans_cut(chart, chart->time.low, chart->time.high);
    return 0;
}

void chart_clear(struct chart *chart)
{
    for (uint32_t i = 0; i < chart->curve_count; i++) {
        free(chart->curves[i].label);
        free(chart->curves[i].process);
        free(chart->curves[i].counter);
        free(chart->curves[i].points);
    }
    for (uint32_t i = 0; i < chart->panel_count; i++)
        free(chart->panels[i].title);
    for (uint32_t i = 0; i < chart->file_count; i++)
        free(chart->files[i].name);
    free(chart->curves);
    free(chart->panels);
    free(chart->functions);
    strings_clear(&chart->names);
    free(chart->spans);
    free(chart->files);
    free(chart->command);
    *chart = (struct chart){0};
}

struct chart_point *chart_thin(const struct chart *chart, const struct chart_curve *curve, unsigned columns,
                               uint32_t *count, struct err *err)
{
    return chart_curve_thin(curve, chart->time.low, chart->time.high, columns, count, err);
}

/* ---- words ---- */

void chart_put_value(const struct chart_panel *panel, double value, struct bytes *out)
{
    bytes_put_text(out, axis_value_text(panel->kind, value).text);
    if (panel->rate)
        bytes_put_text(out, "/s");
}

void chart_put_peak(const struct chart *chart, const struct chart_curve *curve, struct bytes *out)
{
    if (!curve->has_peak) {
        bytes_put_text(out, "no value in this window");
        return;
    }
    bytes_put_text(out, "peak ");
    chart_put_value(&chart->panels[curve->panel], curve->peak.value, out);
    bytes_putf(out, " at %s", axis_value_text(AXIS_SECONDS, curve->peak.time_s).text);
}

void chart_put_slope(const struct chart *chart, const struct chart_curve *curve, struct bytes *out)
{
    const struct chart_panel *panel = &chart->panels[curve->panel];
    const struct trend *trend = &curve->trend;
    bytes_putf(out, "slope %s", trend->per_second > 0 ? "+" : "");
    chart_put_value(panel, trend->per_second, out);
    bytes_put_text(out, "/s (95 %: ");
    chart_put_value(panel, trend->low, out);
    bytes_put_text(out, "/s to ");
    chart_put_value(panel, trend->high, out);
    bytes_put_text(out, trend->low <= 0 && trend->high >= 0 ? "/s, so it may be none) from " : "/s) from ");
    bytes_putf(out, "%s to %s", axis_value_text(AXIS_SECONDS, trend->from_s).text,
               axis_value_text(AXIS_SECONDS, trend->to_s).text);
}
