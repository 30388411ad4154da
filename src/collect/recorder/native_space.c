#include "collect/recorder/native_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "collect/outside/process_image.h"
#include "python/memory.h"
#include "store/writer.h"
#include "store/writer_native.h"

#define EAGER_NS         500000000u /* after a change others are likely: libraries come in bursts */
#define FIRST_PAUSE_NS   20000000u  /* after an answer that brought nothing new; doubled each time */
#define LONGEST_PAUSE_NS 1000000000u

/* One stretch of code. */
struct place {
    uint64_t start, end, bias;
    const struct native_file *file;
};

struct native_space {
    struct native_files *files;
    struct native_area *area;
    uint32_t pid, process;
    struct place *places; /* by address */
    size_t count;
    struct place *gone; /* those that were there before; the last gone last */
    size_t gone_count;
    struct map images; /* a file's module → where its rows are in the area, in units of 8 bytes */
    struct map known;  /* address → index of `codes` */
    struct native_code *codes;
    size_t code_count, code_capacity;
    struct modules *table;   /* of `places` */
    uint32_t loads, unknown; /* of the area, when the map was last read */
    uint64_t changed_ns, next_ns, pause_ns;
    struct walk_native_frame frames[NATIVE_AREA_DEPTH]; /* while a stack is walked */
    struct err problem;
};

/* ---- the table ---- */

/* Room in the area; NULL when it is used up. */
static void *take_room(struct native_area *area, uint64_t size)
{
    uint64_t at = (area->rows_used + 7) & ~(uint64_t)7;
    if (at > sizeof area->rows || size > sizeof area->rows - at)
        return NULL;
    area->rows_used = at + size;
    return area->rows + at;
}

/* The rows of a file in the area, copied there when they are needed first. */
static const struct rows *rows_in_area(struct native_space *space, const struct native_file *file)
{
    uint32_t place = map_get(&space->images, file->module);
    if (place != MAP_NONE)
        return (const struct rows *)(const void *)(space->area->rows + (size_t)place * 8);
    void *room = file->rows ? take_room(space->area, file->rows->size_bytes) : NULL;
    if (!room)
        return NULL;
    memcpy(room, file->rows, file->rows->size_bytes);
    map_set(&space->images, file->module, (uint32_t)(((uint8_t *)room - space->area->rows) / 8));
    return room;
}

static size_t table_bytes(const struct native_space *space)
{
    return sizeof(struct modules) + space->count * sizeof(struct modules_entry);
}

static void fill_table(struct native_space *space, struct modules *modules, bool in_area)
{
    modules->generation = ++space->files->generation;
    modules->count = 0;
    for (size_t i = 0; i < space->count; i++) {
        const struct place *place = &space->places[i];
        modules_add(modules, place->start, place->end, place->bias,
                    in_area ? rows_in_area(space, place->file) : place->file->rows);
    }
}

/* For the process. */
static void publish(struct native_space *space)
{
    struct modules *modules = take_room(space->area, table_bytes(space));
    if (!modules)
        return;
    fill_table(space, modules, true);
    __atomic_store_n(&space->area->table_at, (uint64_t)((uint8_t *)modules - (uint8_t *)space->area),
                     __ATOMIC_RELEASE);
}

/* For ourselves: nothing that the process could have written to. */
static void make_own_table(struct native_space *space)
{
    free(space->table);
    space->table = malloc(table_bytes(space));
    if (space->table)
        fill_table(space, space->table, false);
}

/* ---- the map ---- */

static bool is_there(const struct place *place, const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (places[i].start == place->start && places[i].end == place->end && places[i].file == place->file)
            return true;
    return false;
}

static void write_mapping(struct native_space *space, const struct place *place, uint64_t file_offset)
{
    const struct mapping row = {.process = space->process,
                                .module = place->file->module,
                                .start = place->start,
                                .end = place->end,
                                .file_offset = file_offset,
                                .since_ns = clock_monotonic_ns()};
    writer_native_mapping(space->files->writer, &row);
}

/* The code of the process now. False when memory ran out. */
static bool list_places(struct native_space *space, const struct target_image *image, struct place **out,
                        size_t *count)
{
    struct place *places = calloc(image->count + 1, sizeof *places);
    *out = places;
    *count = 0;
    for (size_t i = 0; places && i < image->count; i++) {
        const struct target_mapping *mapping = &image->mappings[i];
        if (!mapping->executable || strcmp(mapping->path, "[vsyscall]") == 0)
            continue;
        const struct native_file *file = native_files_get(space->files, image, mapping);
        if (!file)
            continue;
        places[*count] = (struct place){mapping->start, mapping->end, native_files_bias(file, mapping), file};
        if (!is_there(&places[*count], space->places, space->count))
            write_mapping(space, &places[*count], mapping->offset);
        ++*count;
    }
    return places;
}

static void remember_gone(struct native_space *space, const struct place *now, size_t count)
{
    struct place *grown = realloc(space->gone, (space->gone_count + space->count) * sizeof *grown);
    if (!grown)
        return;
    space->gone = grown;
    for (size_t i = 0; i < space->count; i++)
        if (!is_there(&space->places[i], now, count))
            space->gone[space->gone_count++] = space->places[i];
}

static bool is_same(const struct native_space *space, const struct place *places, size_t count)
{
    return count == space->count && (!count || memcmp(places, space->places, count * sizeof *places) == 0);
}

/* True when something has changed. */
static bool read_map(struct native_space *space)
{
    struct process_image process;
    struct place *places;
    size_t count;
    if (process_image_open(&process, space->pid, &space->problem) < 0)
        return false;
    bool read = list_places(space, &process.image, &places, &count);
    process_image_close(&process);
    if (!read || is_same(space, places, count)) {
        free(places);
        return false;
    }
    if (space->count)
        remember_gone(space, places, count);
    free(space->places);
    space->places = places;
    space->count = count;
    map_clear(&space->known);
    make_own_table(space);
    return true;
}

/* Unknown code that stays unknown (a guess gone astray) is not worth a look each time. */
static void look_again_later(struct native_space *space, bool changed, uint64_t now_ns)
{
    uint64_t longer_ns = space->pause_ns ? space->pause_ns * 2 : FIRST_PAUSE_NS;
    space->pause_ns = changed ? 0 : longer_ns < LONGEST_PAUSE_NS ? longer_ns : LONGEST_PAUSE_NS;
    space->next_ns = now_ns + space->pause_ns;
}

bool native_space_step(struct native_space *space)
{
    uint32_t loads = __atomic_load_n(&space->area->loads, __ATOMIC_ACQUIRE);
    uint32_t unknown = __atomic_load_n(&space->area->unknown, __ATOMIC_ACQUIRE);
    uint64_t now_ns = clock_monotonic_ns();
    bool has_loaded = loads != space->loads;
    if (has_loaded || (unknown != space->unknown && now_ns >= space->next_ns)) {
        bool changed = read_map(space);
        if (changed) {
            publish(space);
            space->changed_ns = now_ns;
        }
        if (!has_loaded || changed)
            look_again_later(space, changed, now_ns);
        space->area->hopeless = !has_loaded && !changed;
        space->loads = loads;
        space->unknown = unknown;
    }
    return now_ns - space->changed_ns < EAGER_NS;
}

/* ---- stacks ---- */

/* Code alone: the thread's stack has moved on since. */
static bool load_code(void *context, uint64_t address, uint64_t *value)
{
    const struct native_space *space = context;
    const struct memory memory = memory_of_process((int)space->pid);
    return space->table && modules_find(space->table, address) != MODULES_NONE &&
           memory_read_word(&memory, address, value);
}

uint32_t native_space_walk(struct native_space *space, uint32_t number, uint64_t addresses[NATIVE_AREA_DEPTH],
                           uint16_t *flags)
{
    *flags = 0;
    native_space_step(space); /* its code may have come after the last look */
    if (number >= NATIVE_AREA_CELLS || !space->table)
        return 0;
    struct native_cell *cell = &space->area->cells[number];
    struct walk_native_registers registers = cell->registers;
    uint64_t low = cell->low, size = cell->size < sizeof cell->stack ? cell->size : sizeof cell->stack;
    const struct walk_native_range range = {low, low + size, cell->stack};
    const struct walk_native_memory memory = {
        .ranges = &range, .range_count = 1, .load = load_code, .context = space};
    struct walk_native_stack stack = {.frames = space->frames, .capacity = NATIVE_AREA_DEPTH};
    walk_native(&stack, &registers, space->table, &memory, NULL);
    __atomic_store_n(&cell->used, 0, __ATOMIC_RELEASE);
    for (size_t i = 0; i < stack.count; i++) {
        const struct walk_native_frame *frame = &space->frames[stack.count - 1 - i];
        addresses[i] = frame->address - (frame->flags & WALK_NATIVE_RETURN ? 1 : 0);
    }
    bool guessed = stack.count && space->frames[stack.count - 1].flags & WALK_NATIVE_GUESSED;
    *flags = (uint16_t)((stack.end == WALK_NATIVE_ROOT ? NATIVE_ROOT : 0) | (guessed ? NATIVE_GUESSED : 0) |
                        (stack.end == WALK_NATIVE_FULL ? NATIVE_CUT : 0));
    return (uint32_t)stack.count;
}

/* ---- addresses ---- */

static const struct place *place_of(const struct native_space *space, uint64_t address)
{
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (space->places[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && address < space->places[low - 1].end)
        return &space->places[low - 1];
    for (size_t i = space->gone_count; i-- > 0;)
        if (address >= space->gone[i].start && address < space->gone[i].end)
            return &space->gone[i];
    return NULL;
}

static struct native_code look_up(struct native_space *space, uint64_t address)
{
    struct writer *writer = space->files->writer;
    const struct place *place = place_of(space, address);
    if (!place) {
        const struct module unknown = {.path = writer_string(writer, "[unknown]", 9)};
        return (struct native_code){
            writer_native_code(writer, writer_native_module(writer, &unknown), address), 0};
    }
    uint64_t offset = address - place->bias;
    return (struct native_code){writer_native_code(writer, place->file->module, offset),
                                native_evaluator_kind(&place->file->evaluator, offset)};
}

struct native_code native_space_find(struct native_space *space, uint64_t address)
{
    uint32_t index = map_get(&space->known, address);
    if (index != MAP_NONE)
        return space->codes[index];
    if (!space->known.count)
        space->code_count = 0;
    struct native_code code = look_up(space, address);
    if (space->code_count == space->code_capacity) {
        size_t capacity = space->code_capacity * 2 + 1024;
        struct native_code *grown = realloc(space->codes, capacity * sizeof *grown);
        if (!grown)
            return code;
        space->codes = grown;
        space->code_capacity = capacity;
    }
    space->codes[space->code_count] = code;
    map_set(&space->known, address, (uint32_t)space->code_count++);
    return code;
}

const char *native_space_problem(const struct native_space *space)
{
    return space->count ? NULL : space->problem.text;
}

/* ---- life ---- */

struct native_space *native_space_new(struct native_files *files, struct native_area *area, uint32_t pid,
                                      uint32_t process, const struct native_space *parent)
{
    struct native_space *space = calloc(1, sizeof *space);
    if (!space)
        return NULL;
    *space = (struct native_space){.files = files, .area = area, .pid = pid, .process = process};
    if (parent && parent->count) {
        space->places = malloc(parent->count * sizeof *space->places);
        if (space->places) {
            memcpy(space->places, parent->places, parent->count * sizeof *space->places);
            space->count = parent->count;
            make_own_table(space);
        }
    } else {
        space->loads = area->loads - 1;
    }
    native_space_step(space);
    return space;
}

void native_space_free(struct native_space *space)
{
    if (!space)
        return;
    map_clear(&space->images);
    map_clear(&space->known);
    free(space->places);
    free(space->table);
    free(space->gone);
    free(space->codes);
    free(space);
}
