#include "analyse/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/sort.h"
#include "store/recording.h"

#define RANKING_MAX_KEYS 16

typedef int row_compare(const struct ranking_row *a, const struct ranking_row *b);

static int descending(uint64_t a, uint64_t b)
{
    return a > b ? -1 : a < b;
}

static int by_calls(const struct ranking_row *a, const struct ranking_row *b)
{
    return descending(a->calls + a->samples, b->calls + b->samples);
}

static int by_primitive(const struct ranking_row *a, const struct ranking_row *b)
{
    return descending(a->primitive_calls + a->total_samples, b->primitive_calls + b->total_samples);
}

static int by_self(const struct ranking_row *a, const struct ranking_row *b)
{
    return descending(a->self, b->self);
}

static int by_total(const struct ranking_row *a, const struct ranking_row *b)
{
    return descending(a->total, b->total);
}

static int by_file(const struct ranking_row *a, const struct ranking_row *b)
{
    return strcmp(a->file, b->file);
}

static int by_line(const struct ranking_row *a, const struct ranking_row *b)
{
    return a->line < b->line ? -1 : a->line > b->line;
}

static int by_name(const struct ranking_row *a, const struct ranking_row *b)
{
    return strcmp(a->name, b->name);
}

static int by_place(const struct ranking_row *a, const struct ranking_row *b)
{
    int order = by_name(a, b);
    order = order ? order : by_file(a, b);
    return order ? order : by_line(a, b);
}

static int by_label(const struct ranking_row *a, const struct ranking_row *b)
{
    return strcmp(a->label, b->label);
}

static const struct sort_key {
    const char *name;
    row_compare *compare;
    const char *words;
} sort_keys[] = {
    {"calls", by_calls, "call count"},
    {"cumtime", by_total, "cumulative time"},
    {"cumulative", by_total, "cumulative time"},
    {"filename", by_file, "file name"},
    {"line", by_line, "line number"},
    {"module", by_file, "file name"},
    {"name", by_name, "function name"},
    {"ncalls", by_calls, "call count"},
    {"nfl", by_place, "name/file/line"},
    {"pcalls", by_primitive, "primitive call count"},
    {"stdname", by_label, "standard name"},
    {"time", by_self, "internal time"},
    {"tottime", by_self, "internal time"},
    {NULL, NULL, NULL},
};

/* An abbreviation may fit several names as long as they mean the same. */
static const struct sort_key *find_key(const char *text)
{
    const struct sort_key *found = NULL;
    for (const struct sort_key *key = sort_keys; key->name && text[0]; key++) {
        if (strcmp(key->name, text) == 0)
            return key;
        if (strncmp(key->name, text, strlen(text)) != 0)
            continue;
        if (found && found->compare != key->compare)
            return NULL;
        found = key;
    }
    return found;
}

const char *ranking_key_words(const char *key)
{
    const struct sort_key *found = find_key(key);
    return found ? found->words : NULL;
}

int ranking_check_key(const char *key, struct err *err)
{
    if (find_key(key))
        return 0;
    return err_set(err,
                   "'%s' is not a sort key, or could be several: use one of calls, cumulative, filename, "
                   "line, name, nfl, pcalls, stdname, tottime",
                   key);
}

struct order {
    row_compare *compare[RANKING_MAX_KEYS + 1];
    size_t count;
    bool reverse;
};

static int compare(const void *a, const void *b, void *context)
{
    const struct order *order = context;
    int result = 0;
    for (size_t i = 0; i < order->count && !result; i++)
        result = order->compare[i](a, b);
    return order->reverse ? -result : result;
}

int ranking_sort(struct ranking *ranking, const char *const *keys, size_t key_count, bool reverse,
                 struct err *err)
{
    struct order order = {.reverse = reverse};
    for (size_t i = 0; i < key_count && i < RANKING_MAX_KEYS; i++) {
        if (ranking_check_key(keys[i], err) < 0)
            return -1;
        order.compare[order.count++] = find_key(keys[i])->compare;
    }
    order.compare[order.count++] = by_label;
    return sort_rows(ranking->rows, ranking->count, sizeof *ranking->rows, compare, &order, err);
}

void ranking_clear(struct ranking *ranking)
{
    free(ranking->rows);
    strings_clear(&ranking->texts);
    *ranking = (struct ranking){0};
}

static const char *keep(struct ranking *ranking, struct bytes *text)
{
    uint32_t id = text->failed ? UINT32_MAX : strings_intern(&ranking->texts, (char *)text->data, text->size);
    bytes_reset(text);
    return id == UINT32_MAX ? NULL : strings_text(&ranking->texts, id);
}

static int fill(const struct recording *recording, const struct function_row *row, enum label_paths paths,
                struct ranking *ranking, struct ranking_row *entry)
{
    const struct code *code = &recording->codes[row->code];
    struct bytes text = {0};
    *entry = (struct ranking_row){.id = row->code,
                                  .line = code->line,
                                  .calls = row->calls,
                                  .primitive_calls = row->primitive_calls,
                                  .samples = row->samples,
                                  .total_samples = row->total_samples,
                                  .self = row->self,
                                  .total = row->total};
    entry->file = labels_path(recording_text(recording, code->file), paths);
    labels_name(recording, row->code, &text);
    entry->name = keep(ranking, &text);
    labels_standard(recording, row->code, paths, &text);
    entry->label = keep(ranking, &text);
    bytes_clear(&text);
    return entry->name && entry->label ? 0 : -1;
}

int ranking_build(const struct recording *recording, const struct functions *functions,
                  enum label_paths paths, struct ranking *ranking, struct err *err)
{
    *ranking = (struct ranking){0};
    ranking->rows = calloc((size_t)functions->row_count + 1, sizeof *ranking->rows);
    for (uint32_t i = 0; ranking->rows && i < functions->row_count; i++) {
        if (fill(recording, &functions->rows[i], paths, ranking, &ranking->rows[i]) < 0)
            break;
        ranking->count++;
    }
    if (ranking->count == functions->row_count && ranking->rows)
        return 0;
    ranking_clear(ranking);
    return err_set(err, "not enough memory for a table of %u functions", functions->row_count);
}
