#include "collect/inside/mark_names.h"

#include <stdlib.h>
#include <string.h>

#include "collect/agent/mark_template.h"
#include "collect/inside/events.h"

#define FAILURES_MAX 3 /* a module may be found only later, because it is being imported */

struct text {
    char bytes[MARK_NAMES_BYTES];
    size_t size;
};

int mark_names_init(struct mark_name *name, char kind, const char *text)
{
    char *copy = strdup(text);
    *name = (struct mark_name){.template = kind == MARK_NAME_TEMPLATE ? copy : NULL,
                               .path = kind == MARK_NAME_TEMPLATE ? NULL : copy};
    return copy ? 0 : -1;
}

void mark_names_init_function(struct mark_name *name, PyObject *function)
{
    Py_INCREF(function);
    *name = (struct mark_name){.function = function};
}

bool mark_names_is_fixed(const struct mark_name *name)
{
    const char *at = name->template;
    struct mark_piece piece;
    while (at && (piece = mark_template_next(&at)).kind != MARK_PIECE_END)
        if (piece.kind == MARK_PIECE_CLASS || piece.kind == MARK_PIECE_ARGUMENT)
            return false;
    return name->template != NULL;
}

/* ---- text ---- */

/* Cut where a character ends. */
static void put(struct text *text, const char *bytes, size_t size)
{
    size_t room = sizeof text->bytes - text->size;
    if (size > room)
        for (size = room; size && ((unsigned char)bytes[size] & 0xc0) == 0x80; size--)
            ;
    memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
}

/* What str() says of it. Takes the reference. */
static void put_object(struct text *text, PyObject *object)
{
    PyObject *words = object ? PyObject_Str(object) : NULL;
    PyObject *bytes = words ? interpreter_utf8(words) : NULL;
    if (bytes)
        put(text, PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    else
        put(text, "?", 1);
    Py_XDECREF(bytes);
    Py_XDECREF(words);
    Py_XDECREF(object);
    PyErr_Clear();
}

static PyObject *class_name(const struct mark_call *call)
{
    PyObject *first = mark_call_first_argument(call);
    if (!first)
        return NULL;
    PyObject *class = PyType_Check(first) ? first : (PyObject *)Py_TYPE(first);
    PyObject *name = PyObject_GetAttrString(class, "__name__");
    Py_DECREF(first);
    return name;
}

/* What `step` leads to from an object, which it takes. */
static PyObject *follow(PyObject *from, const struct mark_step *step)
{
    PyObject *name = PyUnicode_FromStringAndSize(step->name, (Py_ssize_t)step->bytes);
    bool number = step->item && strspn(step->name, "0123456789") == step->bytes;
    PyObject *key = name && number ? PyNumber_Long(name) : name;
    PyObject *found = !key ? NULL : step->item ? PyObject_GetItem(from, key) : PyObject_GetAttr(from, key);
    if (key != name)
        Py_XDECREF(key);
    Py_XDECREF(name);
    Py_DECREF(from);
    return found;
}

static PyObject *argument(const struct mark_call *call, const char *path, size_t bytes)
{
    struct mark_step step;
    size_t at = mark_template_step(path, bytes, &step);
    PyObject *name = PyUnicode_FromStringAndSize(step.name, (Py_ssize_t)step.bytes);
    PyObject *value = name ? mark_call_argument(call, name) : NULL;
    while (value && at < bytes) {
        at += mark_template_step(path + at, bytes - at, &step);
        value = follow(value, &step);
    }
    Py_XDECREF(name);
    return value;
}

static void put_function(struct text *text, const struct mark_call *call)
{
    put_object(text, PyObject_GetAttrString(call->code, "co_name"));
}

static void fill_in(struct text *text, const char *template, const struct mark_call *call)
{
    for (;;) {
        struct mark_piece piece = mark_template_next(&template);
        switch (piece.kind) {
        case MARK_PIECE_TEXT:
            put(text, piece.text, piece.bytes);
            break;
        case MARK_PIECE_FUNCTION:
            put_function(text, call);
            break;
        case MARK_PIECE_CLASS:
            put_object(text, class_name(call));
            break;
        case MARK_PIECE_ARGUMENT:
            put_object(text, argument(call, piece.text, piece.bytes));
            break;
        case MARK_PIECE_END:
        case MARK_PIECE_WRONG:
            return;
        }
    }
}

/* ---- functions of the user's ---- */

/* "module:function", where the function may be an attribute of something in the module. */
static PyObject *find_function(const char *path)
{
    const char *colon = strchr(path, ':');
    char *module = strndup(path, (size_t)(colon - path));
    PyObject *found = module ? PyImport_ImportModule(module) : NULL;
    free(module);
    for (const char *at = colon; found && at; at = strchr(at + 1, '.')) {
        size_t bytes = strcspn(at + 1, ".");
        PyObject *name = PyUnicode_FromStringAndSize(at + 1, (Py_ssize_t)bytes);
        PyObject *inner = name ? PyObject_GetAttr(found, name) : NULL;
        Py_XDECREF(name);
        Py_DECREF(found);
        found = inner;
    }
    return found;
}

static void tell_failure(struct mark_name *name)
{
    if (++name->failures == FAILURES_MAX || name->function)
        PyErr_WriteUnraisable(name->function);
    PyErr_Clear();
    if (name->function)
        name->failures = FAILURES_MAX;
}

/* False when there is no name. */
static bool ask(struct text *text, struct mark_name *name, const struct mark_call *call)
{
    if (name->failures >= FAILURES_MAX)
        return false;
    if (!name->function)
        name->function = find_function(name->path);
    PyObject *frame = name->function ? mark_call_frame(call) : NULL;
    PyObject *answer = frame ? PyObject_CallFunction(name->function, "OsO", frame, "call", Py_None) : NULL;
    Py_XDECREF(frame);
    if (answer)
        put_object(text, answer);
    else
        tell_failure(name);
    return answer != NULL;
}

uint32_t mark_names_region(struct mark_name *name, const struct mark_call *call)
{
    struct text text = {.size = 0};
    if (name->template)
        fill_in(&text, name->template, call);
    else if (!ask(&text, name, call))
        put_function(&text, call);
    return events_name(EVENTS_REGION, text.bytes, text.size);
}
