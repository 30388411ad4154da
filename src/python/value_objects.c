#include "python/dictionary.h"
#include "python/names.h"
#include "python/writing.h"

#include <inttypes.h>

/* ---- what is called ---- */

static void put_kind_and_qualname(struct writing *w, const char *kind, uint64_t object, uint32_t field)
{
    value_text_putf(&w->text, "<%s ", kind);
    writing_put_name_at(w, object + field);
    value_text_putf(&w->text, " at 0x%" PRIx64 ">", object);
}

static void put_function(struct writing *w, uint64_t object)
{
    put_kind_and_qualname(w, "function", object, w->layout->function_qualname);
}

static void put_generator(struct writing *w, uint64_t object)
{
    put_kind_and_qualname(w, "generator object", object, w->layout->generator_qualname);
}

static void put_coroutine(struct writing *w, uint64_t object)
{
    put_kind_and_qualname(w, "coroutine object", object, w->layout->generator_qualname);
}

static void put_async_generator(struct writing *w, uint64_t object)
{
    put_kind_and_qualname(w, "async_generator object", object, w->layout->generator_qualname);
}

/* Its definition begins with its name; then comes what it is bound to: a module, or an object. */
static void put_builtin(struct writing *w, uint64_t object)
{
    uint64_t definition, name, self;
    char text[WRITING_NAME_BYTES];
    struct writing_type type = {0};
    if (!writing_read_word(w, object + w->layout->builtin_definition, &definition) ||
        !writing_read_word(w, object + w->layout->builtin_definition + 8, &self) ||
        !writing_read_word(w, definition, &name) || !writing_read_string(w, name, text, sizeof text)) {
        writing_put_unreadable(w, object);
        return;
    }
    if (self && writing_read_type(w, self, &type) && strcmp(type.name, "module") != 0)
        value_text_putf(&w->text, "<built-in method %s of %s object at 0x%" PRIx64 ">", text, type.name,
                        self);
    else
        value_text_putf(&w->text, "<built-in function %s>", text);
}

static void put_method(struct writing *w, uint64_t object)
{
    uint64_t function = 0, self = 0;
    struct writing_type type = {0};
    writing_read_word(w, object + w->layout->method_function, &function);
    writing_read_word(w, object + w->layout->method_function + 8, &self);
    writing_put(w, "<bound method ");
    if (writing_read_type(w, function, &type) && !strcmp(type.name, "function"))
        writing_put_name_at(w, function + w->layout->function_qualname);
    else
        writing_put(w, "?");
    writing_put(w, " of ");
    writing_put_item(w, self);
    writing_put(w, ">");
}

static void put_code(struct writing *w, uint64_t object)
{
    struct names_code code;
    if (!names_read_code(w->layout, &w->memory, w->values->code_type, object, &code)) {
        writing_put_unreadable(w, object);
        return;
    }
    writing_put(w, "<code object ");
    writing_put_name(w, code.name);
    value_text_putf(&w->text, " at 0x%" PRIx64 ", file \"", object);
    writing_put_name(w, code.filename);
    value_text_putf(&w->text, "\", line %d>", code.first_line);
}

/* ---- what holds others ---- */

/* The names of a module are its first field. */
static void put_module(struct writing *w, uint64_t object)
{
    struct dictionary names;
    uint64_t dict, name = 0, file = 0;
    if (writing_read_word(w, object + w->layout->object_type + 8, &dict) &&
        dictionary_init(&names, w->layout, &w->memory, dict)) {
        name = dictionary_find(names, "__name__");
        file = dictionary_find(names, "__file__");
    }
    writing_put(w, "<module ");
    writing_put_item(w, name);
    if (file) {
        writing_put(w, " from ");
        writing_put_item(w, file);
    } else
        writing_put(w, " (built-in)");
    writing_put(w, ">");
}

static void put_cell(struct writing *w, uint64_t object)
{
    uint64_t value = 0;
    struct writing_type type;
    value_text_putf(&w->text, "<cell at 0x%" PRIx64 ": ", object);
    if (!writing_read_word(w, object + w->layout->cell_value, &value) || !value)
        writing_put(w, "empty>");
    else if (writing_read_type(w, value, &type))
        value_text_putf(&w->text, "%s object at 0x%" PRIx64 ">", type.name, value);
    else
        writing_put(w, "?>");
}

/* ---- locks: who holds them is what a hang is about ---- */

/* A flag after two pointers; from 3.14 on a mutex of one byte at once. */
static void put_lock(struct writing *w, uint64_t object)
{
    bool mutex = layout_minor(w->layout) >= 14;
    uint64_t head = object + w->layout->object_type + 8;
    uint8_t state;
    if (memory_read(&w->memory, mutex ? head : head + 16, &state, 1))
        value_text_putf(&w->text, "<%s _thread.lock object at 0x%" PRIx64 ">",
                        (mutex ? state & 1 : state) ? "locked" : "unlocked", object);
    else
        writing_put_unreadable(w, object);
}

/* The lock, its owner, how often; from 3.14 on how often again. */
static void put_recursive_lock(struct writing *w, uint64_t object)
{
    uint64_t words[3];
    if (!memory_read(&w->memory, object + w->layout->object_type + 8, words, sizeof words)) {
        writing_put_unreadable(w, object);
        return;
    }
    if (layout_minor(w->layout) >= 14)
        words[2] = words[0] & 1 ? words[2] + 1 : 0;
    value_text_putf(&w->text,
                    "<%s _thread.RLock object owner=%" PRIu64 " count=%" PRIu64 " at 0x%" PRIx64 ">",
                    words[2] ? "locked" : "unlocked", words[1], words[2], object);
}

/* ---- numpy ---- */

/* What an array's fields are, after its head: data, number of dimensions, dimensions, strides, base, type; and a
 * type's number after its class and four characters. The same since numpy 1.7. */
enum { ARRAY_DIMENSIONS = 8, ARRAY_SIZES = 16, ARRAY_TYPE = 40, TYPE_NUMBER = 12, MOST_DIMENSIONS = 64 };

static const char *const numpy_types[] = {
    "bool",        "int8",   "uint8",  "int16",   "uint16",  "int32",      "uint32",      "int64",
    "uint64",      "int64",  "uint64", "float32", "float64", "longdouble", "complex64",   "complex128",
    "clongdouble", "object", "bytes",  "str",     "void",    "datetime64", "timedelta64", "float16",
};

static void put_array(struct writing *w, uint64_t object)
{
    uint64_t head = object + w->layout->object_type + 8, sizes, type;
    uint32_t dimensions, number;
    if (!memory_read(&w->memory, head + ARRAY_DIMENSIONS, &dimensions, sizeof dimensions) ||
        !writing_read_word(w, head + ARRAY_SIZES, &sizes) ||
        !writing_read_word(w, head + ARRAY_TYPE, &type) ||
        !memory_read(&w->memory, type + w->layout->object_type + 8 + TYPE_NUMBER, &number, sizeof number) ||
        dimensions > MOST_DIMENSIONS) {
        writing_put_unreadable(w, object);
        return;
    }
    bool known = number < sizeof numpy_types / sizeof *numpy_types;
    value_text_putf(&w->text, "<numpy.ndarray %s (", known ? numpy_types[number] : "?");
    for (uint32_t i = 0; i < dimensions; i++) {
        uint64_t size = 0;
        writing_read_word(w, sizes + 8 * i, &size);
        value_text_putf(&w->text, i ? ", %" PRId64 : "%" PRId64, (int64_t)size);
    }
    writing_put(w, dimensions == 1 ? ",)>" : ")>");
}

/* A scalar's value follows its head. */
static void put_scalar(struct writing *w, uint64_t object, const char *name, unsigned bytes, bool is_signed)
{
    int64_t number = 0;
    if (!memory_read(&w->memory, object + w->layout->object_type + 8, &number, bytes)) {
        writing_put_unreadable(w, object);
        return;
    }
    unsigned shift = 64 - 8 * bytes;
    if (is_signed)
        value_text_putf(&w->text, "numpy.%s(%" PRId64 ")", name, number << shift >> shift);
    else
        value_text_putf(&w->text, "numpy.%s(%" PRIu64 ")", name, (uint64_t)number);
}

#define SCALAR(name, bytes, is_signed)                                                                       \
    static void put_##name(struct writing *w, uint64_t object)                                               \
    {                                                                                                        \
        put_scalar(w, object, #name, bytes, is_signed);                                                      \
    }
SCALAR(int8, 1, true)
SCALAR(int16, 2, true)
SCALAR(int32, 4, true)
SCALAR(int64, 8, true)
SCALAR(uint8, 1, false)
SCALAR(uint16, 2, false)
SCALAR(uint32, 4, false)
SCALAR(uint64, 8, false)
#undef SCALAR

static void put_truth(struct writing *w, uint64_t object)
{
    uint8_t truth = 0;
    memory_read(&w->memory, object + w->layout->object_type + 8, &truth, 1);
    value_text_putf(&w->text, "numpy.%s", truth ? "True_" : "False_");
}

static void put_float64(struct writing *w, uint64_t object)
{
    double number = 0;
    memory_read(&w->memory, object + w->layout->float_value, &number, sizeof number);
    writing_put(w, "numpy.float64(");
    value_text_put_float(&w->text, number, true);
    writing_put(w, ")");
}

static void put_float32(struct writing *w, uint64_t object)
{
    float number = 0;
    memory_read(&w->memory, object + w->layout->float_value, &number, sizeof number);
    value_text_putf(&w->text, "numpy.float32(%.9g)", (double)number);
}

const struct writing_row value_objects_table[] = {
    {"function", put_function},
    {"builtin_function_or_method", put_builtin},
    {"method", put_method},
    {"generator", put_generator},
    {"coroutine", put_coroutine},
    {"async_generator", put_async_generator},
    {"code", put_code},
    {"module", put_module},
    {"cell", put_cell},
    {"_thread.lock", put_lock},
    {"_thread.RLock", put_recursive_lock},
    {"numpy.ndarray", put_array},
    {"numpy.bool", put_truth},
    {"numpy.bool_", put_truth},
    {"numpy.float64", put_float64},
    {"numpy.float32", put_float32},
    {"numpy.int8", put_int8},
    {"numpy.int16", put_int16},
    {"numpy.int32", put_int32},
    {"numpy.int64", put_int64},
    {"numpy.uint8", put_uint8},
    {"numpy.uint16", put_uint16},
    {"numpy.uint32", put_uint32},
    {"numpy.uint64", put_uint64},
    {0},
};
