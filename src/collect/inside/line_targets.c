#include "collect/inside/line_targets.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/agent/session.h"
#include "collect/inside/filter.h"
#include "collect/inside/line_codes.h"

struct target {
    const char *text;      /* as given */
    char path[PATH_MAX];   /* of a file or folder: absolute; "" = it is a name */
    char linked[PATH_MAX]; /* the same without symbolic links */
    uint32_t line;         /* of file:line; 0 = all of the file */
};

/* What is compared with the targets. */
struct subject {
    PyObject *code;
    const char *module, *qualname, *file;
};

static struct target *targets;
static uint32_t target_count;
static bool takes_all;
static struct filter filter; /* then: of all */

/* ---- names ---- */

/* Whether `name` is the target, or lies in it. A function within a function is asked for by its own name, or with all
 * that its module or class has. */
static bool name_lies_in(const char *target, const char *name)
{
    size_t size = strlen(target);
    if (strncmp(name, target, size) != 0)
        return false;
    return name[size] == '\0' || (name[size] == '.' && name[size + 1] != '<');
}

static bool matches_joined(const char *target, const char *module, size_t module_bytes, const char *qualname)
{
    char joined[PATH_MAX];
    int size = snprintf(joined, sizeof joined, "%.*s.%s", (int)module_bytes, module, qualname);
    return size > 0 && (size_t)size < sizeof joined && name_lies_in(target, joined);
}

/* In a process that multiprocessing has spawned the main program has another name. */
static bool is_main(const char *module)
{
    return module && (strcmp(module, "__main__") == 0 || strcmp(module, "__mp_main__") == 0);
}

/* The main program's functions may be called by their names alone, or by the name of its file, too. */
static bool matches_name(const struct target *target, const struct subject *subject)
{
    if (subject->module &&
        matches_joined(target->text, subject->module, strlen(subject->module), subject->qualname))
        return true;
    if (!is_main(subject->module))
        return false;
    const char *slash = strrchr(subject->file, '/');
    const char *stem = slash ? slash + 1 : subject->file;
    const char *dot = strrchr(stem, '.');
    return name_lies_in(target->text, subject->qualname) ||
           matches_joined(target->text, stem, dot ? (size_t)(dot - stem) : strlen(stem), subject->qualname);
}

/* ---- files ---- */

static bool path_lies_in(const char *folder, const char *path)
{
    size_t size = strlen(folder);
    return size && strncmp(path, folder, size) == 0 && (path[size] == '\0' || path[size] == '/');
}

static bool matches_file(const struct target *target, const struct subject *subject)
{
    char path[PATH_MAX], linked[PATH_MAX];
    const char *file = subject->file;
    if (file[0] == '<')
        return false;
    if (file[0] != '/' && realpath(file, path))
        file = path;
    if (path_lies_in(target->path, file) || path_lies_in(target->linked, file))
        return true;
    return realpath(file, linked) && path_lies_in(target->linked, linked);
}

static bool has_line(PyObject *code, uint32_t line)
{
    uint32_t first, last;
    return line_codes_span(code, &first, &last) && line >= first && line <= last;
}

static bool is_code(PyObject *object, PyObject *code)
{
    return Py_TYPE(object) == Py_TYPE(code);
}

/* The function that has the line is the innermost one. */
static bool is_function_of_line(PyObject *code, uint32_t line)
{
    if (!has_line(code, line) || line_codes_is_comprehension(code))
        return false;
    PyObject *constants = interpreter_attribute(code, "co_consts");
    bool inner = false;
    for (Py_ssize_t i = 0; constants && PyTuple_Check(constants) && i < PyTuple_Size(constants); i++) {
        PyObject *constant = PyTuple_GetItem(constants, i);
        inner = inner || (is_code(constant, code) && has_line(constant, line) &&
                          !line_codes_is_comprehension(constant));
    }
    Py_XDECREF(constants);
    PyErr_Clear();
    return !inner;
}

/* ---- functions ---- */

static bool is_body(PyObject *code)
{
    enum { NEWLOCALS = 2 };
    PyObject *flags = interpreter_attribute(code, "co_flags");
    bool body = flags && !(PyLong_AsLong(flags) & NEWLOCALS);
    Py_XDECREF(flags);
    PyErr_Clear();
    return body;
}

/* Code that the compiler makes of annotations (3.14) and of the parameters of generics (3.12). */
static bool is_annotation(PyObject *code)
{
    static const char generic[] = "<generic parameters of ";
    PyObject *name = interpreter_attribute_utf8(code, "co_name");
    const char *text = name ? PyBytes_AsString(name) : "";
    bool is = strcmp(text, "__annotate__") == 0 || strncmp(text, generic, sizeof generic - 1) == 0;
    Py_XDECREF(name);
    return is;
}

/* The bodies of modules and classes run once; they are timed only when one of their lines is asked for. */
static bool is_function(PyObject *code)
{
    return !is_body(code) && !line_codes_is_comprehension(code) && !is_annotation(code);
}

static bool matches(const struct target *target, const struct subject *subject)
{
    if (!target->path[0])
        return matches_name(target, subject) && is_function(subject->code);
    if (!matches_file(target, subject))
        return false;
    return target->line ? is_function_of_line(subject->code, target->line) : is_function(subject->code);
}

static bool matches_filter(const struct subject *subject)
{
    const char *module = subject->module ? subject->module : "";
    return takes_all && is_function(subject->code) &&
           filter_takes(&filter, subject->file, subject->file, module, subject->qualname);
}

static uint64_t find_targets(PyObject *code, PyObject *module, const char *qualname)
{
    PyObject *file = interpreter_attribute_utf8(code, "co_filename");
    PyObject *name = module && PyUnicode_Check(module) ? interpreter_utf8(module) : NULL;
    const struct subject subject = {
        .code = code,
        .module = name ? PyBytes_AsString(name) : NULL,
        .qualname = qualname,
        .file = file ? PyBytes_AsString(file) : "",
    };
    uint64_t found = matches_filter(&subject) ? UINT64_C(1) << 63 : 0;
    for (uint32_t i = 0; i < target_count; i++)
        if (matches(&targets[i], &subject))
            found |= UINT64_C(1) << (i < 63 ? i : 63);
    Py_XDECREF(name);
    Py_XDECREF(file);
    return found;
}

uint64_t line_targets_match(PyObject *code, PyObject *module)
{
    if (!target_count && !takes_all)
        return 0;
    PyObject *qualname = interpreter_attribute_utf8(code, "co_qualname");
    if (!qualname)
        qualname = interpreter_attribute_utf8(code, "co_name");
    uint64_t found = find_targets(code, module, qualname ? PyBytes_AsString(qualname) : "");
    Py_XDECREF(qualname);
    return found;
}

/* ---- before 3.12 ---- */

struct looking {
    PyObject *module;
    void (*found)(PyObject *code, uint64_t targets);
};

/* `prefix` is what the qualified names of what lies in the code begin with. */
static void look_through(const struct looking *looking, PyObject *code, const char *prefix)
{
    PyObject *constants = interpreter_attribute(code, "co_consts");
    for (Py_ssize_t i = 0; constants && PyTuple_Check(constants) && i < PyTuple_Size(constants); i++) {
        PyObject *constant = PyTuple_GetItem(constants, i);
        PyObject *name = is_code(constant, code) ? interpreter_attribute_utf8(constant, "co_name") : NULL;
        if (!name)
            continue;
        char qualname[1024], inner[1040];
        snprintf(qualname, sizeof qualname, "%s%s", prefix, PyBytes_AsString(name));
        snprintf(inner, sizeof inner, "%s%s", qualname, is_body(constant) ? "." : ".<locals>.");
        looking->found(constant, find_targets(constant, looking->module, qualname));
        look_through(looking, constant, inner);
        Py_DECREF(name);
    }
    Py_XDECREF(constants);
    PyErr_Clear();
}

void line_targets_look_through(PyObject *code, PyObject *module,
                               void (*found)(PyObject *code, uint64_t targets))
{
    const struct looking looking = {.module = module, .found = found};
    if ((!target_count && !takes_all) || interpreter.minor >= 12)
        return;
    PyObject *name = interpreter_attribute_utf8(code, interpreter.minor >= 11 ? "co_qualname" : "co_name");
    if (name && strcmp(PyBytes_AsString(name), "<module>") == 0) {
        look_through(&looking, code, "");
    } else if (name && interpreter.minor >= 11) {
        char prefix[1024];
        snprintf(prefix, sizeof prefix, "%s%s", PyBytes_AsString(name), is_body(code) ? "." : ".<locals>.");
        look_through(&looking, code, prefix);
    }
    Py_XDECREF(name);
}

/* Cuts ":123" off; 0 when there is none. */
static uint32_t take_line(char *text)
{
    char *colon = strrchr(text, ':'), *end;
    if (!colon || !colon[1])
        return 0;
    unsigned long line = strtoul(colon + 1, &end, 10);
    if (*end || line == 0 || line > INT32_MAX)
        return 0;
    *colon = '\0';
    return (uint32_t)line;
}

static bool is_path(const char *text)
{
    size_t size = strlen(text);
    return strchr(text, '/') || (size > 3 && strcmp(text + size - 3, ".py") == 0);
}

static void parse(struct target *target, const char *text)
{
    char cut[PATH_MAX], here[PATH_MAX];
    target->text = text;
    snprintf(cut, sizeof cut, "%s", text);
    target->line = take_line(cut);
    if (!target->line && !is_path(cut))
        return;
    if (cut[0] == '/' || !getcwd(here, sizeof here))
        here[0] = '\0';
    size_t size = strlen(cut);
    while (size > 1 && cut[size - 1] == '/')
        cut[--size] = '\0';
    snprintf(target->path, sizeof target->path, "%.*s%s%s", PATH_MAX / 2, here, here[0] ? "/" : "", cut);
    if (!realpath(target->path, target->linked))
        target->linked[0] = '\0';
}

int line_targets_init(const struct session *session, const struct filter *libraries, char *why,
                      size_t why_bytes)
{
    takes_all = session->all_lines;
    if (filter_init(&filter, session->include, session->exclude, !session->library_lines, why, why_bytes) < 0)
        return -1;
    memcpy(filter.library, libraries->library, sizeof filter.library);
    memcpy(filter.package, libraries->package, sizeof filter.package);
    targets = calloc(session->line_target_count, sizeof *targets);
    target_count = targets ? session->line_target_count : 0;
    for (uint32_t i = 0; i < target_count; i++)
        parse(&targets[i], session->line_targets[i]);
    return 0;
}
