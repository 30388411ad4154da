#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/map.h"
#include "base/strings.h"
#include "symbols/cython_source.h"
#include "symbols/debug_info.h"
#include "symbols/demangle.h"
#include "symbols/module_file.h"
#include "unwind/eh_frame.h"

struct module {
    char *path;
    uint8_t *build_id;
    size_t build_id_size;
    uint64_t size_bytes; /* 0 = not known */
    bool is_open, is_found;
    struct err problem;
    struct debug_info *info;        /* NULL when the file was not found, or without libdw */
    struct elf_file file;           /* then its own table of symbols is all there is */
    struct eh_frame_list functions; /* where functions begin, for those without a name */
    struct map found;               /* address → number of its first frame */
};

/* A frame as it is kept; texts are ids. */
struct kept {
    uint32_t function;
    uint32_t file;
    uint32_t line;
    bool is_inlined;
    bool is_offset;
    bool is_last;
};

struct symbols {
    char **folders;
    size_t folder_count;
    char *search_path;
    struct module **modules;
    size_t module_count;
    struct bytes frames; /* struct kept */
    struct cython_source cython;
    struct strings strings;
};

static bool copy_folders(struct symbols *symbols, const char *const *folders, size_t count)
{
    struct bytes path = {0};
    symbols->folders = calloc(count + 1, sizeof symbols->folders[0]);
    for (size_t index = 0; index < count && symbols->folders; index++) {
        char *folder = realpath(folders[index], NULL);
        if (!folder)
            continue; /* a folder that does not exist holds nothing */
        symbols->folders[symbols->folder_count++] = folder;
        bytes_putf(&path, "%s%s", path.size ? ":" : "", folder);
    }
    bytes_put_u8(&path, '\0');
    symbols->search_path = (char *)bytes_take(&path, NULL);
    return symbols->folders && symbols->search_path;
}

struct symbols *symbols_new(const char *const *folders, size_t folder_count)
{
    struct symbols *symbols = calloc(1, sizeof *symbols);
    if (symbols && copy_folders(symbols, folders, folder_count))
        return symbols;
    symbols_free(symbols);
    return NULL;
}

static void module_free(struct module *module)
{
    debug_info_close(module->info);
    elf_file_close(&module->file);
    eh_frame_clear(&module->functions);
    map_clear(&module->found);
    free(module->path);
    free(module->build_id);
    free(module);
}

void symbols_free(struct symbols *symbols)
{
    if (!symbols)
        return;
    for (size_t index = 0; index < symbols->module_count; index++)
        module_free(symbols->modules[index]);
    for (size_t index = 0; index < symbols->folder_count; index++)
        free(symbols->folders[index]);
    free(symbols->folders);
    free(symbols->search_path);
    free(symbols->modules);
    bytes_clear(&symbols->frames);
    cython_source_clear(&symbols->cython);
    strings_clear(&symbols->strings);
    free(symbols);
}

static bool is_same(const struct module *module, const char *path, const uint8_t *build_id, size_t size)
{
    return module->build_id_size == size && strcmp(module->path, path) == 0 &&
           (!size || memcmp(module->build_id, build_id, size) == 0);
}

uint32_t symbols_module(struct symbols *symbols, const char *path, const uint8_t *build_id,
                        size_t build_id_size)
{
    for (size_t index = 0; index < symbols->module_count; index++)
        if (is_same(symbols->modules[index], path, build_id, build_id_size))
            return (uint32_t)index;
    struct module **grown = realloc(symbols->modules, (symbols->module_count + 1) * sizeof *grown);
    if (!grown)
        return UINT32_MAX;
    symbols->modules = grown;
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return UINT32_MAX;
    module->path = strdup(path);
    module->build_id = malloc(build_id_size + 1);
    if (!module->path || !module->build_id) {
        module_free(module);
        return UINT32_MAX;
    }
    if (build_id_size)
        memcpy(module->build_id, build_id, build_id_size);
    module->build_id_size = build_id_size;
    grown[symbols->module_count] = module;
    return (uint32_t)symbols->module_count++;
}

void symbols_expect_size(struct symbols *symbols, uint32_t number, uint64_t size_bytes)
{
    if (number < symbols->module_count)
        symbols->modules[number]->size_bytes = size_bytes;
}

/* Opens what can be found of the module, once; afterwards `problem` says what was not. */
static void open_module(struct symbols *symbols, struct module *module)
{
    if (module->is_open)
        return;
    module->is_open = true;
    struct module_file_wanted wanted = {.path = module->path,
                                        .build_id = module->build_id,
                                        .build_id_size = module->build_id_size,
                                        .size_bytes = module->size_bytes,
                                        .folders = (const char *const *)symbols->folders,
                                        .folder_count = symbols->folder_count};
    char *path = module_file_open(&module->file, &wanted, &module->problem);
    if (!path)
        return;
    module->is_found = true;
    module->problem = (struct err){0}; /* it may have been found in the second place */
    eh_frame_list(&module->functions, &module->file.image, NULL);
    module->info = debug_info_open(path, symbols->search_path, &module->problem);
    if (module->info)
        elf_file_close(&module->file);
    if (module->info && !debug_info_has_lines(module->info))
        err_set(&module->problem,
                "%s: no debug data, so functions without files and lines; install its debug package", path);
    free(path);
}

struct filling {
    struct symbols *symbols;
    size_t count;
};

static void keep(struct filling *filling, const struct kept *frame)
{
    if (filling->count < SYMBOLS_INLINE_MAX)
        bytes_put(&filling->symbols->frames, frame, sizeof *frame);
    filling->count++;
}

static void keep_frame(void *context, const struct debug_info_frame *frame)
{
    struct filling *filling = context;
    struct strings *strings = &filling->symbols->strings;
    char *name = demangle_new(frame->symbol);
    struct kept kept = {.line = frame->line, .is_inlined = frame->is_inlined};
    const char *file = frame->file, *pyx = NULL;
    if (file && cython_source_is_function(frame->symbol))
        pyx = cython_source_find(&filling->symbols->cython, file, frame->line, &kept.line);
    kept.function = strings_intern_text(strings, name ? name : frame->symbol);
    kept.file = strings_intern_text(strings, pyx ? pyx : file ? file : "");
    free(name);
    keep(filling, &kept);
}

struct wanted_symbol {
    uint64_t address;
    const char *name;
};

static void take_if_covering(void *context, const char *name, uint64_t address, uint64_t size)
{
    struct wanted_symbol *wanted = context;
    if (!wanted->name && *name && wanted->address >= address && wanted->address - address < size)
        wanted->name = name;
}

static bool keep_elf_symbol(struct filling *filling, const struct module *module, uint64_t address)
{
    struct wanted_symbol wanted = {.address = address};
    if (module->file.data)
        elf_image_each_symbol(&module->file.image, take_if_covering, &wanted);
    if (wanted.name)
        keep_frame(filling, &(struct debug_info_frame){.symbol = wanted.name});
    return wanted.name;
}

/* module+offset, the offset being the function's first byte where it is known. Of code without a file no function is
 * known, and an address means nothing in another run. */
static void keep_offset(struct filling *filling, const struct module *module, uint64_t address)
{
    const struct eh_frame_entry *function = eh_frame_find(&module->functions, address);
    const char *slash = strrchr(module->path, '/'), *name = slash ? slash + 1 : module->path;
    char text[512];
    if (!*name || *name == '[')
        snprintf(text, sizeof text, "%.400s", *name ? name : "[anonymous]");
    else
        snprintf(text, sizeof text, "%.400s+0x%llx", name,
                 (unsigned long long)(function ? function->start : address));
    struct kept kept = {.is_offset = true};
    kept.function = strings_intern_text(&filling->symbols->strings, text);
    keep(filling, &kept);
}

static struct kept *frame_at(struct symbols *symbols, size_t number)
{
    return (struct kept *)(void *)symbols->frames.data + number;
}

/* Resolves the address and gives the number of its first frame; MAP_NONE when memory ran out. */
static uint32_t resolve(struct symbols *symbols, struct module *module, uint64_t address)
{
    size_t first = symbols->frames.size / sizeof(struct kept);
    struct filling filling = {.symbols = symbols};
    open_module(symbols, module);
    bool found = module->info && debug_info_find(module->info, address, keep_frame, &filling);
    if (!found && !filling.count && !keep_elf_symbol(&filling, module, address))
        keep_offset(&filling, module, address);
    if (symbols->frames.failed || first >= MAP_NONE || !map_set(&module->found, address, (uint32_t)first))
        return MAP_NONE;
    struct kept *last = frame_at(symbols, symbols->frames.size / sizeof(struct kept) - 1);
    last->is_last = true;
    last->is_inlined = false;
    return (uint32_t)first;
}

static struct symbols_frame shown(const struct symbols *symbols, const struct kept *kept)
{
    return (struct symbols_frame){.function = strings_text(&symbols->strings, kept->function),
                                  .file = strings_text(&symbols->strings, kept->file),
                                  .line = kept->line,
                                  .is_inlined = kept->is_inlined,
                                  .is_offset = kept->is_offset};
}

size_t symbols_find(struct symbols *symbols, uint32_t number, uint64_t address,
                    struct symbols_frame frames[SYMBOLS_INLINE_MAX])
{
    static const struct symbols_frame unknown = {
        .function = "[unknown module]", .file = "", .is_offset = true};
    uint32_t first = MAP_NONE;
    size_t count = 0;
    if (number < symbols->module_count) {
        struct module *module = symbols->modules[number];
        first = map_get(&module->found, address);
        if (first == MAP_NONE)
            first = resolve(symbols, module, address);
    }
    if (first == MAP_NONE) {
        frames[0] = unknown;
        return 1;
    }
    do
        frames[count] = shown(symbols, frame_at(symbols, first + count));
    while (!frame_at(symbols, first + count++)->is_last);
    return count;
}

const char *symbols_problem(const struct symbols *symbols, uint32_t number)
{
    return number < symbols->module_count ? symbols->modules[number]->problem.text : "";
}

bool symbols_is_found(const struct symbols *symbols, uint32_t number)
{
    return number < symbols->module_count && symbols->modules[number]->is_found;
}

const char *symbols_unavailable(void)
{
    return debug_info_unavailable();
}
