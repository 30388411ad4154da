#include "import/tau_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "store/recording.h"

/* What makes two functions the same. */
struct label {
    uint32_t name, file, line;
};

void tau_names_clear(struct tau_names *names)
{
    strings_clear(&names->names);
    strings_clear(&names->labels);
    free(names->paths);
    free(names->codes);
    *names = (struct tau_names){0};
}

struct tau_span tau_names_trim(struct tau_span span)
{
    while (span.size && isspace((unsigned char)span.at[span.size - 1]))
        span.size--;
    for (; span.size && isspace((unsigned char)span.at[0]); span.size--)
        span.at++;
    return span;
}

bool tau_names_is(struct tau_span span, const char *text)
{
    return span.size == strlen(text) && memcmp(span.at, text, span.size) == 0;
}

static bool begins_with(struct tau_span span, const char *text)
{
    return span.size >= strlen(text) && memcmp(span.at, text, strlen(text)) == 0;
}

static bool ends_with(struct tau_span span, const char *text)
{
    return span.size >= strlen(text) && memcmp(span.at + span.size - strlen(text), text, strlen(text)) == 0;
}

/* ---- one function ---- */

static int digit_of(char letter)
{
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    return letter >= 'A' && letter <= 'F' ? letter - 'A' + 10 : -1;
}

/* The string, with %XX put back if sonde wrote it. */
static uint32_t intern(struct tau_names *names, struct tau_span span, bool ours)
{
    struct bytes text = {0};
    for (size_t i = 0; i < span.size; i++) {
        bool coded = ours && span.at[i] == '%' && i + 2 < span.size && digit_of(span.at[i + 1]) >= 0 &&
                     digit_of(span.at[i + 2]) >= 0;
        bytes_put_u8(&text, coded ? (uint8_t)(digit_of(span.at[i + 1]) * 16 + digit_of(span.at[i + 2]))
                                  : (uint8_t)span.at[i]);
        i += coded ? 2 : 0;
    }
    uint32_t id =
        strings_intern(&names->recording->strings, text.size ? (const char *)text.data : "", text.size);
    names->failed |= text.failed || id == UINT32_MAX;
    bytes_clear(&text);
    return names->failed ? 0 : id;
}

/* Python's C functions are told from what is no function of Python's at all by their brackets. */
static struct code describe(struct tau_names *names, const struct label *label)
{
    struct code code = {.name = label->name,
                        .qualname = label->name,
                        .file = label->file,
                        .line = label->line,
                        .kind = CODE_OTHER};
    const char *text = recording_text(names->recording, label->name);
    const char *file = recording_text(names->recording, label->file);
    struct tau_span span = {file, strlen(file)};
    if (ends_with(span, ".py") || (file[0] == '<' && ends_with(span, ">")))
        code.kind = CODE_PYTHON;
    else if (!file[0] && (strncmp(text, "<built-in ", 10) == 0 || strncmp(text, "<method ", 8) == 0))
        code.kind = CODE_C;
    if (code.kind == CODE_C)
        code.file = intern(names, (struct tau_span){"~", 1}, false);
    return code;
}

static uint32_t code_of(struct tau_names *names, const struct label *label)
{
    /* Both are counted from 1. */
    uint32_t id = strings_intern(&names->labels, (const char *)label, sizeof *label);
    if (id == UINT32_MAX || names->failed) {
        names->failed = true;
        return 0;
    }
    if (id < names->recording->codes_count)
        return id;
    struct code code = describe(names, label);
    uint32_t added = recording_add_code(names->recording, &code);
    names->failed |= added != id;
    return names->failed ? 0 : id;
}

/* Takes " [{file} {line,column}-{line,column}]" off the end; the line of the beginning counts. */
static struct tau_span split_place(struct tau_span *text, uint32_t *line)
{
    struct tau_span file = {text->at, 0};
    const char *open = text->size > 4 && text->at[text->size - 1] == ']' ? text->at + text->size - 2 : NULL;
    while (open && open > text->at && !(open[0] == '[' && open[1] == '{'))
        open--;
    if (!open || open == text->at)
        return file;
    const char *end = text->at + text->size, *at = memchr(open, '}', (size_t)(end - open));
    if (!at)
        return file;
    file = (struct tau_span){open + 2, (size_t)(at - open - 2)};
    text->size = (size_t)(open - text->at);
    at = memchr(at, '{', (size_t)(end - at));
    for (at = at ? at + 1 : end; at < end && isdigit((unsigned char)*at) && *line < 100000000; at++)
        *line = *line * 10 + (uint32_t)(*at - '0');
    return file;
}

static uint32_t read_function(struct tau_names *names, struct tau_span text, bool ours)
{
    struct label label = {0};
    struct tau_span file = split_place(&text, &label.line);
    text = tau_names_trim(text);
    /* "int main(int, char **) C": TAU's instrumentor names the language. */
    if (!ours && file.size && ends_with(text, " C"))
        text.size -= 2;
    label.name = intern(names, tau_names_trim(text), ours);
    label.file = intern(names, file, ours);
    return code_of(names, &label);
}

/* ---- paths ---- */

static void *enlarge(void *rows, uint32_t *capacity, size_t size)
{
    uint32_t larger = *capacity * 2 + 256;
    rows = realloc(rows, larger * size);
    if (rows)
        *capacity = larger;
    return rows;
}

static void add_code(struct tau_names *names, uint32_t code)
{
    if (names->codes_count == names->codes_capacity) {
        uint32_t *codes = enlarge(names->codes, &names->codes_capacity, sizeof *codes);
        if (!codes) {
            names->failed = true;
            return;
        }
        names->codes = codes;
    }
    names->codes[names->codes_count++] = code;
}

static bool is_sampled(struct tau_span part)
{
    static const char *const marks[] = {"[SAMPLE]", "[CONTEXT]", "[UNWIND]", "[INTERMEDIATE]", "[SUMMARY]"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (begins_with(part, marks[i]))
            return true;
    return false;
}

static struct tau_path read_path(struct tau_names *names, struct tau_span text, bool ours)
{
    struct tau_path path = {.first = names->codes_count};
    const char *at = text.at, *end = text.at + text.size;
    for (bool more = true; more && !names->failed;) {
        const char *arrow = memmem(at, (size_t)(end - at), "=>", 2);
        struct tau_span part = tau_names_trim((struct tau_span){at, (size_t)((arrow ? arrow : end) - at)});
        more = arrow;
        at = arrow ? arrow + 2 : end;
        if (!part.size || (ours && tau_names_is(part, ".TAU application")))
            continue;
        path.sampled |= is_sampled(part);
        add_code(names, read_function(names, part, ours));
    }
    path.count = names->codes_count - path.first;
    return path;
}

uint32_t tau_names_find(struct tau_names *names, struct tau_span text, bool ours)
{
    uint32_t known = names->names.count;
    uint32_t id = strings_intern(&names->names, text.at, text.size);
    if (id == UINT32_MAX || names->failed) {
        names->failed = true;
        return 0;
    }
    if (names->names.count > names->paths_capacity) {
        uint32_t capacity = names->paths_capacity;
        struct tau_path *paths = enlarge(names->paths, &names->paths_capacity, sizeof *paths);
        if (!paths) {
            names->failed = true;
            return 0;
        }
        memset(paths + capacity, 0, (names->paths_capacity - capacity) * sizeof *paths);
        names->paths = paths;
    }
    if (id >= known && id)
        names->paths[id] = read_path(names, text, ours);
    return id;
}
