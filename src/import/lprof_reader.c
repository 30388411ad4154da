#include "import/lprof_reader.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/strings.h"
#include "import/pickle.h"
#include "store/recording.h"

#define HEAD_BYTES 128

/* Where LineStats lived: from 5.0.1 on, from 4.0 on, and before. */
static const char *const modules[] = {"line_profiler.line_profiler", "line_profiler._line_profiler",
                                      "_line_profiler", NULL};

/* What makes two functions the same. */
struct label {
    uint32_t file, name, line;
};

struct lprof {
    const struct pickle_document *document;
    struct recording *recording;
    struct strings labels; /* struct label as bytes → code id: both are counted from 1 */
    double tick_ns;
    size_t rows_left; /* no honest file has more lines than bytes; shared lists could make it so */
    const char *problem;
};

static int fail(struct lprof *lprof, const char *problem)
{
    if (!lprof->problem)
        lprof->problem = problem;
    return -1;
}

bool lprof_reader_recognises(const void *data, size_t size)
{
    return pickle_recognises(data, size) &&
           memmem(data, size < HEAD_BYTES ? size : HEAD_BYTES, "LineStats", 9);
}

/* Whole numbers from 0 on; what is larger than `max` is not meant. */
static bool get_count(const struct pickle_value *value, uint64_t max, uint64_t *count)
{
    bool known = value->kind == PICKLE_INTEGER && value->integer >= 0 && (uint64_t)value->integer <= max;
    *count = known ? (uint64_t)value->integer : 0;
    return known;
}

/* Clocks that were set back leave negative times; nothing below 0 or beyond 292 years is meant. */
static bool get_ns(const struct pickle_value *value, double tick_ns, uint64_t *ns)
{
    if (value->kind != PICKLE_INTEGER && value->kind != PICKLE_REAL)
        return false;
    double ticks = value->kind == PICKLE_REAL ? value->real : (double)value->integer, time = ticks * tick_ns;
    if (value->kind == PICKLE_INTEGER && tick_ns == 1.0)
        *ns = value->integer > 0 ? (uint64_t)value->integer : 0; /* without a detour over rounding */
    else if (!(time > 0))
        *ns = 0;
    else
        *ns = time < (double)INT64_MAX ? (uint64_t)llround(time) : INT64_MAX;
    return true;
}

static uint32_t intern(struct lprof *lprof, const struct pickle_value *text)
{
    return strings_intern(&lprof->recording->strings, text->text, text->count);
}

/* Releases before 4.2 and Pythons before 3.11 give the name alone. */
static uint32_t intern_last_part(struct lprof *lprof, const struct pickle_value *qualname)
{
    const char *dot = qualname->count ? memrchr(qualname->text, '.', qualname->count) : NULL;
    const char *name = dot ? dot + 1 : qualname->text;
    return strings_intern(&lprof->recording->strings, name,
                          qualname->count - (size_t)(name - qualname->text));
}

static uint32_t add_code(struct lprof *lprof, const struct label *label, const struct pickle_value *qualname)
{
    struct code code = {.name = intern_last_part(lprof, qualname),
                        .qualname = label->name,
                        .file = label->file,
                        .line = label->line,
                        .kind = CODE_PYTHON};
    return code.name == UINT32_MAX ? 0 : recording_add_code(lprof->recording, &code);
}

/* The code of (file, first line, name); 0 on failure. */
static uint32_t read_label(struct lprof *lprof, uint32_t key)
{
    const struct pickle_document *document = lprof->document;
    uint32_t parts[3];
    uint64_t line = 0;
    bool whole = pickle_get_tuple(document, key, parts, 3) &&
                 pickle_at(document, parts[0])->kind == PICKLE_TEXT &&
                 get_count(pickle_at(document, parts[1]), UINT32_MAX - 1, &line) &&
                 pickle_at(document, parts[2])->kind == PICKLE_TEXT;
    if (!whole) {
        fail(lprof, "a function is not named by (file, line, name)");
        return 0;
    }
    const struct pickle_value *qualname = pickle_at(document, parts[2]);
    struct label label = {intern(lprof, pickle_at(document, parts[0])), intern(lprof, qualname),
                          (uint32_t)line};
    uint32_t code = strings_intern(&lprof->labels, (const char *)&label, sizeof label);
    if (label.file == UINT32_MAX || label.name == UINT32_MAX || code == UINT32_MAX ||
        (code == lprof->recording->codes_count && add_code(lprof, &label, qualname) != code)) {
        fail(lprof, "out of memory");
        return 0;
    }
    return code;
}

static int add_row(struct lprof *lprof, const struct line_row *row)
{
    return recording_add_line(lprof->recording, row) == UINT32_MAX ? fail(lprof, "out of memory") : 0;
}

/* (line, hits, ticks) */
static int read_row(struct lprof *lprof, uint32_t code, uint32_t value)
{
    const struct pickle_document *document = lprof->document;
    struct line_row row = {.code = code};
    uint32_t parts[3];
    uint64_t line = 0;
    if (lprof->rows_left-- == 0)
        return fail(lprof, "it has more lines than bytes");
    bool whole = pickle_get_tuple(document, value, parts, 3) &&
                 get_count(pickle_at(document, parts[0]), UINT32_MAX - 1, &line) &&
                 get_count(pickle_at(document, parts[1]), INT64_MAX, &row.hits) &&
                 get_ns(pickle_at(document, parts[2]), lprof->tick_ns, &row.total_ns);
    if (!whole)
        return fail(lprof, "a line is not three numbers");
    row.line = (uint32_t)line;
    return add_row(lprof, &row);
}

static int read_rows(struct lprof *lprof, uint32_t code, uint32_t list)
{
    const struct pickle_document *document = lprof->document;
    const struct pickle_value *rows = pickle_at(document, list);
    if (rows->kind != PICKLE_LIST && rows->kind != PICKLE_TUPLE)
        return fail(lprof, "the lines of a function are not a list");
    if (rows->count == 0)
        return add_row(lprof, &(struct line_row){.code = code, .line = lprof->recording->codes[code].line});
    for (uint32_t at = rows->first; at != PICKLE_NONE; at = document->items[at].next)
        if (read_row(lprof, code, document->items[at].value) < 0)
            return -1;
    return 0;
}

static int read_timings(struct lprof *lprof, uint32_t timings)
{
    const struct pickle_document *document = lprof->document;
    if (timings == PICKLE_NONE || pickle_at(document, timings)->kind != PICKLE_DICT)
        return fail(lprof, "its timings are not a dict");
    for (uint32_t at = pickle_at(document, timings)->first; at != PICKLE_NONE;) {
        const struct pickle_item *key = &document->items[at], *value = &document->items[key->next];
        uint32_t code = read_label(lprof, key->value);
        if (!code || read_rows(lprof, code, value->value) < 0)
            return -1;
        at = value->next;
    }
    return 0;
}

static int read_unit(struct lprof *lprof, uint32_t unit)
{
    const struct pickle_value *value = unit == PICKLE_NONE ? NULL : pickle_at(lprof->document, unit);
    bool integer = value && value->kind == PICKLE_INTEGER;
    double seconds = integer ? (double)value->integer : value && value->kind == PICKLE_REAL ? value->real : 0;
    if (!(seconds > 0) || !isfinite(seconds * 1e9))
        return fail(lprof, "its unit is not a number of seconds");
    /* 1e-9 * 1e9 and the like must be what they mean. */
    double tick_ns = seconds * 1e9, whole = round(tick_ns);
    lprof->tick_ns = whole && fabs(tick_ns - whole) < whole * 1e-12 ? whole : tick_ns;
    return 0;
}

static int read_stats(struct lprof *lprof)
{
    const struct pickle_document *document = lprof->document;
    bool known = false;
    for (int i = 0; modules[i]; i++)
        known = known || pickle_is_class(document, document->root, modules[i], "LineStats");
    if (!known || pickle_at(document, document->root)->kind != PICKLE_OBJECT)
        return fail(lprof, "it holds something else than line_profiler's LineStats, which was not run");
    uint32_t state = pickle_at(document, document->root)->state;
    if (read_unit(lprof, pickle_find(document, state, "unit")) < 0)
        return -1;
    return read_timings(lprof, pickle_find(document, state, "timings"));
}

static int interpret(const struct pickle_document *document, size_t size, struct recording *recording,
                     struct err *err)
{
    struct lprof lprof = {.document = document, .recording = recording, .rows_left = size};
    int result = strings_intern_text(&lprof.labels, "") == 0 ? recording_init(recording, err)
                                                             : fail(&lprof, "out of memory");
    if (result == 0)
        result = read_stats(&lprof);
    recording_compact_lines(recording);
    if (result == 0 && recording_set_meta(recording, "mode", "lprof") < 0)
        result = fail(&lprof, "out of memory");
    if (lprof.problem)
        err_set(err, "%s", lprof.problem);
    strings_clear(&lprof.labels);
    return result;
}

int lprof_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                      struct err *err)
{
    struct pickle_document document = {0};
    struct err why = {0};
    int result = pickle_parse(data, size, &document, &why);
    if (result == 0)
        result = interpret(&document, size, recording, &why);
    pickle_clear(&document);
    if (result < 0) {
        recording_clear(recording);
        err_set(err, "%s: not a whole line_profiler file: %s; profile again, or copy the file again", name,
                why.text);
    }
    return result;
}
