#include "python/dictionary.h"
#include "python/writing.h"

/* ---- numbers ---- */

static bool read_int(struct writing *w, uint64_t object, uint32_t *digits, size_t *count, bool *negative)
{
    uint64_t tag;
    if (!writing_read_word(w, object + w->layout->int_tag, &tag))
        return false;
    bool counted = layout_minor(w->layout) < 12; /* by a size that has the sign, else by a tag */
    *negative = counted ? (int64_t)tag < 0 : (tag & 3) == 2;
    uint64_t size = !counted ? tag >> 3 : *negative ? -tag : tag;
    *count = size;
    if (size > VALUE_TEXT_DIGITS)
        return size < (uint64_t)1 << 32;
    if (!memory_read(&w->memory, object + w->layout->int_digits, digits, size * sizeof *digits))
        return size == 0;
    for (size_t i = 0; i < size; i++)
        digits[i] &= (1u << 30) - 1;
    return true;
}

void value_builtins_put_int(struct writing *w, uint64_t object)
{
    uint32_t digits[VALUE_TEXT_DIGITS];
    size_t count;
    bool negative;
    if (!read_int(w, object, digits, &count, &negative))
        writing_put_unreadable(w, object);
    else if (!value_text_put_int(&w->text, digits, count, negative))
        value_text_putf(&w->text, "<int of about %zu bits>", 30 * count);
}

static void put_bool(struct writing *w, uint64_t object)
{
    uint32_t digits[VALUE_TEXT_DIGITS];
    size_t count;
    bool negative;
    if (!read_int(w, object, digits, &count, &negative) || count > 1)
        writing_put_unreadable(w, object);
    else
        writing_put(w, count && digits[0] ? "True" : "False");
}

static void put_float(struct writing *w, uint64_t object)
{
    double number;
    if (memory_read(&w->memory, object + w->layout->float_value, &number, sizeof number))
        value_text_put_float(&w->text, number, true);
    else
        writing_put_unreadable(w, object);
}

static void put_complex(struct writing *w, uint64_t object)
{
    double parts[2];
    if (memory_read(&w->memory, object + w->layout->complex_value, parts, sizeof parts))
        value_text_put_complex(&w->text, parts[0], parts[1]);
    else
        writing_put_unreadable(w, object);
}

/* ---- text ---- */

/* Text as it lies in memory: characters of 1, 2 or 4 bytes. */
struct characters {
    uint64_t data;
    uint64_t count;
    unsigned width;
    bool byte; /* of bytes, not of str */
};

static bool locate_text(struct writing *w, uint64_t object, struct characters *found)
{
    const struct layout *layout = w->layout;
    uint32_t state;
    if (!writing_read_word(w, object + layout->text_length, &found->count) ||
        !memory_read(&w->memory, object + layout->text_state, &state, sizeof state))
        return false;
    unsigned bits = state >> layout->text_kind_bit;
    bool compact = bits >> 3 & 1, ascii = bits >> 4 & 1;
    found->width = bits & 7;
    found->data = object + (compact && ascii ? layout->text_ascii_data : layout->text_compact_data);
    if (found->width != 1 && found->width != 2 && found->width != 4)
        return false;
    return compact || writing_read_word(w, found->data, &found->data);
}

static char quote_of(const unsigned char *bytes, size_t count, unsigned width)
{
    bool single = false, twice = false;
    for (size_t i = 0; i < count; i++) {
        uint32_t character = 0;
        memcpy(&character, bytes + i * width, width);
        single |= character == '\'';
        twice |= character == '"';
    }
    return single && !twice ? '"' : '\'';
}

/* As much as can be shown is read at once. */
static void put_characters(struct writing *w, const struct characters *found)
{
    unsigned char bytes[4 * VALUES_DETAILED_BYTES];
    uint64_t count = found->count;
    size_t most = w->text.limit - w->text.size;
    if (count > most)
        count = most;
    if (count && !memory_read(&w->memory, found->data, bytes, count * found->width)) {
        writing_put_unreadable(w, found->data);
        return;
    }
    char quote[2] = {quote_of(bytes, count, found->width)};
    writing_put(w, quote);
    for (uint64_t i = 0; i < count && !w->text.cut; i++) {
        uint32_t character = 0;
        memcpy(&character, bytes + i * found->width, found->width);
        value_text_put_character(&w->text, character, quote[0], found->byte);
    }
    writing_put(w, quote);
}

void value_builtins_put_text(struct writing *w, uint64_t object)
{
    struct characters found = {0};
    if (locate_text(w, object, &found))
        put_characters(w, &found);
    else
        writing_put_unreadable(w, object);
}

static void put_bytes_at(struct writing *w, uint64_t object, uint64_t data)
{
    struct characters found = {.data = data, .width = 1, .byte = true};
    if (!writing_read_word(w, object + w->layout->object_size, &found.count)) {
        writing_put_unreadable(w, object);
        return;
    }
    writing_put(w, "b");
    put_characters(w, &found);
}

void value_builtins_put_bytes(struct writing *w, uint64_t object)
{
    put_bytes_at(w, object, object + w->layout->bytes_data);
}

static void put_bytearray(struct writing *w, uint64_t object)
{
    uint64_t data;
    if (!writing_read_word(w, object + w->layout->bytearray_data, &data)) {
        writing_put_unreadable(w, object);
        return;
    }
    writing_put(w, "bytearray(");
    put_bytes_at(w, object, data);
    writing_put(w, ")");
}

/* ---- containers ---- */

void value_builtins_put_list(struct writing *w, uint64_t object)
{
    uint64_t count, items = 0;
    if (!writing_read_word(w, object + w->layout->object_size, &count) ||
        !writing_read_word(w, object + w->layout->list_items, &items)) {
        writing_put_unreadable(w, object);
        return;
    }
    if (!writing_enter(w, object, "[...]"))
        return;
    writing_put(w, "[");
    writing_put_items(w, items, count);
    writing_put(w, "]");
    writing_leave(w);
}

void value_builtins_put_tuple(struct writing *w, uint64_t object)
{
    uint64_t count;
    if (!writing_read_word(w, object + w->layout->object_size, &count)) {
        writing_put_unreadable(w, object);
        return;
    }
    if (!writing_enter(w, object, "(...)"))
        return;
    writing_put(w, "(");
    writing_put_items(w, object + w->layout->tuple_items, count);
    writing_put(w, count == 1 ? ",)" : ")");
    writing_leave(w);
}

void value_builtins_put_dict(struct writing *w, uint64_t object)
{
    struct dictionary items;
    uint64_t key, value;
    if (!dictionary_init(&items, w->layout, &w->memory, object)) {
        writing_put_unreadable(w, object);
        return;
    }
    if (!writing_enter(w, object, "{...}"))
        return;
    writing_put(w, "{");
    for (uint64_t i = 0; dictionary_next(&items, &key, &value) && writing_separate(w, i); i++) {
        writing_put_item(w, key);
        writing_put(w, ": ");
        writing_put_item(w, value);
    }
    writing_put(w, "}");
    writing_leave(w);
}

/* A slot of the table: an object and its hash. Deleted ones have the hash -1, which no object has. */
static uint64_t put_slots(struct writing *w, uint64_t table, uint64_t slots)
{
    uint64_t shown = 0;
    for (uint64_t i = 0; i < slots; i++) {
        uint64_t slot[2];
        if (!memory_read(&w->memory, table + 16 * i, slot, sizeof slot))
            break;
        if (!slot[0] || slot[1] == UINT64_MAX)
            continue;
        if (shown == 0)
            writing_put(w, "{");
        if (!writing_separate(w, shown++))
            break;
        writing_put_item(w, slot[0]);
    }
    return shown;
}

static void put_set_named(struct writing *w, uint64_t object, const char *before, const char *after,
                          const char *empty)
{
    uint64_t mask, table = 0;
    if (!writing_read_word(w, object + w->layout->set_mask, &mask) ||
        !writing_read_word(w, object + w->layout->set_table, &table)) {
        writing_put_unreadable(w, object);
        return;
    }
    if (!writing_enter(w, object, "{...}"))
        return;
    size_t begin = w->text.size;
    writing_put(w, before);
    if (put_slots(w, table, mask + 1)) {
        writing_put(w, "}");
        writing_put(w, after);
    } else {
        w->text.size = begin;
        writing_put(w, empty);
    }
    writing_leave(w);
}

static void put_set(struct writing *w, uint64_t object)
{
    put_set_named(w, object, "", "", "set()");
}

static void put_frozenset(struct writing *w, uint64_t object)
{
    put_set_named(w, object, "frozenset(", ")", "frozenset()");
}

/* ---- the rest of what has a literal, or nearly ---- */

static void put_none(struct writing *w, uint64_t object)
{
    (void)object;
    writing_put(w, "None");
}

static void put_ellipsis(struct writing *w, uint64_t object)
{
    (void)object;
    writing_put(w, "Ellipsis");
}

static void put_not_implemented(struct writing *w, uint64_t object)
{
    (void)object;
    writing_put(w, "NotImplemented");
}

static void put_slice(struct writing *w, uint64_t object)
{
    writing_put(w, "slice(");
    writing_put_items(w, object + w->layout->slice_start, 3);
    writing_put(w, ")");
}

/* A range has the three of a slice in the same places; a step of 1 is not written. */
static void put_range(struct writing *w, uint64_t object)
{
    uint32_t digits[VALUE_TEXT_DIGITS];
    uint64_t first = object + w->layout->slice_start, step = 0;
    size_t count;
    bool negative;
    bool one = writing_read_word(w, first + 16, &step) && read_int(w, step, digits, &count, &negative) &&
               count == 1 && digits[0] == 1 && !negative;
    writing_put(w, "range(");
    writing_put_items(w, first, one ? 2 : 3);
    writing_put(w, ")");
}

const struct writing_row value_builtins_table[] = {
    {"NoneType", put_none},
    {"bool", put_bool},
    {"int", value_builtins_put_int},
    {"float", put_float},
    {"complex", put_complex},
    {"str", value_builtins_put_text},
    {"bytes", value_builtins_put_bytes},
    {"bytearray", put_bytearray},
    {"list", value_builtins_put_list},
    {"tuple", value_builtins_put_tuple},
    {"dict", value_builtins_put_dict},
    {"set", put_set},
    {"frozenset", put_frozenset},
    {"range", put_range},
    {"slice", put_slice},
    {"ellipsis", put_ellipsis},
    {"NotImplementedType", put_not_implemented},
    {0},
};
