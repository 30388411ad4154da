/*
 * layouts: where CPython keeps what we read: one row of offsets for each version.
 *
 * 3.9 to 3.12 have a constant row each, printed by tools/probe_layouts from the headers of that version; a
 * test prints it again for every interpreter found. From 3.13 on the interpreter publishes most offsets at
 * the start of its runtime structure; they are read and held against limits, and the few that are not
 * published lie at a fixed distance from one that is. A version that is not known is refused: its table may
 * have another order.
 *
 * A row fits release and debug builds; layouts_check refuses those whose objects are larger
 * (--with-trace-refs).
 */
#ifndef SONDE_PYTHON_LAYOUTS_H
#define SONDE_PYTHON_LAYOUTS_H

#include "base/err.h"
#include "python/memory.h"

/* An offset of a field that this version does not have. */
#define LAYOUT_ABSENT UINT32_MAX

/* How a thread names the frame that it runs. */
enum layout_chain {
    LAYOUT_FRAME_OBJECTS = 1, /* 3.9, 3.10: frame objects on the heap */
    LAYOUT_CFRAMES,           /* 3.11, 3.12: through a structure on the C stack of the evaluator */
    LAYOUT_CURRENT_FRAME,     /* 3.13+: directly */
};

/* Every field of a row, in the order of tools/probe_layouts; offsets in bytes unless a comment says
 * otherwise. */
#define LAYOUT_FIELDS(FIELD)                                                                                 \
    FIELD(runtime_interpreters) /* the newest interpreter */                                                 \
    FIELD(runtime_gil)          /* the lock itself, up to 3.11 */                                            \
    FIELD(interpreter_next)                                                                                  \
    FIELD(interpreter_id)                                                                                    \
    FIELD(interpreter_threads)                                                                               \
    FIELD(interpreter_gil)              /* a pointer to the lock, from 3.12 on */                            \
    FIELD(interpreter_code_generation)  /* grows when a code object dies, from 3.14 on */                    \
    FIELD(interpreter_modules)          /* sys.modules */                                                    \
    FIELD(interpreter_collecting)       /* int, not 0 while the garbage collector is at work */              \
    FIELD(interpreter_collecting_frame) /* the frame in which it began, from 3.15 on */                      \
    FIELD(gil_holder)                   /* the last holder */                                                \
    FIELD(gil_locked)                   /* int, 1 while held */                                              \
    FIELD(thread_next)                                                                                       \
    FIELD(thread_interpreter)                                                                                \
    FIELD(thread_frame) /* the frame object, the cframe or the frame: enum layout_chain */                   \
    FIELD(thread_id)                                                                                         \
    FIELD(thread_native_id)                                                                                  \
    FIELD(thread_stack_chunk)                                                                                \
    FIELD(thread_stack_top)                                                                                  \
    FIELD(cframe_frame)                                                                                      \
    FIELD(cframe_previous)                                                                                   \
    FIELD(frame_previous)                                                                                    \
    FIELD(frame_code)                                                                                        \
    FIELD(frame_instruction)   /* a pointer; up to 3.10 an int */                                            \
    FIELD(frame_owner)         /* char */                                                                    \
    FIELD(frame_entry)         /* char: entered from C, 3.11 */                                              \
    FIELD(frame_return_offset) /* 16 bits, 3.12: not 0 while it runs a generator */                          \
    FIELD(frame_generator)     /* the generator that owns it, up to 3.10 */                                  \
    FIELD(frame_state)         /* char: 1 while it runs in 3.9, 0 in 3.10 */                                 \
    FIELD(frame_stack_pointer) /* an int from the locals up to 3.13, then a pointer */                       \
    FIELD(frame_locals)                                                                                      \
    FIELD(code_flags)                                                                                        \
    FIELD(code_argument_count)                                                                               \
    FIELD(code_keyword_only_count)                                                                           \
    FIELD(code_first_line)                                                                                   \
    FIELD(code_stack_size)   /* slots */                                                                     \
    FIELD(code_locals_count) /* slots */                                                                     \
    FIELD(code_locals_names)                                                                                 \
    FIELD(code_locals_kinds)                                                                                 \
    FIELD(code_cell_names) /* up to 3.10 */                                                                  \
    FIELD(code_free_names) /* up to 3.10 */                                                                  \
    FIELD(code_filename)                                                                                     \
    FIELD(code_name)                                                                                         \
    FIELD(code_qualname)                                                                                     \
    FIELD(code_lines)           /* the table of lines or locations */                                        \
    FIELD(code_first_traceable) /* int, in instructions */                                                   \
    FIELD(code_instructions)    /* the first one; up to 3.10 a pointer to a bytes object */                  \
    FIELD(object_type)                                                                                       \
    FIELD(object_size) /* of one with a variable size: how many items */                                     \
    FIELD(type_name)                                                                                         \
    FIELD(bytes_data)                                                                                        \
    FIELD(tuple_items)                                                                                       \
    FIELD(text_length)                                                                                       \
    FIELD(text_state)                                                                                        \
    FIELD(text_kind_bit)     /* bit of the state: kind (3 bits), compact, ascii */                           \
    FIELD(text_ascii_data)   /* the text of an ASCII string */                                               \
    FIELD(text_compact_data) /* of any other */                                                              \
    FIELD(type_basic_size)                                                                                   \
    FIELD(type_flags)                                                                                        \
    FIELD(type_dictionary)                                                                                   \
    FIELD(type_dictionary_offset) /* where an instance keeps its __dict__; signed */                         \
    FIELD(type_qualname)          /* of one made by a class statement */                                     \
    FIELD(type_cached_keys)       /* names of its instances' attributes */                                   \
    FIELD(managed_dictionary)     /* bytes before an object: its __dict__, from 3.11 on */                   \
    FIELD(dict_keys)                                                                                         \
    FIELD(dict_values)                                                                                       \
    FIELD(keys_size)        /* a word; from 3.11 on a byte: its logarithm */                                 \
    FIELD(keys_index_bytes) /* byte: logarithm of the bytes of all indices */                                \
    FIELD(keys_kind)        /* byte: 0 = entries with hashes */                                              \
    FIELD(keys_count)       /* entries, deleted ones included */                                             \
    FIELD(keys_indices)                                                                                      \
    FIELD(values_items)                                                                                      \
    FIELD(int_tag) /* size and sign */                                                                       \
    FIELD(int_digits)                                                                                        \
    FIELD(float_value)                                                                                       \
    FIELD(complex_value)                                                                                     \
    FIELD(list_items)                                                                                        \
    FIELD(set_mask) /* slots less 1 */                                                                       \
    FIELD(set_table)                                                                                         \
    FIELD(bytearray_data)                                                                                    \
    FIELD(slice_start) /* stop and step follow */                                                            \
    FIELD(cell_value)                                                                                        \
    FIELD(function_qualname)                                                                                 \
    FIELD(builtin_definition) /* names it */                                                                 \
    FIELD(method_function)    /* its self follows */                                                         \
    FIELD(exception_arguments)                                                                               \
    FIELD(generator_qualname)                                                                                \
    FIELD(generator_frame) /* within the generator, from 3.14 on */                                          \
    FIELD(generator_state) /* char: enum of pycore_frame.h, from 3.14 on */

struct layout {
    uint32_t version; /* PY_VERSION_HEX; 0 = empty */
    enum layout_chain chain;
#define LAYOUT_FIELD(name) uint32_t name;
    LAYOUT_FIELDS(LAYOUT_FIELD)
#undef LAYOUT_FIELD
};

/* The most bytes before a frame's locals, before the instructions of code, and up to the last field of a
 * thread state that is read: no row is larger. */
enum { LAYOUT_FRAME_LIMIT = 128, LAYOUT_CODE_LIMIT = 256, LAYOUT_THREAD_LIMIT = 512 };

/* A chunk of a thread's data stack: the same in every version that has one. */
enum { LAYOUT_CHUNK_PREVIOUS = 0, LAYOUT_CHUNK_SIZE = 8, LAYOUT_CHUNK_TOP = 16, LAYOUT_CHUNK_DATA = 24 };

/* Who a frame belongs to (from 3.11 on). From LAYOUT_OWNED_BY_C on it is no Python frame but marks where C
 * called. */
enum {
    LAYOUT_OWNED_BY_THREAD,
    LAYOUT_OWNED_BY_GENERATOR,
    LAYOUT_OWNED_BY_FRAME_OBJECT,
    LAYOUT_OWNED_BY_C,
};

static inline int layout_minor(const struct layout *layout)
{
    return layout->version >> 16 & 0xff;
}

/* The row of the interpreter whose _PyRuntime lies at `runtime`. `version` (PY_VERSION_HEX) is needed up to
 * 3.12, which publishes none; 0 = not known. */
int layouts_read(const struct memory *memory, uint64_t runtime, uint32_t version, struct layout *layout,
                 struct err *err);
/* PY_VERSION_HEX of text such as "3.12.1" or "3.13.0rc2 (main, ...)"; 0 when it is no version. */
uint32_t layouts_version(const char *text);
/* Holds a row against the memory that it shall describe: `code_type` is the address of PyCode_Type. Refuses
 * builds whose objects are larger (Py_TRACE_REFS). */
int layouts_check(const struct layout *layout, const struct memory *memory, uint64_t code_type,
                  struct err *err);

#endif
