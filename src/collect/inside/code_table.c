#include "collect/inside/code_table.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "collect/inside/finder.h"
#include "collect/inside/greenlets.h"
#include "collect/inside/slot_sharing.h"
#include "collect/inside/superinstructions.h"
#include "collect/inside/tracer.h"
#include "store/recording.h"

#define KEPT_OBJECTS     16  /* of one source function, each compiled anew */
#define KEPT_EXTRA_BYTES 512 /* what a code object refers to, roughly */

/* What a row is made of. Texts are bytes objects; NULL reads as "". */
struct label {
    PyObject *name, *qualname, *file, *module;
    PyObject *home; /* the file of that module, where the function's own is none: a decorator has made it */
    uint32_t line;
    uint8_t kind;
};

static const char *text_of(PyObject *bytes)
{
    return bytes ? PyBytes_AsString(bytes) : "";
}

static PyObject *attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    if (!value)
        PyErr_Clear();
    return value;
}

static uint32_t attribute_line(PyObject *code)
{
    PyObject *value = attribute(code, "co_firstlineno");
    long line = value ? PyLong_AsLong(value) : 0;
    Py_XDECREF(value);
    PyErr_Clear();
    return line > 0 ? (uint32_t)line : 0;
}

/* __name__ or __file__ of the globals of the function that is starting just now. */
static PyObject *global_of_running(const char *variable)
{
    PyObject *globals = PyEval_GetGlobals();
    PyObject *value = globals ? PyDict_GetItemString(globals, variable) : NULL;
    return value && PyUnicode_Check(value) ? interpreter_utf8(value) : NULL;
}

static void label_python(struct label *label, PyObject *code)
{
    label->kind = CODE_PYTHON;
    label->name = interpreter_attribute_utf8(code, "co_name");
    label->qualname = interpreter_attribute_utf8(code, "co_qualname");
    label->file = interpreter_attribute_utf8(code, "co_filename");
    label->line = attribute_line(code);
    label->module = global_of_running("__name__");
    if (text_of(label->file)[0] == '<' && strncmp(text_of(label->file), "<frozen ", 8) != 0)
        label->home = global_of_running("__file__");
}

static PyObject *repr_utf8(PyObject *object)
{
    PyObject *repr = PyObject_Repr(object);
    PyObject *bytes = repr ? interpreter_utf8(repr) : NULL;
    Py_XDECREF(repr);
    PyErr_Clear();
    return bytes;
}

/* "<method 'append' of 'list' objects>": how the type of self describes the method; NULL when it has none. */
static PyObject *repr_in_type(PyObject *self, const char *name)
{
    PyObject *key = PyUnicode_FromString(name);
    PyObject *found = NULL;
    if (key && interpreter.type_lookup)
        found = interpreter.type_lookup(Py_TYPE(self), key);
    Py_XDECREF(key);
    return found ? repr_utf8(found) : NULL;
}

static PyObject *builtin_name(PyObject *function, const char *name, const char *module)
{
    PyObject *self = interpreter_builtin_self(function);
    if (!self && *module && strcmp(module, "builtins") != 0)
        return PyBytes_FromFormat("<%s.%s>", module, name);
    if (!self)
        return PyBytes_FromFormat("<%s>", name);
    PyObject *described = repr_in_type(self, name);
    if (described)
        return described;
    if (*module)
        return PyBytes_FromFormat("<built-in method %s.%s>", module, name);
    return PyBytes_FromFormat("<built-in method %s>", name);
}

static void label_c(struct label *label, uint64_t key, PyObject *callee)
{
    const char *name = *(const char **)key;
    label->kind = CODE_C;
    label->file = PyBytes_FromString("~");
    label->module = interpreter_attribute_utf8(callee, "__module__");
    if (Py_TYPE(callee) == interpreter.method_descriptor_type)
        label->name = repr_utf8(callee);
    else
        label->name = builtin_name(callee, name, text_of(label->module));
}

static void label_clear(struct label *label)
{
    Py_XDECREF(label->name);
    Py_XDECREF(label->qualname);
    Py_XDECREF(label->file);
    Py_XDECREF(label->module);
    Py_XDECREF(label->home);
}

uint32_t code_table_text(struct trace *trace, const char *text, size_t size)
{
    /* Equal 64-bit hashes are taken for equal texts: among a million the odds are one in ten million. */
    uint64_t hash = map_hash_bytes(text, size);
    uint32_t found = size ? table_find(&trace->texts, hash, (uint32_t)size) : 0;
    if (found || !size)
        return found;
    uint32_t added = arena_add_text(trace->arena, text, size);
    if (added)
        table_add(&trace->texts, hash, (uint32_t)size, added);
    return added;
}

static uint32_t text_row(struct trace *trace, PyObject *bytes)
{
    return bytes ? code_table_text(trace, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes)) : 0;
}

static const char *home_of(const struct label *label)
{
    return text_of(label->home ? label->home : label->file);
}

static uint8_t flags_of(const struct trace *trace, const struct label *label)
{
    const char *file = text_of(label->file);
    uint8_t flags = 0;
    if (label->kind == CODE_PYTHON && filter_is_library(&trace->filter, home_of(label)))
        flags |= CODE_LIBRARY;
    if (strcmp(text_of(label->name), "<module>") == 0 || strncmp(file, "<frozen importlib", 17) == 0)
        flags |= CODE_IMPORT;
    return flags;
}

static uint32_t add_row(struct trace *trace, const struct label *label)
{
    PyObject *qualname = label->qualname ? label->qualname : label->name;
    struct arena_code row = {
        .name = text_row(trace, label->name),
        .qualname = text_row(trace, qualname),
        .file = text_row(trace, label->file),
        .module = text_row(trace, label->module),
        .line = label->line,
        .kind = label->kind,
        .flags = flags_of(trace, label),
    };
    if (label->kind == CODE_PYTHON && !filter_takes(&trace->filter, home_of(label), text_of(label->file),
                                                    text_of(label->module), text_of(qualname)))
        row.state = ARENA_CODE_EXCLUDED;
    uint64_t hash = (uint64_t)row.name << 32 ^ (uint64_t)row.qualname << 40 ^ (uint64_t)row.file << 16 ^
                    (uint64_t)row.module ^ (uint64_t)row.kind << 62;
    uint32_t found = table_find(&trace->labels, hash, row.line);
    if (found) {
        const struct arena_code *same = &arena_codes(trace->arena)[found];
        if (same->name == row.name && same->qualname == row.qualname && same->file == row.file &&
            same->module == row.module)
            return found;
    }
    uint32_t added = arena_add_code(trace->arena, &row);
    if (added)
        table_add(&trace->labels, hash, row.line, added);
    return added;
}

static uint64_t size_of(PyObject *code)
{
    PyObject *size = PyObject_CallMethod(code, "__sizeof__", NULL);
    unsigned long long bytes = size ? PyLong_AsUnsignedLongLong(size) : 0;
    Py_XDECREF(size);
    PyErr_Clear();
    return bytes + KEPT_EXTRA_BYTES;
}

/* Keeps the code object alive if that is still cheap. What is left out must be kept: its return is told by its key. */
static bool keep(struct trace *trace, uint32_t row, PyObject *code)
{
    struct arena_code *entry = &arena_codes(trace->arena)[row];
    uint64_t bytes = size_of(code);
    bool too_many =
        entry->kept >= KEPT_OBJECTS || trace->arena->kept_bytes + bytes > trace->arena->total_bytes / 4;
    if (too_many && !entry->state)
        return false;
    Py_INCREF(code);
    trace->arena->kept_bytes += bytes;
    if (entry->kept < KEPT_OBJECTS)
        entry->kept++;
    return true;
}

static void notice(uint64_t key, const struct label *label)
{
    greenlets_notice(text_of(label->file));
    slot_sharing_notice(text_of(label->file));
    finder_notice(key, text_of(label->file), text_of(label->name));
}

/* Events are each interpreter's own, and we ask for the main one's. There is none when another is made, but whoever
 * makes one calls a function next that was not called before. */
static void notice_interpreters(void)
{
    static bool noticed;
    if (noticed || !interpreter_has_others())
        return;
    noticed = true;
    tracer_note("the program has made subinterpreters; only calls of the main interpreter are recorded");
}

uint32_t code_table_add(struct trace *trace, uint64_t key, PyObject *callee, enum callee_kind kind,
                        bool *lasting)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    struct label label = {0};
    if (kind == CALLEE_PYTHON)
        label_python(&label, callee);
    else
        label_c(&label, key, callee);
    PyErr_Clear();
    notice_interpreters();
    if (kind == CALLEE_PYTHON) {
        notice(key, &label);
        superinstructions_restore_soon(callee);
    }
    uint32_t row = add_row(trace, &label);
    label_clear(&label);
    *lasting = row && (kind == CALLEE_C || keep(trace, row, callee)) && table_add(&trace->codes, key, 0, row);
    PyErr_Restore(type, value, traceback);
    return row;
}

/* The folder that a path lies in, with a slash; "" when it has none. */
static void put_folder(char *folder, size_t folder_bytes, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(folder, folder_bytes, "%.*s", slash ? (int)(slash + 1 - path) : 0, path);
}

void code_table_find_library(struct trace *trace)
{
    struct filter *filter = &trace->filter;
    /* Always there at this point, unlike os (python -S): nothing is imported that the program has not asked for. */
    PyObject *name = PyUnicode_FromString("codecs");
    PyObject *codecs = name ? PyImport_GetModule(name) : NULL;
    PyObject *file = codecs ? interpreter_attribute_utf8(codecs, "__file__") : NULL;
    Dl_info extension;
    put_folder(filter->library, sizeof filter->library, text_of(file));
    if (dladdr((void *)code_table_find_library, &extension) && extension.dli_fname)
        put_folder(filter->package, sizeof filter->package, extension.dli_fname);
    Py_XDECREF(file);
    Py_XDECREF(codecs);
    Py_XDECREF(name);
    PyErr_Clear();
}
