#include "cli/dump_native.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "analyse/native_names.h"
#include "base/bytes.h"
#include "base/err.h"
#include "show/dump.h"
#include "symbols/symbols.h"
#include "unwind/elf_file.h"

enum { RED_ZONE_BYTES = 128, STACK_POINTER = 7 };

/* ---- the code ---- */

static void add_place(struct dump_native *native, const struct target_mapping *mapping)
{
    const struct native_file *file = native_files_get(&native->files, native->image, mapping);
    if (!file)
        return;
    uint64_t bias = native_files_bias(file, mapping);
    if (modules_add(native->table, mapping->start, mapping->end, bias, file->rows) == 0)
        native->places[native->place_count++] = (struct dump_native_place){
            .start = mapping->start, .end = mapping->end, .bias = bias, .file = file};
}

static struct dump_native_place *place_of(const struct dump_native *native, uint64_t address)
{
    size_t low = 0, high = native->place_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (native->places[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < native->place_count && native->places[low].start <= address ? &native->places[low] : NULL;
}

int dump_native_init(struct dump_native *native, const struct target_image *image, const char *const *folders,
                     size_t folder_count, bool internals, struct err *err)
{
    *native = (struct dump_native){.image = image, .internals = internals};
    size_t count = image->count < MODULES_MAX ? image->count : MODULES_MAX;
    native->table = calloc(1, sizeof *native->table + count * sizeof *native->table->entries);
    native->places = calloc(count + 1, sizeof *native->places);
    native->stack = malloc(DUMP_NATIVE_STACK_BYTES);
    native->symbols = symbols_new(folders, folder_count);
    if (!native->table || !native->places || !native->stack || !native->symbols) {
        dump_native_clear(native);
        return err_set(err, "out of memory");
    }
    native->table->generation = 1;
    for (size_t i = 0; i < count; i++)
        if (image->mappings[i].executable)
            add_place(native, &image->mappings[i]);
    return 0;
}

void dump_native_clear(struct dump_native *native)
{
    native_files_clear(&native->files);
    free(native->table);
    free(native->places);
    free(native->stack);
    if (native->symbols)
        symbols_free(native->symbols);
    *native = (struct dump_native){0};
}

/* ---- a thread's registers and stack ---- */

/* From its innermost byte to the end of what is mapped there. */
static void copy_stack(struct dump_native *native)
{
    uint64_t pointer = native->registers.value[STACK_POINTER];
    native->stack_low = pointer - RED_ZONE_BYTES;
    native->stack_bytes = 0;
    for (size_t i = 0; i < native->image->count; i++) {
        const struct target_mapping *mapping = &native->image->mappings[i];
        if (pointer < mapping->start || pointer >= mapping->end)
            continue;
        if (native->stack_low < mapping->start)
            native->stack_low = mapping->start;
        uint64_t size = mapping->end - native->stack_low;
        native->stack_bytes = size < DUMP_NATIVE_STACK_BYTES ? (size_t)size : DUMP_NATIVE_STACK_BYTES;
    }
    if (!memory_read(&native->image->memory, native->stack_low, native->stack, native->stack_bytes))
        native->stack_bytes = 0;
}

bool dump_native_take_held(struct dump_native *native, uint32_t tid)
{
    struct user_regs_struct user;
    struct iovec vector = {&user, sizeof user};
    if (ptrace(PTRACE_GETREGSET, (pid_t)tid, (void *)NT_PRSTATUS, &vector) != 0)
        return false;
    return dump_native_take(native, (const uint64_t *)&user, vector.iov_len / sizeof(uint64_t));
}

bool dump_native_take(struct dump_native *native, const uint64_t *registers, size_t count)
{
    struct user_regs_struct user;
    if (count < sizeof user / sizeof *registers)
        return false;
    memcpy(&user, registers, sizeof user);
    walk_native_from_ptrace(&native->registers, &user);
    copy_stack(native);
    return true;
}

static bool load(void *context, uint64_t address, uint64_t *value)
{
    const struct dump_native *native = context;
    return memory_read_word(&native->image->memory, address, value);
}

/* The call, not what comes after it. */
static uint64_t call_address(const struct walk_native_frame *frame)
{
    return frame->address - (frame->flags & WALK_NATIVE_RETURN ? 1 : 0);
}

static enum native_merge_kind kind_of(const struct dump_native *native, uint64_t address)
{
    const struct dump_native_place *place = place_of(native, address);
    return place ? native_evaluator_kind(&place->file->evaluator, address - place->bias) : NATIVE_MERGE_PLAIN;
}

/* ---- names ---- */

static uint32_t module_of(struct dump_native *native, struct dump_native_place *place)
{
    struct elf_file elf;
    if (place->module)
        return place->module - 1;
    const uint8_t *build_id = NULL;
    size_t size = 0;
    struct target_mapping mapping = {.start = place->start,
                                     .end = place->end,
                                     .path = place->file->path,
                                     .device = place->file->device,
                                     .inode = place->file->inode};
    bool opened = mapping.inode && native->image->open(native->image->context, &mapping, &elf, NULL) == 0;
    if (opened) {
        build_id = elf.image.build_id;
        size = elf.image.build_id_size;
    }
    uint32_t module = symbols_module(native->symbols, place->file->path, build_id, size);
    if (opened)
        elf_file_close(&elf);
    place->module = module + 1;
    return module;
}

/* What is left out unless it is asked for: the interpreter's own, but for what programs call; and where every thread
 * begins. */
static bool is_hidden(const struct dump_native *native, const struct dump_native_place *place,
                      const struct symbols_frame *frame)
{
    bool interpreter = place->file->evaluator.count || native_names_is_interpreter(place->file->path);
    return !native->internals && ((interpreter && !native_names_is_builtin(frame->function)) ||
                                  native_names_is_root(frame->function));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void add_named(struct dump *dump, const struct dump_native_place *place,
                      const struct symbols_frame *named)
{
    struct dump_frame *frame = dump_add_frame(dump);
    struct bytes name = {0};
    if (!frame)
        return;
    native_names_put(named->function, place->file->path, &name);
    frame->native = true;
    frame->function = dump_intern(dump, (const char *)name.data, name.size);
    const char *library = base_name(place->file->path);
    frame->module = dump_intern(dump, library, strlen(library));
    if (named->file[0])
        frame->file = dump_intern(dump, named->file, strlen(named->file));
    frame->line = (int32_t)named->line;
    bytes_clear(&name);
}

static void add_native_frame(struct dump_native *native, struct dump *dump, uint64_t address)
{
    struct symbols_frame frames[SYMBOLS_INLINE_MAX];
    struct dump_native_place *place = place_of(native, address);
    if (!place)
        return;
    uint32_t module = module_of(native, place);
    size_t count =
        module == UINT32_MAX ? 0 : symbols_find(native->symbols, module, address - place->bias, frames);
    for (size_t i = 0; i < count; i++)
        if (!is_hidden(native, place, &frames[i]))
            add_named(dump, place, &frames[i]);
}

/* ---- one stack out of two ---- */

struct weaving {
    struct walk_native_frame native[DUMP_NATIVE_FRAMES];
    uint8_t kinds[DUMP_NATIVE_FRAMES];
    uint8_t *entries;          /* of the Python frames */
    struct dump_frame *python; /* the frames of the dump, by their place in the walk */
    struct native_merge_frame *merged;
};

static size_t walk_copied(struct dump_native *native, struct weaving *weaving, bool *whole)
{
    const struct walk_native_range range = {native->stack_low, native->stack_low + native->stack_bytes,
                                            native->stack};
    const struct walk_native_memory memory = {
        .ranges = &range, .range_count = 1, .load = load, .context = native};
    struct walk_native_stack stack = {.frames = weaving->native, .capacity = DUMP_NATIVE_FRAMES};
    walk_native(&stack, &native->registers, native->table, &memory, NULL);
    for (size_t i = 0; i < stack.count; i++)
        weaving->kinds[i] = (uint8_t)kind_of(native, call_address(&weaving->native[i]));
    *whole = stack.end == WALK_NATIVE_ROOT;
    return stack.count;
}

/* Takes the Python frames out of the dump, to be put back between others. */
static void take_python(struct weaving *weaving, struct dump *dump, struct dump_thread *thread,
                        const struct walk_frame *walked, size_t walked_count)
{
    size_t next = thread->first_frame;
    for (size_t i = 0; i < walked_count; i++) {
        weaving->entries[i] = (walked[i].flags & WALK_ENTRY) != 0;
        if (!(walked[i].flags & WALK_STARTING) && next < dump->frame_count)
            weaving->python[i] = dump->frames[next++];
    }
    dump->frame_count = thread->first_frame;
    thread->frame_count = 0;
}

static void put_python(struct dump *dump, const struct dump_frame *frame)
{
    struct dump_frame *placed = frame->function ? dump_add_frame(dump) : NULL;
    if (placed)
        *placed = *frame;
}

static void weave(struct dump_native *native, struct weaving *weaving, struct dump *dump, size_t python_count)
{
    bool agrees;
    struct native_merge_stacks stacks = {.native = weaving->kinds,
                                         .python = weaving->entries,
                                         .python_count = python_count,
                                         .python_is_whole = true};
    stacks.native_count = walk_copied(native, weaving, &stacks.native_is_whole);
    size_t count = native_merge(&stacks, weaving->merged, &agrees);
    for (size_t i = 0; i < count; i++) {
        const struct native_merge_frame *frame = &weaving->merged[i];
        if (frame->is_python)
            put_python(dump, &weaving->python[frame->index]);
        else
            add_native_frame(native, dump, call_address(&weaving->native[frame->index]));
    }
}

void dump_native_weave(struct dump_native *native, struct dump *dump, struct dump_thread *thread,
                       const struct walk_frame *walked, size_t walked_count)
{
    struct weaving *weaving = calloc(1, sizeof *weaving);
    if (weaving) {
        weaving->entries = calloc(walked_count + 1, 1);
        weaving->python = calloc(walked_count + 1, sizeof *weaving->python);
        weaving->merged = calloc(walked_count + DUMP_NATIVE_FRAMES, sizeof *weaving->merged);
    }
    if (weaving && weaving->entries && weaving->python && weaving->merged) {
        take_python(weaving, dump, thread, walked, walked_count);
        weave(native, weaving, dump, walked_count);
    } else
        dump->failed = true;
    if (weaving) {
        free(weaving->entries);
        free(weaving->python);
        free(weaving->merged);
    }
    free(weaving);
}
