#include "export/counter_json.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyse/series.h"
#include "base/json.h"
#include "store/recording.h"

#define WHOLE_MAX 0x1p53 /* whole numbers up to here are exact */
#define NAMES_MAX 64     /* totals: a file with more names than that has no use of them */

/* Bytes are told to the last. */
static void put_value(struct json *json, const char *key, double value)
{
    json_key(json, key);
    if (value == floor(value) && fabs(value) < WHOLE_MAX)
        json_signed(json, (int64_t)value);
    else
        json_real(json, value);
}

static void put_text(struct json *json, const struct recording *recording, const char *key, uint32_t string)
{
    json_key(json, key);
    json_text(json, recording_text(recording, string), strings_size(&recording->strings, string));
}

void counter_json_put_figures(struct json *json, const struct series *series)
{
    const struct series_summary summary = series_summarise(series);
    json_put_unsigned(json, "points", summary.points);
    put_value(json, "first", summary.first);
    put_value(json, "last", summary.last);
    put_value(json, "least", summary.least);
    put_value(json, "most", summary.most);
    put_value(json, "mean", summary.mean);
    json_put_unsigned(json, "most_ns", summary.most_ns);
}

static void put_counters(struct json *json, const struct recording *recording)
{
    json_begin_list(json, "counters");
    for (uint32_t i = 1; i < recording->counters_count; i++) {
        const struct counter *counter = &recording->counters[i];
        const struct series series = series_of(recording, i);
        json_begin_row(json);
        json_put_unsigned(json, "id", i);
        put_text(json, recording, "name", counter->name);
        put_text(json, recording, "unit", counter->unit);
        json_put_unsigned(json, "process", counter->process);
        json_put_unsigned(json, "kind", counter->kind);
        counter_json_put_figures(json, &series);
        json_end_object(json);
    }
    json_end_array(json);
}

/* Whether no counter before has that name. */
static bool is_first(const struct recording *recording, uint32_t counter)
{
    for (uint32_t i = 1; i < counter; i++)
        if (recording->counters[i].name == recording->counters[counter].name)
            return false;
    return true;
}

static int put_total(struct json *json, const struct recording *recording, const struct counter *counter,
                     struct err *err)
{
    struct series_row *rows;
    struct series series;
    if (series_sum(recording, recording_text(recording, counter->name), &rows, &series, err) < 0)
        return -1;
    json_begin_row(json);
    put_text(json, recording, "name", counter->name);
    put_text(json, recording, "unit", counter->unit);
    json_put_unsigned(json, "kind", counter->kind);
    counter_json_put_figures(json, &series);
    json_end_object(json);
    free(rows);
    return 0;
}

int counter_json_put(struct json *json, const struct recording *recording, struct err *err)
{
    int result = 0;
    put_counters(json, recording);
    json_begin_list(json, "counter_totals");
    for (uint32_t i = 1, names = 0; i < recording->counters_count && names < NAMES_MAX && result == 0; i++) {
        if (!is_first(recording, i))
            continue;
        names++;
        result = put_total(json, recording, &recording->counters[i], err);
    }
    json_end_array(json);
    return result;
}
