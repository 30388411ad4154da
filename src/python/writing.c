#include "python/writing.h"

#include "python/names.h"

#include <inttypes.h>

bool writing_read_word(struct writing *w, uint64_t address, uint64_t *out)
{
    return memory_read_word(&w->memory, address, out);
}

/* Never reads beyond a 16-byte block, so never onto a page that it does not touch. */
bool writing_read_string(struct writing *w, uint64_t address, char *out, size_t capacity)
{
    for (size_t used = 0; used < capacity - 1;) {
        size_t size = 16 - address % 16;
        if (size > capacity - 1 - used)
            size = capacity - 1 - used;
        if (!memory_read(&w->memory, address, out + used, size))
            return false;
        if (memchr(out + used, 0, size))
            return true;
        used += size;
        address += size;
    }
    out[capacity - 1] = 0;
    return true;
}

bool writing_read_type_at(struct writing *w, uint64_t address, struct writing_type *type)
{
    uint64_t name;
    type->address = address;
    return writing_read_word(w, address + w->layout->type_flags, &type->flags) &&
           writing_read_word(w, address + w->layout->type_name, &name) &&
           writing_read_string(w, name, type->name, sizeof type->name);
}

bool writing_read_type(struct writing *w, uint64_t object, struct writing_type *type)
{
    uint64_t address;
    return writing_read_word(w, object + w->layout->object_type, &address) &&
           writing_read_type_at(w, address, type);
}

void writing_put(struct writing *w, const char *words)
{
    value_text_put(&w->text, words);
}

void writing_put_unreadable(struct writing *w, uint64_t object)
{
    value_text_putf(&w->text, "<unreadable at 0x%" PRIx64 ">", object);
}

void writing_put_name(struct writing *w, uint64_t text)
{
    char name[WRITING_NAME_BYTES];
    ssize_t size = names_text(w->layout, &w->memory, text, name, sizeof name);
    if (size >= 0)
        value_text_put_bytes(&w->text, name, (size_t)size);
    else
        writing_put(w, "?");
}

void writing_put_name_at(struct writing *w, uint64_t address)
{
    uint64_t text = 0;
    writing_read_word(w, address, &text);
    writing_put_name(w, text);
}

void writing_put_item(struct writing *w, uint64_t object)
{
    size_t limit = w->text.limit;
    if (w->text.cut)
        return;
    if (limit - w->text.size > w->item_bytes)
        w->text.limit = w->text.size + w->item_bytes;
    values_put_object(w, object);
    w->text.limit = limit;
    if (w->text.cut) {
        w->text.cut = false;
        writing_put(w, "...");
    }
}

bool writing_enter(struct writing *w, uint64_t object, const char *shortly)
{
    bool inside = w->depth >= w->most_depth;
    for (unsigned i = 0; i < w->depth; i++)
        inside |= w->path[i] == object;
    if (inside)
        writing_put(w, shortly);
    else
        w->path[w->depth++] = object;
    return !inside;
}

void writing_leave(struct writing *w)
{
    w->depth--;
}

bool writing_separate(struct writing *w, uint64_t index)
{
    if (w->text.cut)
        return false;
    if (index)
        writing_put(w, ", ");
    if (index == w->most_items)
        writing_put(w, "...");
    return index < w->most_items && !w->text.cut;
}

void writing_put_items(struct writing *w, uint64_t items, uint64_t count)
{
    for (uint64_t i = 0; i < count && writing_separate(w, i); i++) {
        uint64_t item = 0;
        if (writing_read_word(w, items + 8 * i, &item))
            writing_put_item(w, item);
        else
            writing_put_unreadable(w, items + 8 * i);
    }
}
