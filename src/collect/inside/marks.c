#include "collect/inside/marks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/agent/agent.h"
#include "collect/agent/mark_template.h"
#include "collect/inside/events.h"
#include "collect/inside/line_memory.h"
#include "collect/inside/mark_events.h"
#include "collect/inside/mark_hook.h"
#include "collect/inside/script.h"

/* One row of a file. */
struct mark {
    PyObject *function; /* its name */
    PyObject *file;     /* part of the path; NULL = any */
    PyObject *words;    /* the row, as text; NULL = it has meant a function that was called */
    struct mark_name name;
};

Py_ssize_t marks_index = -1;

static struct mark *marks;
static size_t mark_count;
static struct mark_code unmarked;
static __thread bool names_something;

/* ---- which code ---- */

static bool is_meant(const struct mark *mark, PyObject *name, PyObject *file)
{
    return PyUnicode_Compare(mark->function, name) == 0 &&
           (!mark->file || PyUnicode_Contains(file, mark->file) > 0);
}

static void meet(struct mark *mark)
{
    events_name_of(EVENTS_MET_ROW, mark->words);
    Py_CLEAR(mark->words);
}

static struct mark_code *choose(PyObject *code, PyObject *name, PyObject *file)
{
    uint32_t count = 0;
    for (size_t i = 0; i < mark_count; i++)
        count += is_meant(&marks[i], name, file);
    struct mark_code *marked = count ? calloc(1, sizeof *marked + count * sizeof *marked->marks) : NULL;
    const struct mark_call call = {.code = code};
    for (size_t i = 0; marked && i < mark_count; i++) {
        if (!is_meant(&marks[i], name, file))
            continue;
        if (marks[i].words)
            meet(&marks[i]);
        struct mark_name *names = &marks[i].name;
        marked->marks[marked->count].name = names;
        marked->marks[marked->count++].region =
            mark_names_is_fixed(names) ? mark_names_region(names, &call) : 0;
    }
    return marked ? marked : &unmarked;
}

static void forget(void *note)
{
    if (note != &unmarked)
        free(note);
}

struct mark_code *marks_look(PyObject *code)
{
    PyObject *type, *value, *traceback;
    int64_t heap = line_memory_own_begin();
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *name = PyObject_GetAttrString(code, "co_name");
    PyObject *file = PyObject_GetAttrString(code, "co_filename");
    struct mark_code *marked = name && file ? choose(code, name, file) : &unmarked;
    if (code_notes_set(code, marks_index, marked) < 0) {
        forget(marked);
        marked = &unmarked;
    }
    Py_XDECREF(file);
    Py_XDECREF(name);
    PyErr_Restore(type, value, traceback);
    line_memory_own_end(heap);
    return marked;
}

/* ---- calls ---- */

bool marks_are_named(void)
{
    return names_something;
}

static __attribute__((noinline)) uint32_t make_name(struct mark_name *name, const struct mark_call *call)
{
    PyObject *type, *value, *traceback;
    int64_t heap = line_memory_own_begin();
    PyErr_Fetch(&type, &value, &traceback);
    names_something = true;
    uint32_t region = mark_names_region(name, call);
    names_something = false;
    PyErr_Restore(type, value, traceback);
    line_memory_own_end(heap);
    return region;
}

void marks_begin(struct mark_code *marked, const struct mark_call *call, uint32_t *regions)
{
    for (uint32_t i = 0; i < marked->count; i++) {
        uint32_t region = marked->marks[i].region;
        regions[i] = region ? region : make_name(marked->marks[i].name, call);
        if (regions[i])
            events_begin(regions[i]);
    }
}

void marks_end(const uint32_t *regions, uint32_t count)
{
    while (count-- > 0)
        if (regions[count])
            events_end(regions[count]);
}

/* ---- rows ---- */

/* So that a row which never means a function can be told. */
static void describe(struct mark *mark, size_t number)
{
    mark->words = mark->file
                      ? PyUnicode_FromFormat("row %zu (fn=%U, file=%U)", number, mark->function, mark->file)
                      : PyUnicode_FromFormat("row %zu (fn=%U)", number, mark->function);
    if (mark->words)
        events_name_of(EVENTS_ROW, mark->words);
    PyErr_Clear();
}

static struct mark *add(PyObject *function, PyObject *file)
{
    struct mark *grown = realloc(marks, (mark_count + 1) * sizeof *marks);
    if (!grown)
        return NULL;
    marks = grown;
    marks[mark_count] = (struct mark){.function = function, .file = file};
    describe(&marks[mark_count], mark_count + 1);
    return &marks[mark_count++];
}

/* As the command has checked it. */
static int add_row(const char *text)
{
    const char *file = strchr(text, MARK_TEMPLATE_SEPARATOR);
    const char *name = file ? strchr(file + 1, MARK_TEMPLATE_SEPARATOR) : NULL;
    if (!name || !name[1])
        return -1;
    PyObject *function = PyUnicode_DecodeUTF8(text, file - text, "surrogateescape");
    PyObject *part =
        name > file + 1 ? PyUnicode_DecodeUTF8(file + 1, name - file - 1, "surrogateescape") : NULL;
    struct mark *mark = function ? add(function, part) : NULL;
    return mark ? mark_names_init(&mark->name, name[1], name + 2) : -1;
}

/* The name of a row in Python is text as it is, or a function. */
static int init_name(struct mark_name *name, PyObject *given)
{
    if (PyCallable_Check(given)) {
        mark_names_init_function(name, given);
        return 0;
    }
    PyObject *bytes = PyUnicode_Check(given) ? interpreter_utf8(given) : NULL;
    const char *text = bytes ? PyBytes_AsString(bytes) : NULL;
    char *quoted = text ? malloc(2 * strlen(text) + 1) : NULL, *end = quoted;
    for (; quoted && *text; text++) {
        if (*text == '{' || *text == '}')
            *end++ = *text;
        *end++ = *text;
    }
    if (quoted)
        *end = '\0';
    int result = quoted ? mark_names_init(name, MARK_NAME_TEMPLATE, quoted) : -1;
    free(quoted);
    Py_XDECREF(bytes);
    return result;
}

static int add_python_row(PyObject *row)
{
    PyObject *function = PyMapping_GetItemString(row, "fn"), *name = PyMapping_GetItemString(row, "name");
    PyObject *file = PyMapping_HasKeyString(row, "file") ? PyMapping_GetItemString(row, "file") : NULL;
    if (file == Py_None)
        Py_CLEAR(file);
    bool right = function && PyUnicode_Check(function) && name && (!file || PyUnicode_Check(file));
    struct mark *mark = right ? add(function, file) : NULL;
    int result = mark ? init_name(&mark->name, name) : -1;
    Py_XDECREF(name);
    if (mark)
        return result;
    Py_XDECREF(function);
    Py_XDECREF(file);
    return -1;
}

/* A Python file with a list of that name. */
static int add_script(const char *path, char *why, size_t why_bytes)
{
    PyObject *space = script_run(path, "functions_desc");
    PyObject *list = space ? PyDict_GetItemString(space, "functions_desc") : NULL;
    int result = 0;
    if (!space) {
        PyErr_Print();
        snprintf(why, why_bytes, "the marks file %s failed", path);
        return -1;
    }
    for (Py_ssize_t i = 0; list && PyList_Check(list) && i < PyList_Size(list) && result == 0; i++)
        result = add_python_row(PyList_GetItem(list, i));
    PyErr_Clear();
    if (!list || !PyList_Check(list) || result < 0) {
        snprintf(why, why_bytes,
                 "%s needs a list functions_desc of {\"fn\": text, \"file\": text or None, \"name\": text or "
                 "a function}",
                 path);
        result = -1;
    }
    Py_DECREF(space);
    return result;
}

static int add_rows(const struct session *session, char *why, size_t why_bytes)
{
    for (uint32_t i = 0; i < session->mark_count; i++)
        if (add_row(session->marks[i]) < 0) {
            snprintf(why, why_bytes, "there is no memory for the marks");
            return -1;
        }
    for (uint32_t i = 0; i < session->marks_script_count; i++)
        if (add_script(session->marks_scripts[i], why, why_bytes) < 0)
            return -1;
    return 0;
}

int marks_start(const struct agent *agent, char *why, size_t why_bytes)
{
    const struct session *session = agent->session;
    if (!session->mark_count && !session->marks_script_count)
        return 0;
    marks_index = code_notes_open(forget, why, why_bytes);
    if (marks_index < 0 || mark_call_init(why, why_bytes) < 0 || add_rows(session, why, why_bytes) < 0)
        return -1;
    return interpreter.has_monitoring ? mark_events_begin(why, why_bytes) : mark_hook_begin(why, why_bytes);
}
