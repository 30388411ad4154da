#include "analyse/labels.h"

#include <string.h>

#include "base/bytes.h"
#include "store/recording.h"

static const char *after_last(const char *text, const char *part)
{
    const char *found = NULL;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        found = at + strlen(part);
    return found;
}

const char *labels_library_path(const char *path)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", NULL};
    for (int i = 0; folders[i]; i++) {
        const char *rest = after_last(path, folders[i]);
        if (rest)
            return rest;
    }
    const char *rest = after_last(path, "/lib/python");
    rest = rest ? rest : after_last(path, "/lib64/python");
    rest = rest ? strchr(rest, '/') : NULL;
    return rest ? rest + 1 : NULL;
}

static const char *last_parts(const char *path, int parts)
{
    const char *at = path + strlen(path);
    while (at > path && (at[-1] != '/' || --parts > 0))
        at--;
    return at;
}

const char *labels_path(const char *path, enum label_paths style)
{
    if (style == LABEL_FULL || path[0] == '<')
        return path;
    if (style == LABEL_BASE)
        return last_parts(path, 1);
    const char *rest = labels_library_path(path);
    if (rest)
        return rest;
    return path[0] == '/' ? last_parts(path, 2) : path;
}

bool labels_is_c(const struct code *code)
{
    return code->kind == CODE_C || code->kind == CODE_NATIVE;
}

const char *labels_library(const struct recording *recording, const struct code *code)
{
    const char *name = recording_text(recording, code->name);
    const char *library = recording_text(recording, code->module);
    size_t size = strlen(library);
    if (code->kind != CODE_NATIVE || (strncmp(name, library, size) == 0 && name[size] == '+'))
        return "";
    return library;
}

/* Native functions are known by the lines that ran, not by where they begin. */
static bool has_line(const struct code *code)
{
    return code->line || code->kind != CODE_NATIVE;
}

/* Whether pstats would leave file and line out. */
static bool is_placeless(const struct recording *recording, const struct code *code)
{
    const char *file = recording_text(recording, code->file);
    return !file[0] || (strcmp(file, "~") == 0 && !code->line);
}

static void put_without_locals(struct bytes *out, const char *name)
{
    static const char step[] = ".<locals>";
    for (const char *at; (at = strstr(name, step)); name = at + strlen(step))
        bytes_put(out, name, (size_t)(at - name));
    bytes_put_text(out, name);
}

void labels_name(const struct recording *recording, uint32_t id, struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    const char *name = recording_text(recording, code->name);
    size_t size = strlen(name);
    if (is_placeless(recording, code)) {
        bool bracketed = size > 1 && name[0] == '<' && name[size - 1] == '>';
        if (bracketed)
            bytes_putf(out, "{%.*s}", (int)size - 2, name + 1);
        else
            bytes_put_text(out, name);
        return;
    }
    const char *qualname = recording_text(recording, code->qualname);
    put_without_locals(out, qualname[0] ? qualname : name);
}

/* Of a native function without a source file the library, unless it is called by it already. */
static void put_library(const struct recording *recording, const struct code *code, struct bytes *out)
{
    const char *library = labels_library(recording, code);
    if (*library)
        bytes_putf(out, " (%s)", library);
}

void labels_standard(const struct recording *recording, uint32_t id, enum label_paths style,
                     struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    if (is_placeless(recording, code)) {
        labels_name(recording, id, out);
        put_library(recording, code, out);
        return;
    }
    bytes_put_text(out, labels_path(recording_text(recording, code->file), style));
    if (has_line(code))
        bytes_putf(out, ":%u", code->line);
    bytes_put_u8(out, '(');
    labels_name(recording, id, out);
    bytes_put_u8(out, ')');
}

/* Splits "<method 'append' of 'list' objects>" and "<built-in method time.sleep>". False for other texts. */
struct c_name {
    const char *owner, *name;
    int owner_size, name_size;
};

static bool split_method(const char *text, struct c_name *split)
{
    const char *owner = strstr(text, "' of '");
    const char *end = owner ? strstr(owner, "' objects") : NULL;
    if (strncmp(text, "<method '", 9) != 0 || !end)
        return false;
    *split = (struct c_name){.name = text + 9,
                             .name_size = (int)(owner - text - 9),
                             .owner = owner + 6,
                             .owner_size = (int)(end - owner - 6)};
    return true;
}

static bool split_built_in(const char *text, struct c_name *split)
{
    static const char prefix[] = "<built-in method ";
    size_t size = strlen(text), skip = strlen(prefix);
    if (strncmp(text, prefix, skip) != 0 || size < skip + 2)
        return false;
    const char *name = text + skip;
    const char *dot = memrchr(name, '.', size - skip - 1);
    *split = (struct c_name){.owner = name, .owner_size = dot ? (int)(dot - name) : 0};
    split->name = dot ? dot + 1 : name;
    split->name_size = (int)(text + size - 1 - split->name);
    return true;
}

static void put_c_words(struct bytes *out, const char *text)
{
    struct c_name split;
    if (!split_method(text, &split) && !split_built_in(text, &split))
        bytes_put_text(out, text);
    else if (!split.owner_size || strncmp(split.owner, "builtins", (size_t)split.owner_size) == 0)
        bytes_putf(out, "%.*s", split.name_size, split.name);
    else
        bytes_putf(out, "%.*s.%.*s", split.owner_size, split.owner, split.name_size, split.name);
}

void labels_compact(const char *label, struct bytes *out)
{
    struct bytes name = {0};
    bytes_putf(&name, "<%.*s>", (int)strlen(label) - 2, label + 1);
    bytes_put_u8(&name, '\0');
    bytes_put_u8(out, '{');
    if (!name.failed)
        put_c_words(out, (const char *)name.data);
    bytes_put_u8(out, '}');
    bytes_clear(&name);
}

void labels_brief(const struct recording *recording, uint32_t id, struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    if (is_placeless(recording, code))
        put_c_words(out, recording_text(recording, code->name));
    else
        labels_name(recording, id, out);
}

static void put_place(struct bytes *out, const char *file, uint32_t line, bool with_line)
{
    static const char frozen[] = "<frozen ";
    size_t size = strlen(file), skip = strlen(frozen);
    if (strncmp(file, frozen, skip) == 0 && file[size - 1] == '>')
        bytes_putf(out, " (%.*s:%u)", (int)(size - skip - 1), file + skip, line);
    else
        bytes_putf(out, with_line ? " (%s:%u)" : " (%s)", labels_path(file, LABEL_SHORT), line);
}

/* `line`: 0 = where the function begins. */
static void put_words(const struct recording *recording, uint32_t id, uint32_t line, struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    labels_brief(recording, id, out);
    if (!is_placeless(recording, code))
        put_place(out, recording_text(recording, code->file), line ? line : code->line,
                  line || has_line(code));
    else if (*labels_library(recording, code))
        put_library(recording, code, out);
    else if (labels_is_c(code))
        bytes_put_text(out, " (C)");
}

void labels_words(const struct recording *recording, uint32_t id, struct bytes *out)
{
    put_words(recording, id, 0, out);
}

void labels_place(const struct recording *recording, uint32_t node, struct bytes *out)
{
    put_words(recording, recording->nodes[node].code, recording->nodes[node].line, out);
}

static void put_c_module(struct bytes *out, const char *name)
{
    struct c_name split;
    if (split_method(name, &split)) {
        const char *dot = memrchr(split.owner, '.', (size_t)split.owner_size);
        bytes_putf(out, "%.*s", dot ? (int)(dot - split.owner) : 8, dot ? split.owner : "builtins");
    } else if (split_built_in(name, &split) && split.owner_size) {
        bytes_put(out, split.owner, (size_t)split.owner_size);
    } else {
        bytes_put_text(out, "builtins");
    }
}

static void put_path_module(struct bytes *out, const char *path)
{
    const char *inside = labels_library_path(path);
    const char *at = inside ? inside : last_parts(path, 1);
    size_t size = strlen(at);
    if (size > 3 && strcmp(at + size - 3, ".py") == 0)
        size -= 3;
    if (size > 9 && strncmp(at + size - 9, "/__init__", 9) == 0)
        size -= 9;
    for (size_t i = 0; i < size; i++)
        bytes_put_u8(out, (uint8_t)(at[i] == '/' ? '.' : at[i]));
}

void labels_module(const struct recording *recording, uint32_t id, struct bytes *out)
{
    const struct code *code = &recording->codes[id];
    const char *module = recording_text(recording, code->module);
    if (module[0])
        bytes_put_text(out, module);
    else if (is_placeless(recording, code))
        put_c_module(out, recording_text(recording, code->name));
    else
        put_path_module(out, recording_text(recording, code->file));
}
