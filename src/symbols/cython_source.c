#include "symbols/cython_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

#define FILE_BYTES_MAX ((size_t)256 << 20)

/* From this line of C on, code is that of this line of the .pyx file. */
struct cython_mark {
    uint32_t c_line;
    uint32_t path; /* in `paths` */
    uint32_t line;
};

struct cython_file {
    char *path;
    struct bytes marks; /* struct cython_mark, by line; empty when it could not be read */
};

bool cython_source_is_function(const char *symbol)
{
    static const char *const kinds[] = {"__pyx_pw_", "__pyx_pf_", "__pyx_f_", "__pyx_gb_", NULL};
    for (int i = 0; kinds[i]; i++)
        if (strstr(symbol, kinds[i]))
            return true;
    return false;
}

/* The path of a mark is relative to where Cython ran; mostly the file lies beside the C file. */
static uint32_t path_of(struct cython_source *source, const char *c_file, const char *written, size_t size)
{
    const char *folder_end = strrchr(c_file, '/'), *base = memrchr(written, '/', size);
    struct bytes path = {0};
    base = base ? base + 1 : written;
    bytes_putf(&path, "%.*s/%.*s", folder_end ? (int)(folder_end - c_file) : 1, folder_end ? c_file : ".",
               (int)(written + size - base), base);
    bytes_put_u8(&path, '\0');
    bool beside = !path.failed && access((const char *)path.data, F_OK) == 0;
    uint32_t id = beside ? strings_intern_text(&source->paths, (const char *)path.data)
                         : strings_intern(&source->paths, written, size);
    bytes_clear(&path);
    return id;
}

/* One line of C, when it is a mark. The text ends with a zero byte. */
static void read_mark(struct cython_source *source, struct cython_file *file, const char *text,
                      uint32_t c_line)
{
    static const char open[] = "/* \"";
    text += strspn(text, " \t");
    if (strncmp(text, open, strlen(open)) != 0)
        return;
    text += strlen(open);
    size_t size = strcspn(text, "\"\n");
    if (strncmp(text + size, "\":", 2) != 0 || size == 0)
        return;
    unsigned long line = strtoul(text + size + 2, NULL, 10);
    struct cython_mark mark = {c_line, path_of(source, file->path, text, size), (uint32_t)line};
    if (line && line < UINT32_MAX && mark.path != UINT32_MAX)
        bytes_put(&file->marks, &mark, sizeof mark);
}

static void read_marks(struct cython_source *source, struct cython_file *file)
{
    struct bytes text = {0};
    uint32_t line = 1;
    if (bytes_read_file(&text, file->path, FILE_BYTES_MAX, NULL) == 0)
        bytes_put_u8(&text, '\0');
    if (text.failed || text.size == 0) {
        bytes_clear(&text);
        return;
    }
    for (const char *at = (const char *)text.data; at; line++) {
        read_mark(source, file, at, line);
        at = strchr(at, '\n');
        at = at ? at + 1 : NULL;
    }
    bytes_clear(&text);
}

static struct cython_file *file_of(struct cython_source *source, const char *path)
{
    for (size_t i = 0; i < source->count; i++)
        if (strcmp(source->files[i].path, path) == 0)
            return &source->files[i];
    struct cython_file *files = realloc(source->files, (source->count + 1) * sizeof *files);
    if (!files)
        return NULL;
    source->files = files;
    struct cython_file *file = &files[source->count];
    *file = (struct cython_file){.path = strdup(path)};
    if (!file->path)
        return NULL;
    source->count++;
    read_marks(source, file);
    return file;
}

const char *cython_source_find(struct cython_source *source, const char *c_file, uint32_t c_line,
                               uint32_t *line)
{
    const struct cython_file *file = file_of(source, c_file);
    if (!file || file->marks.failed)
        return NULL;
    const struct cython_mark *marks = (const struct cython_mark *)(const void *)file->marks.data;
    size_t low = 0, high = file->marks.size / sizeof *marks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (marks[middle].c_line <= c_line)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return NULL;
    *line = marks[low - 1].line;
    return strings_text(&source->paths, marks[low - 1].path);
}

void cython_source_clear(struct cython_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        free(source->files[i].path);
        bytes_clear(&source->files[i].marks);
    }
    free(source->files);
    strings_clear(&source->paths);
    *source = (struct cython_source){0};
}
