#include "python/values.h"

#include "python/dictionary.h"
#include "python/writing.h"

#include <inttypes.h>

enum { BRIEF_DEPTH = 4, BRIEF_ITEMS = 32, MOST_ITEMS = 100, MOST_READS = 20000 };

static bool read_counted(void *context, uint64_t address, void *out, size_t size)
{
    struct writing *w = context;
    return w->reads_left && w->reads_left-- && memory_read(&w->values->memory, address, out, size);
}

/* ---- classes ---- */

static uint64_t find_in_class(struct writing *w, const struct writing_type *type, const char *name)
{
    struct dictionary names;
    uint64_t dict;
    bool readable = writing_read_word(w, type->address + w->layout->type_dictionary, &dict) && dict &&
                    dictionary_init(&names, w->layout, &w->memory, dict);
    return readable ? dictionary_find(names, name) : 0;
}

/* A class statement's knows its module by a name in its dictionary; the others by their own name. */
static void put_class_name(struct writing *w, const struct writing_type *type)
{
    size_t begin = w->text.size;
    uint64_t module = 0;
    if (type->flags & WRITING_HEAP_TYPE && !strchr(type->name, '.'))
        module = find_in_class(w, type, "__module__");
    if (!module) {
        writing_put(w, type->name);
        return;
    }
    writing_put_name(w, module);
    if (w->text.size - begin == strlen("builtins") && !memcmp(w->text.out + begin, "builtins", 8))
        w->text.size = begin;
    else
        writing_put(w, ".");
    writing_put_name_at(w, type->address + w->layout->type_qualname);
}

static const char *short_name(const struct writing_type *type)
{
    const char *dot = strrchr(type->name, '.');
    return dot ? dot + 1 : type->name;
}

static void put_class(struct writing *w, uint64_t object)
{
    struct writing_type type;
    if (!writing_read_type_at(w, object, &type)) {
        writing_put_unreadable(w, object);
        return;
    }
    writing_put(w, "<class '");
    put_class_name(w, &type);
    writing_put(w, "'>");
}

/* ---- instances ---- */

static void put_attributes(struct writing *w, uint64_t object, const struct writing_type *type)
{
    struct dictionary attributes;
    uint64_t key, value;
    if (!w->values->detailed || w->within_instance ||
        !dictionary_init_attributes(&attributes, w->layout, &w->memory, object, type->address))
        return;
    w->within_instance = true;
    for (unsigned i = 0; dictionary_next(&attributes, &key, &value) && !w->text.cut; i++) {
        writing_put(w, i == w->most_items ? " ..." : " ");
        if (i == w->most_items)
            break;
        writing_put_name(w, key);
        writing_put(w, "=");
        writing_put_item(w, value);
    }
    w->within_instance = false;
}

static void put_instance(struct writing *w, uint64_t object, const struct writing_type *type)
{
    writing_put(w, "<");
    put_class_name(w, type);
    value_text_putf(&w->text, " object at 0x%" PRIx64, object);
    put_attributes(w, object, type);
    writing_put(w, ">");
}

/* Its arguments as in a call; a tuple of one without the comma of a tuple. */
static void put_exception(struct writing *w, uint64_t object, const struct writing_type *type)
{
    uint64_t arguments = 0, count = 0;
    writing_put(w, short_name(type));
    if (!writing_enter(w, object, "(...)"))
        return;
    writing_put(w, "(");
    if (writing_read_word(w, object + w->layout->exception_arguments, &arguments) && arguments &&
        writing_read_word(w, arguments + w->layout->object_size, &count))
        writing_put_items(w, arguments + w->layout->tuple_items, count);
    writing_put(w, ")");
    writing_leave(w);
}

/* <Class.NAME: value>, from the attributes that the enum module gives its members. */
static bool put_enumerator(struct writing *w, uint64_t object, const struct writing_type *type)
{
    struct writing_type meta;
    struct dictionary attributes;
    if (!(type->flags & WRITING_HEAP_TYPE) || !writing_read_type(w, type->address, &meta) ||
        (strcmp(meta.name, "EnumType") != 0 && strcmp(meta.name, "EnumMeta") != 0) ||
        !dictionary_init_attributes(&attributes, w->layout, &w->memory, object, type->address))
        return false;
    uint64_t name = dictionary_find(attributes, "_name_"), value = dictionary_find(attributes, "_value_");
    if (!name || !value)
        return false;
    value_text_putf(&w->text, "<%s.", type->name);
    writing_put_name(w, name);
    writing_put(w, ": ");
    writing_put_item(w, value);
    writing_put(w, ">");
    return true;
}

/* Class(name=value, ...) of a tuple whose class has _fields. */
static bool put_named_tuple(struct writing *w, uint64_t object, const struct writing_type *type)
{
    uint64_t fields = type->flags & WRITING_OF_TUPLE ? find_in_class(w, type, "_fields") : 0, count, known;
    if (!fields || !writing_read_word(w, fields + w->layout->object_size, &known) ||
        !writing_read_word(w, object + w->layout->object_size, &count) || known != count)
        return false;
    writing_put(w, type->name);
    if (!writing_enter(w, object, "(...)"))
        return true;
    writing_put(w, "(");
    for (uint64_t i = 0; i < count && writing_separate(w, i); i++) {
        uint64_t item = 0;
        writing_read_word(w, object + w->layout->tuple_items + 8 * i, &item);
        writing_put_name_at(w, fields + w->layout->tuple_items + 8 * i);
        writing_put(w, "=");
        writing_put_item(w, item);
    }
    writing_put(w, ")");
    writing_leave(w);
    return true;
}

/* A subclass of a type that has literals: Class(literal). */
static bool put_as_base(struct writing *w, uint64_t object, const struct writing_type *type)
{
    static const struct {
        uint64_t flag;
        writing_function *put;
    } bases[] = {
        {WRITING_OF_INT, value_builtins_put_int},     {WRITING_OF_LIST, value_builtins_put_list},
        {WRITING_OF_TUPLE, value_builtins_put_tuple}, {WRITING_OF_BYTES, value_builtins_put_bytes},
        {WRITING_OF_TEXT, value_builtins_put_text},   {WRITING_OF_DICT, value_builtins_put_dict},
    };
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (!(type->flags & bases[i].flag))
            continue;
        writing_put(w, short_name(type));
        writing_put(w, "(");
        bases[i].put(w, object);
        writing_put(w, ")");
        return true;
    }
    return false;
}

/* ---- any object ---- */

static bool put_by_table(struct writing *w, uint64_t object, const struct writing_type *type,
                         const struct writing_row *row)
{
    /* The name of a class statement's has no dot: it may be called as it likes. */
    if (type->flags & WRITING_HEAP_TYPE && !strchr(type->name, '.'))
        return false;
    for (; row->name; row++) {
        if (strcmp(row->name, type->name) == 0) {
            row->put(w, object);
            return true;
        }
    }
    return false;
}

static void put_typed(struct writing *w, uint64_t object, const struct writing_type *type)
{
    if (put_by_table(w, object, type, value_builtins_table) ||
        put_by_table(w, object, type, value_objects_table))
        return;
    if (type->flags & WRITING_OF_TYPE)
        put_class(w, object);
    else if (type->flags & WRITING_OF_EXCEPTION)
        put_exception(w, object, type);
    else if (!put_enumerator(w, object, type) && !put_named_tuple(w, object, type) &&
             !put_as_base(w, object, type))
        put_instance(w, object, type);
}

void values_put_object(struct writing *w, uint64_t object)
{
    struct writing_type type;
    if (w->nesting == WRITING_MOST_NESTING) {
        writing_put(w, "...");
        return;
    }
    w->nesting++;
    if (!object)
        writing_put(w, "NULL");
    else if (object % 8 || !writing_read_type(w, object, &type))
        writing_put_unreadable(w, object);
    else
        put_typed(w, object, &type);
    w->nesting--;
}

/* ---- */

static void begin(struct writing *w, const struct values *values, char *out, size_t bytes)
{
    *w = (struct writing){
        .values = values,
        .layout = values->layout,
        .memory = {.read = read_counted, .context = w},
        .reads_left = MOST_READS,
        .text = {.out = out, .limit = bytes},
        .most_depth = values->detailed ? WRITING_MOST_DEPTH : BRIEF_DEPTH,
        .most_items = values->detailed ? MOST_ITEMS : BRIEF_ITEMS,
        .item_bytes = bytes / 2,
    };
}

/* The low bits of a slot: 1 = borrowed, 3 = a number itself. */
static void put_slot(struct writing *w, uint64_t word)
{
    bool marked = layout_minor(w->layout) >= 14;
    if (marked && (word & 3) == 3)
        value_text_putf(&w->text, "%" PRId64, (int64_t)word >> 2);
    else
        values_put_object(w, marked ? word & ~(uint64_t)3 : word);
}

size_t values_put(const struct values *values, uint64_t address, char *out)
{
    struct writing w;
    begin(&w, values, out, (values->detailed ? VALUES_DETAILED_BYTES : VALUES_BRIEF_BYTES) - 3);
    put_slot(&w, address);
    if (w.text.cut) {
        memcpy(out + w.text.size, "...", 3);
        w.text.size += 3;
    }
    return w.text.size;
}
