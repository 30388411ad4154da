#include "python/layouts.h"

#include <stdlib.h>

/* What tools/probe_layouts prints for 3.9, 3.10, 3.11 and 3.12; no release within one of them changed it. */
#define NO LAYOUT_ABSENT
#define ROWS(ROW)                                                                                            \
    ROW(runtime_interpreters, 32, 32, 40, 40)                                                                \
    ROW(runtime_gil, 352, 352, 360, NO)                                                                      \
    ROW(interpreter_next, 0, 0, 0, 0)                                                                        \
    ROW(interpreter_id, 24, 24, 48, 8)                                                                       \
    ROW(interpreter_threads, 8, 8, 16, 72)                                                                   \
    ROW(interpreter_gil, NO, NO, NO, 384)                                                                    \
    ROW(interpreter_code_generation, NO, NO, NO, NO)                                                         \
    ROW(interpreter_modules, 856, 856, 888, 944)                                                             \
    ROW(interpreter_collecting, 816, 816, 848, 312)                                                          \
    ROW(interpreter_collecting_frame, NO, NO, NO, NO)                                                        \
    ROW(gil_holder, 8, 8, 8, 8)                                                                              \
    ROW(gil_locked, 16, 16, 16, 16)                                                                          \
    ROW(thread_next, 8, 8, 8, 8)                                                                             \
    ROW(thread_interpreter, 16, 16, 16, 16)                                                                  \
    ROW(thread_frame, 24, 24, 56, 56)                                                                        \
    ROW(thread_id, 176, 176, 152, 136)                                                                       \
    ROW(thread_native_id, NO, NO, 160, 144)                                                                  \
    ROW(thread_stack_chunk, NO, NO, 296, 232)                                                                \
    ROW(thread_stack_top, NO, NO, 304, 240)                                                                  \
    ROW(cframe_frame, NO, NO, 8, 0)                                                                          \
    ROW(cframe_previous, NO, NO, 16, 8)                                                                      \
    ROW(frame_previous, 24, 24, 48, 8)                                                                       \
    ROW(frame_code, 32, 32, 32, 0)                                                                           \
    ROW(frame_instruction, 104, 96, 56, 56)                                                                  \
    ROW(frame_owner, NO, NO, 69, 70)                                                                         \
    ROW(frame_entry, NO, NO, 68, NO)                                                                         \
    ROW(frame_return_offset, NO, NO, NO, 68)                                                                 \
    ROW(frame_generator, 96, 88, NO, NO)                                                                     \
    ROW(frame_state, 116, 108, NO, NO)                                                                       \
    ROW(frame_stack_pointer, 72, 80, 64, 64)                                                                 \
    ROW(frame_locals, 360, 352, 72, 72)                                                                      \
    ROW(code_flags, 36, 36, 48, 48)                                                                          \
    ROW(code_argument_count, 16, 16, 56, 52)                                                                 \
    ROW(code_keyword_only_count, 24, 24, 64, 60)                                                             \
    ROW(code_first_line, 40, 40, 72, 68)                                                                     \
    ROW(code_stack_size, 32, 32, 68, 64)                                                                     \
    ROW(code_locals_count, 28, 28, 76, 72)                                                                   \
    ROW(code_locals_names, 72, 72, 96, 96)                                                                   \
    ROW(code_locals_kinds, NO, NO, 104, 104)                                                                 \
    ROW(code_cell_names, 88, 88, NO, NO)                                                                     \
    ROW(code_free_names, 80, 80, NO, NO)                                                                     \
    ROW(code_filename, 104, 104, 112, 112)                                                                   \
    ROW(code_name, 112, 112, 120, 120)                                                                       \
    ROW(code_qualname, NO, NO, 128, 128)                                                                     \
    ROW(code_lines, 120, 120, 136, 136)                                                                      \
    ROW(code_first_traceable, NO, NO, 168, 176)                                                              \
    ROW(code_instructions, 48, 48, 184, 192)                                                                 \
    ROW(object_type, 8, 8, 8, 8)                                                                             \
    ROW(object_size, 16, 16, 16, 16)                                                                         \
    ROW(type_name, 24, 24, 24, 24)                                                                           \
    ROW(bytes_data, 32, 32, 32, 32)                                                                          \
    ROW(tuple_items, 24, 24, 24, 24)                                                                         \
    ROW(text_length, 16, 16, 16, 16)                                                                         \
    ROW(text_state, 32, 32, 32, 32)                                                                          \
    ROW(text_kind_bit, 2, 2, 2, 2)                                                                           \
    ROW(text_ascii_data, 48, 48, 48, 40)                                                                     \
    ROW(text_compact_data, 72, 72, 72, 56)                                                                   \
    ROW(type_basic_size, 32, 32, 32, 32)                                                                     \
    ROW(type_flags, 168, 168, 168, 168)                                                                      \
    ROW(type_dictionary, 264, 264, 264, 264)                                                                 \
    ROW(type_dictionary_offset, 288, 288, 288, 288)                                                          \
    ROW(type_qualname, 856, 864, 864, 872)                                                                   \
    ROW(type_cached_keys, 864, 872, 872, 880)                                                                \
    ROW(managed_dictionary, NO, NO, 24, 24)                                                                  \
    ROW(dict_keys, 32, 32, 32, 32)                                                                           \
    ROW(dict_values, 40, 40, 40, 40)                                                                         \
    ROW(keys_size, 8, 8, 8, 8)                                                                               \
    ROW(keys_index_bytes, NO, NO, 9, 9)                                                                      \
    ROW(keys_kind, NO, NO, 10, 10)                                                                           \
    ROW(keys_count, 32, 32, 24, 24)                                                                          \
    ROW(keys_indices, 40, 40, 32, 32)                                                                        \
    ROW(values_items, 0, 0, 0, 0)                                                                            \
    ROW(int_tag, 16, 16, 16, 16)                                                                             \
    ROW(int_digits, 24, 24, 24, 24)                                                                          \
    ROW(float_value, 16, 16, 16, 16)                                                                         \
    ROW(complex_value, 16, 16, 16, 16)                                                                       \
    ROW(list_items, 24, 24, 24, 24)                                                                          \
    ROW(set_mask, 32, 32, 32, 32)                                                                            \
    ROW(set_table, 40, 40, 40, 40)                                                                           \
    ROW(bytearray_data, 40, 40, 40, 40)                                                                      \
    ROW(slice_start, 16, 16, 16, 16)                                                                         \
    ROW(cell_value, 16, 16, 16, 16)                                                                          \
    ROW(function_qualname, 104, 40, 40, 40)                                                                  \
    ROW(builtin_definition, 16, 16, 16, 16)                                                                  \
    ROW(method_function, 16, 16, 16, 16)                                                                     \
    ROW(exception_arguments, 24, 24, 24, 24)                                                                 \
    ROW(generator_qualname, 56, 48, 40, 32)                                                                  \
    ROW(generator_frame, NO, NO, NO, NO)                                                                     \
    ROW(generator_state, NO, NO, NO, NO)

#define COLUMN_9(name, of_9, of_10, of_11, of_12)  .name = of_9,
#define COLUMN_10(name, of_9, of_10, of_11, of_12) .name = of_10,
#define COLUMN_11(name, of_9, of_10, of_11, of_12) .name = of_11,
#define COLUMN_12(name, of_9, of_10, of_11, of_12) .name = of_12,
static const struct layout rows[] = {
    {.version = 0x03090000, .chain = LAYOUT_FRAME_OBJECTS, ROWS(COLUMN_9)},
    {.version = 0x030a0000, .chain = LAYOUT_FRAME_OBJECTS, ROWS(COLUMN_10)},
    {.version = 0x030b0000, .chain = LAYOUT_CFRAMES, ROWS(COLUMN_11)},
    {.version = 0x030c0000, .chain = LAYOUT_CFRAMES, ROWS(COLUMN_12)},
};

/* The structures whose sizes are published, with the most that we believe. */
enum group {
    RUNTIME,
    INTERPRETER,
    THREAD,
    FRAME,
    CODE,
    OBJECT,
    TYPE,
    TUPLE,
    LIST,
    DICT,
    FLOAT,
    INT,
    BYTES,
    TEXT,
    GENERATOR,
    GROUPS
};

enum { FIRST_PUBLISHED_MINOR = 13, PUBLISHED_VERSIONS = 3, PUBLISHED_WORDS = 103, GIL_LIMIT = 1024 };

static const struct published_size {
    uint8_t word[PUBLISHED_VERSIONS]; /* 3.13, 3.14, 3.15: place in the table, in words of 8 bytes */
    uint32_t limit_bytes;
} published_sizes[GROUPS] = {
    [RUNTIME] = {{3, 3, 3}, 4 << 20}, [INTERPRETER] = {{6, 6, 6}, 4 << 20}, [THREAD] = {{19, 22, 22}, 16384},
    [FRAME] = {{28, 31, 39}, 1024},   [CODE] = {{34, 39, 47}, 4096},        [OBJECT] = {{44, 50, 58}, 256},
    [TYPE] = {{46, 52, 60}, 8192},    [TUPLE] = {{50, 56, 68}, 256},        [BYTES] = {{64, 74, 86}, 256},
    [TEXT] = {{67, 77, 89}, 256},     [LIST] = {{53, 59, 71}, 256},         [DICT] = {{56, 66, 78}, 256},
    [FLOAT] = {{59, 69, 81}, 256},    [INT] = {{61, 71, 83}, 256},          [GENERATOR] = {{0, 83, 99}, 4096},
};

static const struct published_offset {
    uint8_t word[PUBLISHED_VERSIONS]; /* 0 = not published */
    enum group group;
    size_t field; /* of struct layout */
} published_offsets[] = {
#define AT(field) offsetof(struct layout, field)
    {{5, 5, 5}, RUNTIME, AT(runtime_interpreters)},
    {{7, 7, 7}, INTERPRETER, AT(interpreter_id)},
    {{8, 8, 8}, INTERPRETER, AT(interpreter_next)},
    {{9, 9, 9}, INTERPRETER, AT(interpreter_threads)},
    {{14, 15, 15}, INTERPRETER, AT(interpreter_gil)},
    {{0, 20, 20}, INTERPRETER, AT(interpreter_code_generation)},
    {{11, 12, 12}, INTERPRETER, AT(interpreter_modules)},
    {{72, 82, 95}, INTERPRETER, AT(interpreter_collecting)},
    {{0, 0, 96}, INTERPRETER, AT(interpreter_collecting_frame)},
    {{18, 19, 19}, INTERPRETER, AT(gil_holder)},
    {{17, 18, 18}, INTERPRETER, AT(gil_locked)},
    {{21, 24, 24}, THREAD, AT(thread_next)},
    {{22, 25, 25}, THREAD, AT(thread_interpreter)},
    {{23, 26, 26}, THREAD, AT(thread_frame)},
    {{24, 27, 30}, THREAD, AT(thread_id)},
    {{25, 28, 31}, THREAD, AT(thread_native_id)},
    {{26, 29, 32}, THREAD, AT(thread_stack_chunk)},
    {{29, 32, 40}, FRAME, AT(frame_previous)},
    {{30, 33, 41}, FRAME, AT(frame_code)},
    {{31, 34, 42}, FRAME, AT(frame_instruction)},
    {{32, 35, 43}, FRAME, AT(frame_locals)},
    {{33, 36, 44}, FRAME, AT(frame_owner)},
    {{0, 37, 45}, FRAME, AT(frame_stack_pointer)},
    {{35, 40, 48}, CODE, AT(code_filename)},
    {{36, 41, 49}, CODE, AT(code_name)},
    {{37, 42, 50}, CODE, AT(code_qualname)},
    {{38, 43, 51}, CODE, AT(code_lines)},
    {{39, 44, 52}, CODE, AT(code_first_line)},
    {{40, 45, 53}, CODE, AT(code_argument_count)},
    {{41, 46, 54}, CODE, AT(code_locals_names)},
    {{42, 47, 55}, CODE, AT(code_locals_kinds)},
    {{43, 48, 56}, CODE, AT(code_instructions)},
    {{45, 51, 59}, OBJECT, AT(object_type)},
    {{47, 53, 61}, TYPE, AT(type_name)},
    {{51, 57, 69}, TUPLE, AT(tuple_items)},
    {{65, 75, 87}, BYTES, AT(object_size)},
    {{66, 76, 88}, BYTES, AT(bytes_data)},
    {{68, 78, 90}, TEXT, AT(text_state)},
    {{69, 79, 91}, TEXT, AT(text_length)},
    {{70, 80, 92}, TEXT, AT(text_ascii_data)},
    {{49, 55, 63}, TYPE, AT(type_flags)},
    {{54, 60, 72}, LIST, AT(list_items)},
    {{57, 67, 79}, DICT, AT(dict_keys)},
    {{58, 68, 80}, DICT, AT(dict_values)},
    {{60, 70, 82}, FLOAT, AT(float_value)},
    {{62, 72, 84}, INT, AT(int_tag)},
    {{63, 73, 85}, INT, AT(int_digits)},
    {{0, 85, 101}, GENERATOR, AT(generator_frame)},
    {{0, 86, 102}, GENERATOR, AT(generator_state)},
#undef AT
};

static const char cookie[8] = {'x', 'd', 'e', 'b', 'u', 'g', 'p', 'y'};

/* The words of the table, read at once. */
struct table {
    uint64_t words[PUBLISHED_WORDS];
};

static unsigned minor_of(uint32_t version)
{
    return version >> 16 & 0xff;
}

static void set_field(struct layout *layout, size_t field, uint64_t offset)
{
    *(uint32_t *)((char *)layout + field) = (uint32_t)offset;
}

static void forget_all(struct layout *layout)
{
#define FORGET(name) layout->name = LAYOUT_ABSENT;
    LAYOUT_FIELDS(FORGET)
#undef FORGET
}

static int refuse_damaged(uint32_t version, struct err *err)
{
    return err_set(err,
                   "the table of offsets that Python 3.%u publishes is damaged; is this a changed build of "
                   "CPython?",
                   minor_of(version));
}

/* Every size within its limit, every offset within its structure. */
static int take_published(const struct table *table, uint32_t version, struct layout *layout, struct err *err)
{
    unsigned column = minor_of(version) - FIRST_PUBLISHED_MINOR;
    for (size_t i = 0; i < sizeof published_offsets / sizeof *published_offsets; i++) {
        const struct published_offset *row = &published_offsets[i];
        const struct published_size *size = &published_sizes[row->group];
        uint64_t size_bytes = table->words[size->word[column]];
        uint64_t offset = table->words[row->word[column]];
        if (!row->word[column])
            continue;
        if (size_bytes > size->limit_bytes || offset >= size_bytes)
            return refuse_damaged(version, err);
        set_field(layout, row->field, offset);
    }
    return 0;
}

/* What a walk reads at once: a frame up to its locals, a code object up to its instructions, a thread state
 * up to the top of its data stack. Everything it looks for must lie in there. */
static bool fits_walk(const struct layout *layout)
{
    const uint32_t frame[] = {layout->frame_previous, layout->frame_code, layout->frame_instruction,
                              layout->frame_owner};
    const uint32_t code[] = {layout->code_first_line + 4, layout->code_first_traceable, layout->object_type,
                             layout->object_size, layout->code_argument_count};
    bool fits = layout->frame_locals <= LAYOUT_FRAME_LIMIT &&
                layout->code_instructions <= LAYOUT_CODE_LIMIT &&
                layout->thread_stack_top <= LAYOUT_THREAD_LIMIT - 8 &&
                layout->thread_frame <= layout->thread_stack_top;
    for (size_t i = 0; i < sizeof frame / sizeof *frame; i++)
        fits = fits && frame[i] + (frame[i] == layout->frame_owner ? 1 : 8) <= layout->frame_locals;
    for (size_t i = 0; i < sizeof code / sizeof *code; i++)
        fits = fits && code[i] >= 4 && code[i] + 8 <= layout->code_instructions;
    return fits;
}

/* Objects whose shapes are not published: their fields follow the object's head, or each other. */
static void add_object_neighbours(struct layout *layout, uint64_t type_bytes)
{
    uint32_t head_bytes = layout->object_type + 8;
    layout->code_keyword_only_count = layout->code_argument_count + 8;
    layout->type_basic_size = layout->type_name + 8;
    layout->type_dictionary = layout->type_flags + 96;
    layout->type_dictionary_offset = layout->type_flags + 120;
    layout->type_qualname = (uint32_t)type_bytes + 456; /* after the tables of methods */
    layout->type_cached_keys = (uint32_t)type_bytes + 464;
    layout->managed_dictionary = 24;
    layout->keys_size = 8;
    layout->keys_index_bytes = 9;
    layout->keys_kind = 10;
    layout->keys_count = 24;
    layout->keys_indices = 32;
    layout->values_items = 8;
    layout->complex_value = layout->cell_value = layout->slice_start = layout->builtin_definition =
        layout->method_function = head_bytes;
    layout->exception_arguments = head_bytes + 8;
    layout->set_mask = layout->generator_qualname = head_bytes + 16;
    layout->set_table = layout->bytearray_data = layout->function_qualname = head_bytes + 24;
}

/* The fields that are not published lie beside one that is; tools/probe_layouts shows it for 3.13, 3.15. */
static int add_neighbours(const struct table *table, struct layout *layout, struct err *err)
{
    unsigned column = layout_minor(layout) - FIRST_PUBLISHED_MINOR;
    uint64_t gil =
        table->words[column ? 16 : 15]; /* the holder and the flag are published within the interpreter */
    layout->gil_holder -= gil;
    layout->gil_locked -= gil;
    /* The collector's fields are published within its own structure. */
    uint64_t collector = table->words[column ? 11 : 10];
    if (collector > published_sizes[INTERPRETER].limit_bytes)
        return refuse_damaged(layout->version, err);
    layout->interpreter_collecting += collector;
    if (layout->interpreter_collecting_frame != LAYOUT_ABSENT)
        layout->interpreter_collecting_frame += collector;
    layout->thread_stack_top = layout->thread_stack_chunk + 8;
    layout->code_flags = layout->code_argument_count - 4;
    layout->code_stack_size = layout->code_first_line - 4;
    layout->code_locals_count = layout->code_first_line + 4;
    layout->code_first_traceable = layout->code_instructions - 16;
    layout->text_kind_bit = 2;
    layout->text_compact_data = layout->text_ascii_data + 16;
    add_object_neighbours(layout, table->words[published_sizes[TYPE].word[column]]);
    if (layout->frame_stack_pointer == LAYOUT_ABSENT)
        layout->frame_stack_pointer = layout->frame_instruction + 8;
    if (layout->gil_holder > GIL_LIMIT || layout->gil_locked > GIL_LIMIT || !fits_walk(layout))
        return refuse_damaged(layout->version, err);
    return 0;
}

static int read_published(const struct table *table, struct layout *layout, struct err *err)
{
    uint32_t version = (uint32_t)table->words[1];
    unsigned minor = minor_of(version), level = version >> 4 & 0xf;
    if (version >> 24 != 3 || minor < FIRST_PUBLISHED_MINOR ||
        minor >= FIRST_PUBLISHED_MINOR + PUBLISHED_VERSIONS)
        return err_set(err, "Python %u.%u is newer than this sonde knows; a newer sonde may", version >> 24,
                       minor);
    if (level < 0xc)
        return err_set(
            err, "this is a pre-release of Python 3.%u, whose layout is not settled; use 3.%u.0 or later",
            minor, minor);
    if (table->words[2])
        return err_set(
            err, "this is a free-threaded Python 3.%u, which sonde cannot read yet; use the usual build",
            minor);
    *layout = (struct layout){.version = version, .chain = LAYOUT_CURRENT_FRAME};
    forget_all(layout);
    if (take_published(table, version, layout, err) < 0)
        return -1;
    return add_neighbours(table, layout, err);
}

static int find_row(uint32_t version, struct layout *layout, struct err *err)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].version >> 16 != version >> 16)
            continue;
        *layout = rows[i];
        layout->version = version;
        return 0;
    }
    if (version >> 24 == 3 && minor_of(version) >= FIRST_PUBLISHED_MINOR)
        return err_set(err,
                       "Python 3.%u does not publish its table of offsets where it should; was it "
                       "stripped of it or has it not started yet?",
                       minor_of(version));
    if (!version)
        return err_set(err, "the version of this Python cannot be found; is it CPython 3.9 or later?");
    return err_set(err, "Python %u.%u cannot be read by sonde, which knows CPython 3.9 to 3.15",
                   version >> 24, minor_of(version));
}

int layouts_read(const struct memory *memory, uint64_t runtime, uint32_t version, struct layout *layout,
                 struct err *err)
{
    struct table table;
    *layout = (struct layout){0};
    bool readable = memory_read_word(memory, runtime, table.words);
    bool publishes = readable && !memcmp(table.words, cookie, sizeof cookie);
    if (!readable || (publishes && !memory_read(memory, runtime, &table, sizeof table)))
        return err_set(err, "the memory of Python's runtime at 0x%llx cannot be read",
                       (unsigned long long)runtime);
    int failed = publishes ? read_published(&table, layout, err) : find_row(version, layout, err);
    if (failed)
        *layout = (struct layout){0};
    return failed;
}

/* The release level of a suffix: "a1", "b2", "rc1" or none. */
static uint32_t level_of(const char *suffix)
{
    if (suffix[0] == 'a' || suffix[0] == 'b')
        return (suffix[0] == 'a' ? 0xa0 : 0xb0) | (strtoul(suffix + 1, NULL, 10) & 0xf);
    if (suffix[0] == 'r' && suffix[1] == 'c')
        return 0xc0 | (strtoul(suffix + 2, NULL, 10) & 0xf);
    return 0xf0;
}

uint32_t layouts_version(const char *text)
{
    char *end;
    unsigned long major = strtoul(text, &end, 10);
    if (end == text || *end != '.' || major > 255)
        return 0;
    text = end + 1;
    unsigned long minor = strtoul(text, &end, 10);
    if (end == text || minor > 255)
        return 0;
    unsigned long micro = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    return (uint32_t)(major << 24 | minor << 16 | (micro & 0xff) << 8 | level_of(end));
}

int layouts_check(const struct layout *layout, const struct memory *memory, uint64_t code_type,
                  struct err *err)
{
    uint64_t type, type_of_type, name;
    char text[5];
    if (memory_read_word(memory, code_type + layout->object_type, &type) &&
        memory_read_word(memory, type + layout->object_type, &type_of_type) && type == type_of_type &&
        memory_read_word(memory, code_type + layout->type_name, &name) &&
        memory_read(memory, name, text, sizeof text) && !memcmp(text, "code", sizeof text))
        return 0;
    return err_set(err,
                   "the objects of this Python 3.%d have another shape than its releases' (built with "
                   "Py_TRACE_REFS?); use a usual build",
                   layout_minor(layout));
}
