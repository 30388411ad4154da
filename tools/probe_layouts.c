/*
 * Prints the row of src/python/layouts.h that the CPython headers it is compiled with give: the one program
 * here that looks into them. tools/probe_layouts compiles and runs it.
 */
#define Py_BUILD_CORE
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <frameobject.h>

#include <internal/pycore_interp.h>
#include <internal/pycore_object.h>
#include <internal/pycore_pystate.h>
#include <internal/pycore_runtime.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_dict.h>
#endif
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#elif PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#endif
#include <stddef.h>
#include <stdio.h>

#define ABSENT UINT32_MAX

static void put(const char *name, size_t offset)
{
    if (offset == ABSENT)
        printf("%s absent\n", name);
    else
        printf("%s %zu\n", name, offset);
}

#define PUT(name, type, member) put(#name, offsetof(type, member))
#define NONE(name)              put(#name, ABSENT)

static size_t kind_bit(void)
{
    PyASCIIObject text;
    memset(&text, 0, sizeof text);
    text.state.kind = 1;
    uint32_t bits;
    memcpy(&bits, (char *)&text + offsetof(PyASCIIObject, state), sizeof bits);
    return __builtin_ctz(bits);
}

static void runtime(void)
{
    PUT(runtime_interpreters, _PyRuntimeState, interpreters.head);
#if PY_VERSION_HEX < 0x030c0000
    PUT(runtime_gil, _PyRuntimeState, ceval.gil);
#else
    NONE(runtime_gil);
#endif
    PUT(interpreter_next, PyInterpreterState, next);
    PUT(interpreter_id, PyInterpreterState, id);
#if PY_VERSION_HEX < 0x030b0000
    PUT(interpreter_threads, PyInterpreterState, tstate_head);
#else
    PUT(interpreter_threads, PyInterpreterState, threads.head);
#endif
#if PY_VERSION_HEX < 0x030c0000
    NONE(interpreter_gil);
#else
    PUT(interpreter_gil, PyInterpreterState, ceval.gil);
#endif
#if PY_VERSION_HEX < 0x030e0000
    NONE(interpreter_code_generation);
#else
    PUT(interpreter_code_generation, PyInterpreterState, _code_object_generation);
#endif
#if PY_VERSION_HEX < 0x030c0000
    PUT(interpreter_modules, PyInterpreterState, modules);
#else
    PUT(interpreter_modules, PyInterpreterState, imports.modules);
#endif
    PUT(interpreter_collecting, PyInterpreterState, gc.collecting);
#if PY_VERSION_HEX < 0x030f0000
    NONE(interpreter_collecting_frame);
#else
    PUT(interpreter_collecting_frame, PyInterpreterState, gc.frame);
#endif
    PUT(gil_holder, struct _gil_runtime_state, last_holder);
    PUT(gil_locked, struct _gil_runtime_state, locked);
}

static void thread(void)
{
    PUT(thread_next, PyThreadState, next);
    PUT(thread_interpreter, PyThreadState, interp);
#if PY_VERSION_HEX < 0x030b0000
    PUT(thread_frame, PyThreadState, frame);
#elif PY_VERSION_HEX < 0x030d0000
    PUT(thread_frame, PyThreadState, cframe);
#else
    PUT(thread_frame, PyThreadState, current_frame);
#endif
    PUT(thread_id, PyThreadState, thread_id);
#if PY_VERSION_HEX < 0x030b0000
    NONE(thread_native_id);
    NONE(thread_stack_chunk);
    NONE(thread_stack_top);
#else
    PUT(thread_native_id, PyThreadState, native_thread_id);
    PUT(thread_stack_chunk, PyThreadState, datastack_chunk);
    PUT(thread_stack_top, PyThreadState, datastack_top);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
    PUT(cframe_frame, _PyCFrame, current_frame);
    PUT(cframe_previous, _PyCFrame, previous);
#else
    NONE(cframe_frame);
    NONE(cframe_previous);
#endif
}

#if PY_VERSION_HEX < 0x030b0000
static void frame(void)
{
    PUT(frame_previous, PyFrameObject, f_back);
    PUT(frame_code, PyFrameObject, f_code);
    PUT(frame_instruction, PyFrameObject, f_lasti);
    NONE(frame_owner);
    NONE(frame_entry);
    NONE(frame_return_offset);
    PUT(frame_generator, PyFrameObject, f_gen);
#if PY_VERSION_HEX < 0x030a0000
    PUT(frame_state, PyFrameObject, f_executing);
    PUT(frame_stack_pointer, PyFrameObject, f_stacktop);
#else
    PUT(frame_state, PyFrameObject, f_state);
    PUT(frame_stack_pointer, PyFrameObject, f_stackdepth);
#endif
    PUT(frame_locals, PyFrameObject, f_localsplus);
}
#else
static void frame(void)
{
    PUT(frame_previous, _PyInterpreterFrame, previous);
#if PY_VERSION_HEX < 0x030d0000
    PUT(frame_code, _PyInterpreterFrame, f_code);
    PUT(frame_instruction, _PyInterpreterFrame, prev_instr);
#else
    PUT(frame_code, _PyInterpreterFrame, f_executable);
    PUT(frame_instruction, _PyInterpreterFrame, instr_ptr);
#endif
    PUT(frame_owner, _PyInterpreterFrame, owner);
#if PY_VERSION_HEX < 0x030c0000
    PUT(frame_entry, _PyInterpreterFrame, is_entry);
#else
    NONE(frame_entry);
#endif
#if PY_VERSION_HEX >> 16 == 0x030c
    PUT(frame_return_offset, _PyInterpreterFrame, return_offset);
#else
    NONE(frame_return_offset); /* there, but not needed */
#endif
    NONE(frame_generator);
    NONE(frame_state);
#if PY_VERSION_HEX < 0x030e0000
    PUT(frame_stack_pointer, _PyInterpreterFrame, stacktop);
#else
    PUT(frame_stack_pointer, _PyInterpreterFrame, stackpointer);
#endif
    PUT(frame_locals, _PyInterpreterFrame, localsplus);
}
#endif

static void code(void)
{
    PUT(code_flags, PyCodeObject, co_flags);
    PUT(code_argument_count, PyCodeObject, co_argcount);
    PUT(code_keyword_only_count, PyCodeObject, co_kwonlyargcount);
    PUT(code_first_line, PyCodeObject, co_firstlineno);
    PUT(code_stack_size, PyCodeObject, co_stacksize);
#if PY_VERSION_HEX < 0x030b0000
    PUT(code_locals_count, PyCodeObject, co_nlocals);
    PUT(code_locals_names, PyCodeObject, co_varnames);
    NONE(code_locals_kinds);
    PUT(code_cell_names, PyCodeObject, co_cellvars);
    PUT(code_free_names, PyCodeObject, co_freevars);
#else
    PUT(code_locals_count, PyCodeObject, co_nlocalsplus);
    PUT(code_locals_names, PyCodeObject, co_localsplusnames);
    PUT(code_locals_kinds, PyCodeObject, co_localspluskinds);
    NONE(code_cell_names);
    NONE(code_free_names);
#endif
    PUT(code_filename, PyCodeObject, co_filename);
    PUT(code_name, PyCodeObject, co_name);
#if PY_VERSION_HEX < 0x030b0000
    NONE(code_qualname);
#else
    PUT(code_qualname, PyCodeObject, co_qualname);
#endif
#if PY_VERSION_HEX < 0x030a0000
    PUT(code_lines, PyCodeObject, co_lnotab);
#else
    PUT(code_lines, PyCodeObject, co_linetable);
#endif
#if PY_VERSION_HEX < 0x030b0000
    NONE(code_first_traceable);
    PUT(code_instructions, PyCodeObject, co_code);
#else
    PUT(code_first_traceable, PyCodeObject, _co_firsttraceable);
    PUT(code_instructions, PyCodeObject, co_code_adaptive);
#endif
}

static void objects(void)
{
    PUT(object_type, PyObject, ob_type);
    PUT(object_size, PyVarObject, ob_size);
    PUT(type_name, PyTypeObject, tp_name);
    PUT(bytes_data, PyBytesObject, ob_sval);
    PUT(tuple_items, PyTupleObject, ob_item);
    PUT(text_length, PyASCIIObject, length);
    PUT(text_state, PyASCIIObject, state);
    put("text_kind_bit", kind_bit());
    put("text_ascii_data", sizeof(PyASCIIObject));
    put("text_compact_data", sizeof(PyCompactUnicodeObject));
}

#if PY_VERSION_HEX < 0x030b0000
/* As Objects/dict-common.h has it, which is not installed. */
struct _dictkeysobject {
    Py_ssize_t dk_refcnt;
    Py_ssize_t dk_size;
    void *dk_lookup;
    Py_ssize_t dk_usable;
    Py_ssize_t dk_nentries;
    char dk_indices[];
};
#endif

static void types(void)
{
    PUT(type_basic_size, PyTypeObject, tp_basicsize);
    PUT(type_flags, PyTypeObject, tp_flags);
    PUT(type_dictionary, PyTypeObject, tp_dict);
    PUT(type_dictionary_offset, PyTypeObject, tp_dictoffset);
    PUT(type_qualname, PyHeapTypeObject, ht_qualname);
    PUT(type_cached_keys, PyHeapTypeObject, ht_cached_keys);
#if PY_VERSION_HEX < 0x030b0000
    NONE(managed_dictionary);
#elif PY_VERSION_HEX < 0x030d0000
    put("managed_dictionary", 3 * sizeof(PyObject *)); /* without a name in pycore_object.h */
#else
    put("managed_dictionary", -MANAGED_DICT_OFFSET);
#endif
}

static void dictionaries(void)
{
    PUT(dict_keys, PyDictObject, ma_keys);
    PUT(dict_values, PyDictObject, ma_values);
#if PY_VERSION_HEX < 0x030b0000
    PUT(keys_size, struct _dictkeysobject, dk_size);
    NONE(keys_index_bytes);
    NONE(keys_kind);
#else
    PUT(keys_size, struct _dictkeysobject, dk_log2_size);
    PUT(keys_index_bytes, struct _dictkeysobject, dk_log2_index_bytes);
    PUT(keys_kind, struct _dictkeysobject, dk_kind);
#endif
    PUT(keys_count, struct _dictkeysobject, dk_nentries);
    PUT(keys_indices, struct _dictkeysobject, dk_indices);
#if PY_VERSION_HEX < 0x030b0000
    put("values_items", 0);
#else
    PUT(values_items, struct _dictvalues, values);
#endif
}

static void values(void)
{
#if PY_VERSION_HEX < 0x030c0000
    PUT(int_tag, PyVarObject, ob_size);
    PUT(int_digits, PyLongObject, ob_digit);
#else
    PUT(int_tag, PyLongObject, long_value.lv_tag);
    PUT(int_digits, PyLongObject, long_value.ob_digit);
#endif
    PUT(float_value, PyFloatObject, ob_fval);
    PUT(complex_value, PyComplexObject, cval);
    PUT(list_items, PyListObject, ob_item);
    PUT(set_mask, PySetObject, mask);
    PUT(set_table, PySetObject, table);
    PUT(bytearray_data, PyByteArrayObject, ob_start);
    PUT(slice_start, PySliceObject, start);
    PUT(cell_value, PyCellObject, ob_ref);
    PUT(function_qualname, PyFunctionObject, func_qualname);
    PUT(builtin_definition, PyCFunctionObject, m_ml);
    PUT(method_function, PyMethodObject, im_func);
    PUT(exception_arguments, PyBaseExceptionObject, args);
    PUT(generator_qualname, PyGenObject, gi_qualname);
#if PY_VERSION_HEX >= 0x030e0000
    PUT(generator_frame, PyGenObject, gi_iframe);
    PUT(generator_state, PyGenObject, gi_frame_state);
#else
    NONE(generator_frame); /* there, but not needed */
    NONE(generator_state);
#endif
}

int main(void)
{
    printf("version 0x%08x\n", (unsigned)PY_VERSION_HEX);
    runtime();
    thread();
    frame();
    code();
    objects();
    types();
    dictionaries();
    values();
    return 0;
}
