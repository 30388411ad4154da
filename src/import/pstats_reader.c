#include "import/pstats_reader.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/err.h"
#include "import/marshal.h"
#include "store/flat.h"
#include "store/recording.h"

/* What makes two labels the same function. */
struct label {
    uint32_t file, name, line;
};

struct pstats {
    const struct marshal_document *document;
    struct recording *recording;
    struct strings labels; /* struct label as bytes → code id: both are counted from 1 */
    uint32_t *codes;       /* value index of a label → code id; 0 = not seen yet */
    struct flat flat;
    size_t edges_left;  /* no honest file has more edges than bytes; shared callers could make it so */
    bool counts, times; /* what the callers held: bare counts, tuples with times */
    bool sampled;
    const char *problem;
};

static int fail(struct pstats *pstats, const char *problem)
{
    if (!pstats->problem)
        pstats->problem = problem;
    return -1;
}

bool pstats_reader_recognises(const void *data, size_t size)
{
    struct cursor cursor = cursor_on(data, size);
    if ((cursor_get_u8(&cursor) & 0x7f) != '{')
        return false;
    uint8_t type = cursor_get_u8(&cursor) & 0x7f;
    if (type == '0')
        return size == 2; /* an empty profile */
    if (type != '(' && type != ')')
        return false;
    uint32_t items = type == '(' ? cursor_get_u32(&cursor) : cursor_get_u8(&cursor);
    uint8_t item = cursor_get_u8(&cursor) & 0x7f;
    return !cursor.failed && (items == 3 || items == 1) && memchr("zZaAust", item, 7);
}

static bool is_number(const struct marshal_value *value)
{
    return value->kind == MARSHAL_INTEGER || value->kind == MARSHAL_REAL || value->kind == MARSHAL_BOOLEAN;
}

static double as_real(const struct marshal_value *value)
{
    return value->kind == MARSHAL_REAL ? value->real : (double)value->integer;
}

/* Clocks that were set back leave small negative times; nothing below 0 or beyond 292 years is meant. */
static uint64_t as_ns(const struct marshal_value *value)
{
    double ns = as_real(value) * 1e9;
    if (!(ns > 0))
        return 0;
    return ns < (double)INT64_MAX ? (uint64_t)llround(ns) : INT64_MAX;
}

static uint64_t as_count(const struct marshal_value *value)
{
    double count = as_real(value);
    if (value->kind == MARSHAL_REAL)
        return count > 0 && count < (double)INT64_MAX ? (uint64_t)count : 0;
    return value->integer > 0 ? (uint64_t)value->integer : 0;
}

/* The text at `index`, or the name of the code object there; NULL for anything else. */
static const struct marshal_value *find_text(const struct marshal_document *document, uint32_t index)
{
    index = marshal_resolve(document, index);
    if (document->values[index].kind == MARSHAL_CODE)
        index = marshal_resolve(document, marshal_code_name(document, index));
    const struct marshal_value *value = &document->values[index];
    return value->kind == MARSHAL_TEXT ? value : NULL;
}

static uint32_t intern_value(struct pstats *pstats, const struct marshal_value *text)
{
    return strings_intern(&pstats->recording->strings, text->text, text->count);
}

static uint32_t line_of(const struct marshal_value *value)
{
    int64_t line = value->kind == MARSHAL_INTEGER ? value->integer : 0;
    return line > 0 && line < UINT32_MAX ? (uint32_t)line : 0;
}

static uint32_t add_code(struct pstats *pstats, const struct label *label)
{
    const char *file = recording_text(pstats->recording, label->file);
    struct code code = {.name = label->name,
                        .qualname = label->name,
                        .file = label->file,
                        .line = label->line,
                        .kind = strcmp(file, "~") == 0 ? CODE_C : CODE_PYTHON};
    return recording_add_code(pstats->recording, &code);
}

static uint32_t find_code(struct pstats *pstats, const struct label *label)
{
    uint32_t code = strings_intern(&pstats->labels, (const char *)label, sizeof *label);
    if (label->file == UINT32_MAX || label->name == UINT32_MAX || code == UINT32_MAX ||
        (code == pstats->recording->codes_count && add_code(pstats, label) != code)) {
        fail(pstats, "out of memory");
        return 0;
    }
    return code;
}

/* The code of the label (file, line, name) at `index`; 0 on failure. */
static uint32_t read_label(struct pstats *pstats, uint32_t index)
{
    const struct marshal_document *document = pstats->document;
    index = marshal_resolve(document, index);
    if (pstats->codes[index])
        return pstats->codes[index];
    const struct marshal_value *file = NULL, *name = NULL;
    uint32_t line = 0;
    if (document->values[index].kind == MARSHAL_TUPLE && document->values[index].count == 3) {
        line = marshal_next(document, index + 1);
        file = find_text(document, index + 1);
        name = find_text(document, marshal_next(document, line));
    }
    if (!file || !name) {
        fail(pstats, "a function is not named by (file, line, name)");
        return 0;
    }
    struct label label = {intern_value(pstats, file), intern_value(pstats, name),
                          line_of(marshal_at(document, line))};
    return pstats->codes[index] = find_code(pstats, &label);
}

/* A caller's tuple: (calls, primitive calls, self s, total s), or several such groups one after the other,
 * which old versions of pstats made when they added files. */
static int read_caller_tuple(struct pstats *pstats, uint32_t index, struct flat_edge *edge)
{
    const struct marshal_document *document = pstats->document;
    uint32_t count = document->values[index].count;
    if (count == 0 || count % 4)
        return fail(pstats, "a caller has not four numbers");
    uint32_t item = index + 1;
    for (uint32_t i = 0; i < count; i++, item = marshal_next(document, item)) {
        const struct marshal_value *value = marshal_at(document, item);
        if (!is_number(value))
            return fail(pstats, "a caller's numbers are not numbers");
        uint64_t *sums[] = {&edge->calls, &edge->primitive_calls, &edge->self_ns, &edge->total_ns};
        *sums[i % 4] += i % 4 < 2 ? as_count(value) : as_ns(value);
    }
    pstats->times = true;
    return 0;
}

static int read_caller(struct pstats *pstats, uint32_t callee, uint32_t key, uint32_t value)
{
    if (pstats->edges_left-- == 0)
        return fail(pstats, "it has more callers than bytes");
    uint32_t caller = read_label(pstats, key);
    if (!caller)
        return -1;
    struct flat_edge edge = {.caller = caller, .callee = callee};
    value = marshal_resolve(pstats->document, value);
    const struct marshal_value *content = &pstats->document->values[value];
    if (content->kind == MARSHAL_TUPLE) {
        if (read_caller_tuple(pstats, value, &edge) < 0)
            return -1;
    } else if (is_number(content)) {
        edge.calls = edge.primitive_calls = as_count(content);
        pstats->counts = true;
    } else {
        return fail(pstats, "a caller has neither a count nor a tuple of numbers");
    }
    return flat_add_edge(&pstats->flat, pstats->recording, &edge) < 0 ? fail(pstats, "out of memory") : 0;
}

static int read_callers(struct pstats *pstats, uint32_t callee, uint32_t index)
{
    const struct marshal_document *document = pstats->document;
    index = marshal_resolve(document, index);
    if (document->values[index].kind != MARSHAL_DICT)
        return fail(pstats, "the callers of a function are not a dict");
    uint32_t key = index + 1;
    for (uint32_t i = 0; i < document->values[index].count; i += 2) {
        uint32_t value = marshal_next(document, key);
        if (read_caller(pstats, callee, key, value) < 0)
            return -1;
        key = marshal_next(document, value);
    }
    return 0;
}

/* (primitive calls, calls, self s, total s, callers) */
static int read_function(struct pstats *pstats, uint32_t code, uint32_t index)
{
    const struct marshal_document *document = pstats->document;
    index = marshal_resolve(document, index);
    if (document->values[index].kind != MARSHAL_TUPLE || document->values[index].count != 5)
        return fail(pstats, "a function has not five values");
    const struct marshal_value *values[4];
    uint32_t item = index + 1;
    for (int i = 0; i < 4; i++, item = marshal_next(document, item)) {
        values[i] = marshal_at(document, item);
        if (!is_number(values[i]))
            return fail(pstats, "a function's numbers are not numbers");
    }
    struct flat_function function = {.code = code,
                                     .primitive_calls = as_count(values[0]),
                                     .calls = as_count(values[1]),
                                     .self_ns = as_ns(values[2]),
                                     .total_ns = as_ns(values[3])};
    if (flat_add_function(&pstats->flat, pstats->recording, &function) < 0)
        return fail(pstats, "out of memory");
    return read_callers(pstats, code, item);
}

/* Python 3.15's sampler marks its files with the key ("__sampled__",). */
static bool is_sampled_mark(const struct marshal_document *document, uint32_t index)
{
    index = marshal_resolve(document, index);
    const struct marshal_value *key = &document->values[index];
    if (key->kind != MARSHAL_TUPLE || key->count != 1)
        return false;
    const struct marshal_value *text = marshal_at(document, index + 1);
    return text->kind == MARSHAL_TEXT && text->count == 11 && memcmp(text->text, "__sampled__", 11) == 0;
}

static int read_functions(struct pstats *pstats)
{
    const struct marshal_document *document = pstats->document;
    if (document->values[0].kind != MARSHAL_DICT)
        return fail(pstats, "it is not a dict");
    uint32_t key = 1;
    for (uint32_t i = 0; i < document->values[0].count; i += 2) {
        uint32_t value = marshal_next(document, key);
        if (is_sampled_mark(document, key)) {
            pstats->sampled = true;
        } else {
            uint32_t code = read_label(pstats, key);
            if (!code || read_function(pstats, code, value) < 0)
                return -1;
        }
        key = marshal_next(document, value);
    }
    return 0;
}

static int set_metas(struct pstats *pstats)
{
    struct recording *recording = pstats->recording;
    if (recording_set_meta(recording, "mode", "pstats") < 0 ||
        (pstats->counts && !pstats->times && recording_set_meta(recording, "callers", "counts") < 0) ||
        (pstats->sampled && recording_set_meta(recording, "sampled", "yes") < 0))
        return fail(pstats, "out of memory");
    return 0;
}

static int interpret(const struct marshal_document *document, size_t size, struct recording *recording,
                     struct err *err)
{
    struct pstats pstats = {.document = document, .recording = recording, .edges_left = size};
    pstats.codes = calloc(document->count, sizeof *pstats.codes);
    int result = pstats.codes && strings_intern_text(&pstats.labels, "") == 0
                     ? recording_init(recording, err)
                     : fail(&pstats, "out of memory");
    if (result == 0)
        result = read_functions(&pstats);
    if (result == 0)
        result = set_metas(&pstats);
    if (pstats.problem)
        err_set(err, "%s", pstats.problem);
    free(pstats.codes);
    strings_clear(&pstats.labels);
    flat_clear(&pstats.flat);
    return result;
}

int pstats_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                       struct err *err)
{
    struct marshal_document document = {0};
    struct err why = {0};
    int result = marshal_parse(data, size, &document, &why);
    if (result == 0)
        result = interpret(&document, size, recording, &why);
    marshal_clear(&document);
    if (result < 0) {
        recording_clear(recording);
        err_set(err, "%s: not a whole cProfile file: %s; profile again, or copy the file again", name,
                why.text);
    }
    return result;
}
