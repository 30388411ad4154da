#include "collect/outside/target_python.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "collect/outside/runtime_search.h"
#include "python/threads.h"
#include "unwind/elf_file.h"

enum { THREADS_MAX = 64, RECORD_WORDS = 0x100 };

/* What is looked up in a file's tables of symbols. */
enum symbol { RUNTIME, CODE_TYPE, FRAME_TYPE, VERSION, SYMBOLS };
static const char *const symbol_names[SYMBOLS] = {"_PyRuntime", "PyCode_Type", "PyFrame_Type", "Py_Version"};

enum { START_TRIES = 400, START_PAUSE_NS = 5000000 }; /* 2 s in all */
enum { USUAL_TYPE_OFFSET = 8 };                       /* in an object, of every version */

struct finding {
    const struct target_image *image;
    struct target_python *python;
    struct runtime_search search;
    uint64_t symbols[SYMBOLS]; /* addresses in memory; 0 = not there */
};

static bool is_named_python(const struct target_mapping *mapping)
{
    const char *name = strrchr(mapping->path, '/');
    return name && strstr(name, "python");
}

/* The mappings of the file that begins here, and the zeroed data right behind it; 0 = no program's file begins. */
static size_t extent(const struct target_image *image, size_t first)
{
    const struct target_mapping *begin = &image->mappings[first];
    bool executable = false;
    size_t end = first;
    if (begin->path[0] != '/' || (first && strcmp(begin[-1].path, begin->path) == 0))
        return 0;
    for (; end < image->count; end++) {
        const struct target_mapping *mapping = &image->mappings[end];
        bool behind = end == first || mapping->start == mapping[-1].end;
        bool zeroed = behind && !mapping->path[0] && mapping->writable;
        if (strcmp(mapping->path, begin->path) != 0 && !zeroed)
            break;
        executable |= mapping->executable;
    }
    return executable ? end - first : 0;
}

bool target_python_bias(const struct elf_image *elf, const struct target_mapping *mapping, uint64_t *bias)
{
    for (unsigned i = 0; i < elf->segment_count; i++) {
        const struct elf_image_segment *segment = &elf->segments[i];
        uint64_t page = segment->offset & ~(uint64_t)4095;
        if (mapping->offset < page || mapping->offset >= segment->offset + segment->size_bytes)
            continue;
        *bias = mapping->start - mapping->offset - (segment->address - segment->offset);
        return true;
    }
    return false;
}

static void look_up_symbols(struct finding *finding)
{
    const struct target_mapping *mapping = &finding->image->mappings[finding->search.first];
    struct elf_file file;
    memset(finding->symbols, 0, sizeof finding->symbols);
    if (finding->image->open(finding->image->context, mapping, &file, NULL) < 0)
        return;
    if (target_python_bias(&file.image, mapping, &finding->python->bias) &&
        elf_image_symbols(&file.image, symbol_names, finding->symbols, SYMBOLS))
        for (int i = 0; i < SYMBOLS; i++)
            finding->symbols[i] += finding->symbols[i] ? finding->python->bias : 0;
    elf_file_close(&file);
}

/* Without the runtime's address: its mark in memory, or a list of interpreters of the version that is told. */
static int search_runtime(struct finding *finding, uint32_t version, struct err *err)
{
    struct target_python *python = finding->python;
    python->runtime = runtime_search_published(&finding->search);
    if (python->runtime)
        return layouts_read(&finding->image->memory, python->runtime, 0, &python->layout, err);
    /* Any readable address without the mark: only the version counts. */
    uint64_t start = finding->image->mappings[finding->search.first].start;
    if (layouts_read(&finding->image->memory, start, version, &python->layout, err) < 0)
        return -1;
    python->runtime = runtime_search_interpreters(&finding->search, &python->layout);
    return python->runtime ? 0 : err_set(err, "its Python has no interpreter yet, or has ended; try again");
}

/* From 3.11 on it is a constant with a name; before that, a text that the interpreter writes when it starts. */
static uint32_t find_version(const struct finding *finding)
{
    uint64_t constant = 0;
    if (finding->symbols[VERSION])
        memory_read_word(&finding->image->memory, finding->symbols[VERSION], &constant);
    return constant >> 24 == 3 ? (uint32_t)constant : runtime_search_version(&finding->search);
}

static int find_layout(struct finding *finding, struct err *err)
{
    struct target_python *python = finding->python;
    const struct memory *memory = &finding->image->memory;
    uint64_t mark;
    python->runtime = finding->symbols[RUNTIME];
    bool published = python->runtime && memory_read_word(memory, python->runtime, &mark) &&
                     memcmp(&mark, "xdebugpy", sizeof mark) == 0;
    uint32_t version = published ? 0 : find_version(finding);
    python->is_starting = !published && !version;
    return python->runtime ? layouts_read(memory, python->runtime, version, &python->layout, err)
                           : search_runtime(finding, version, err);
}

/* The types that a walk compares with, and a proof that all of this is right. */
static int find_types(struct finding *finding, struct err *err)
{
    struct target_python *python = finding->python;
    const struct layout *layout = &python->layout;
    python->code_type = finding->symbols[CODE_TYPE];
    python->frame_type = finding->symbols[FRAME_TYPE];
    if (!python->code_type)
        python->code_type = runtime_search_type(&finding->search, layout, "code");
    if (!python->frame_type && layout->chain == LAYOUT_FRAME_OBJECTS)
        python->frame_type = runtime_search_type(&finding->search, layout, "frame");
    return layouts_check(layout, &finding->image->memory, python->code_type, err);
}

/* A type has no type itself until the interpreter has begun. */
static bool types_are_made(const struct finding *finding)
{
    uint64_t address = finding->symbols[CODE_TYPE], type;
    return !address || !memory_read_word(&finding->image->memory, address + USUAL_TYPE_OFFSET, &type) || type;
}

static int read_python(struct finding *finding, struct err *err)
{
    struct target_python *python = finding->python;
    const struct target_mapping *mappings = &finding->image->mappings[finding->search.first];
    python->start = mappings[0].start;
    python->end = mappings[finding->search.count - 1].end;
    snprintf(python->path, sizeof python->path, "%s", mappings[0].path);
    int result = find_layout(finding, err) < 0 ? -1 : find_types(finding, err);
    python->is_starting = result < 0 && (python->is_starting || !types_are_made(finding));
    return result;
}

/* Whether the file that begins at this mapping has an interpreter: by its symbols, or else by its data. */
static bool holds_python(struct finding *finding, bool by_data)
{
    look_up_symbols(finding);
    if (!by_data)
        return finding->symbols[RUNTIME] || finding->symbols[CODE_TYPE];
    return runtime_search_published(&finding->search) || runtime_search_version(&finding->search);
}

/* Most Pythons are called so and have their symbols: the others are looked for last. */
enum pass { NAMED_PYTHON, WITH_SYMBOLS, BY_DATA, PASSES };

/* 1 when it was found, -1 when what was found is refused, 0 when there is none. What looks like one by its data
 * alone may be a copy of a text: then others may be the right one. */
static int find_in_pass(struct finding *finding, enum pass pass, struct err *err)
{
    const struct target_image *image = finding->image;
    int result = 0;
    for (size_t i = 0; i < image->count; i++) {
        size_t count = extent(image, i);
        if (!count || (pass != BY_DATA && is_named_python(&image->mappings[i]) != (pass == NAMED_PYTHON)))
            continue;
        *finding->python = (struct target_python){0};
        finding->search.first = i;
        finding->search.count = count;
        if (!holds_python(finding, pass == BY_DATA))
            continue;
        result = read_python(finding, err) < 0 ? -1 : 1;
        if (result > 0 || pass != BY_DATA)
            break;
    }
    return result;
}

int target_python_find(const struct target_image *image, struct target_python *python, struct err *err)
{
    struct finding finding = {.image = image, .python = python, .search = {.image = image}};
    struct err inner = {0};
    int found = 0;
    for (enum pass pass = 0; pass < PASSES && !found; pass++)
        found = find_in_pass(&finding, pass, &inner);
    if (found > 0)
        return 0;
    if (found < 0)
        return err_set(err, "%s", inner.text);
    *python = (struct target_python){0};
    return err_set(err, "it is no Python program, or its interpreter has not started yet");
}

int target_python_await(const struct target_image *image, struct target_python *python, struct err *err)
{
    const struct timespec pause = {.tv_nsec = START_PAUSE_NS};
    int result = target_python_find(image, python, err);
    for (int i = 0; result < 0 && python->is_starting && i < START_TRIES; i++) {
        nanosleep(&pause, NULL);
        result = target_python_find(image, python, err);
    }
    return result;
}

struct walk_process target_python_walk(const struct target_python *python, const struct memory *memory,
                                       struct code_cache *codes)
{
    return (struct walk_process){.layout = &python->layout,
                                 .memory = *memory,
                                 .code_type = python->code_type,
                                 .frame_type = python->frame_type,
                                 .codes = codes};
}

/* ---- threads of 3.9 and 3.10 ---- */

static bool is_tid(const uint32_t *tids, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (tids[i] == number)
            return true;
    return false;
}

/* What pthread_ts point to. */
struct records {
    size_t count;
    uint32_t words[THREADS_MAX][RECORD_WORDS];
};

/* Numbers of the process's threads, each another one: in a container they are small, and match much else. */
static bool holds_tids(const struct records *records, size_t word, const uint32_t *tids, size_t count)
{
    for (size_t i = 0; i < records->count; i++) {
        if (!is_tid(tids, count, records->words[i][word]))
            return false;
        for (size_t k = 0; k < i; k++)
            if (records->words[i][word] == records->words[k][word])
                return false;
    }
    return records->count > 0;
}

uint32_t target_python_tid_offset(const struct target_python *python, const struct memory *memory,
                                  const uint32_t *tids, size_t count)
{
    struct threads_row rows[THREADS_MAX];
    struct records records = {0};
    ssize_t threads = threads_list(&python->layout, memory, python->runtime, rows, THREADS_MAX);
    for (ssize_t i = 0; i < threads && i < THREADS_MAX; i++)
        records.count +=
            memory_read(memory, rows[i].thread_id, records.words[records.count], sizeof records.words[0]);
    /* The GNU library keeps it in the second half; others at the beginning. */
    for (size_t i = 0; i < RECORD_WORDS; i++) {
        size_t word = (i + RECORD_WORDS / 2) % RECORD_WORDS;
        if (holds_tids(&records, word, tids, count))
            return (uint32_t)(word * sizeof(uint32_t));
    }
    return 0;
}
