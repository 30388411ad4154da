#include "collect/agent/mark_template.h"

#include <stdbool.h>
#include <string.h>

static bool is_letter(char letter)
{
    return letter == '_' || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           letter < 0;
}

/* How many bytes of an identifier begin here. */
static size_t identifier(const char *text, size_t bytes)
{
    size_t size = 0;
    while (size < bytes && (is_letter(text[size]) || (size && text[size] >= '0' && text[size] <= '9')))
        size++;
    return size;
}

size_t mark_template_step(const char *path, size_t bytes, struct mark_step *step)
{
    bool item = path[0] == '[', attribute = path[0] == '.';
    const char *name = path + (item || attribute);
    size_t room = bytes - (size_t)(name - path);
    const char *end = item ? memchr(name, ']', room) : name + identifier(name, room);
    *step = (struct mark_step){item, name, end ? (size_t)(end - name) : 0};
    return step->bytes ? (size_t)(end - path) + item : 0;
}

static bool is_path(const char *text, size_t bytes)
{
    size_t at = identifier(text, bytes);
    if (!at)
        return false;
    while (at < bytes) {
        struct mark_step step;
        size_t size =
            text[at] == '.' || text[at] == '[' ? mark_template_step(text + at, bytes - at, &step) : 0;
        if (!size)
            return false;
        at += size;
    }
    return true;
}

static bool is(const char *text, size_t bytes, const char *word)
{
    return bytes == strlen(word) && memcmp(text, word, bytes) == 0;
}

/* Behind a brace. */
static struct mark_piece read_braces(const char **at)
{
    const char *end = strchr(*at, '}');
    struct mark_piece piece = {MARK_PIECE_WRONG, *at, end ? (size_t)(end - *at) : strlen(*at)};
    *at += piece.bytes + (end != NULL);
    if (!end || !is_path(piece.text, piece.bytes))
        return piece;
    piece.kind = is(piece.text, piece.bytes, "function") ? MARK_PIECE_FUNCTION
                 : is(piece.text, piece.bytes, "class")  ? MARK_PIECE_CLASS
                                                         : MARK_PIECE_ARGUMENT;
    return piece;
}

struct mark_piece mark_template_next(const char **at)
{
    const char *text = *at;
    if (!*text)
        return (struct mark_piece){MARK_PIECE_END, text, 0};
    bool brace = *text == '{' || *text == '}';
    if (brace && text[1] == *text) {
        *at += 2;
        return (struct mark_piece){MARK_PIECE_TEXT, text, 1};
    }
    ++*at;
    if (*text == '{')
        return read_braces(at);
    if (*text == '}')
        return (struct mark_piece){MARK_PIECE_WRONG, text, 1};
    *at = text + strcspn(text, "{}");
    return (struct mark_piece){MARK_PIECE_TEXT, text, (size_t)(*at - text)};
}
