#include "collect/inside/line_codes.h"

#include <stdio.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "collect/inside/code_table.h"
#include "collect/inside/line_clock.h"

#define POOL_CODES 256     /* made at a time */
#define SPAN_MAX   1000000 /* lines of one function */

static Py_ssize_t (*request_index)(freefunc);
static int (*get_extra)(PyObject *, Py_ssize_t, void **);
static int (*set_extra)(PyObject *, Py_ssize_t, void *);
static int (*line_at)(PyObject *, int);

static struct trace *trace;
static Py_ssize_t extra_index = -1;
static struct line_code *known, *free_codes;
static struct line_code other = {.choice = LINE_OTHER}; /* of all that do not concern us */
static struct table blocks; /* (row of the function, thread, first line) → block */

static void forget(void *extra)
{
    struct line_code *function = extra;
    if (function && function != &other)
        function->code = 0;
}

static void *find_either(const char *name, const char *older)
{
    void *found = interpreter_find(name);
    return found ? found : interpreter_find(older);
}

int line_codes_init(struct trace *given, char *why, size_t why_bytes)
{
    trace = given;
    *(void **)&request_index =
        find_either("PyUnstable_Eval_RequestCodeExtraIndex", "_PyEval_RequestCodeExtraIndex");
    *(void **)&get_extra = find_either("PyUnstable_Code_GetExtra", "_PyCode_GetExtra");
    *(void **)&set_extra = find_either("PyUnstable_Code_SetExtra", "_PyCode_SetExtra");
    *(void **)&line_at = interpreter_find("PyCode_Addr2Line");
    if (extra_index < 0 && request_index && get_extra && set_extra && line_at)
        extra_index = request_index(forget);
    if (extra_index >= 0)
        return 0;
    snprintf(why, why_bytes, "this CPython does not let sonde keep notes about functions");
    return -1;
}

struct line_code *line_codes_find(PyObject *code)
{
    void *extra = NULL;
    return get_extra(code, extra_index, &extra) == 0 ? extra : NULL;
}

/* Those whose code objects are gone. */
static void take_back(void)
{
    for (struct line_code **link = &known; *link;) {
        struct line_code *function = *link;
        if (function->code || function->open) {
            link = &function->next;
            continue;
        }
        *link = function->next;
        function->next = free_codes;
        free_codes = function;
    }
}

static struct line_code *new_code(void)
{
    if (!free_codes)
        take_back();
    if (!free_codes) {
        struct line_code *pool =
            mmap(NULL, POOL_CODES * sizeof *pool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (size_t i = 0; pool != MAP_FAILED && i < POOL_CODES; i++) {
            pool[i].next = free_codes;
            free_codes = &pool[i];
        }
    }
    struct line_code *function = free_codes;
    if (!function)
        return NULL;
    free_codes = function->next;
    *function = (struct line_code){.next = known};
    known = function;
    return function;
}

struct line_code *line_codes_set(PyObject *code, enum line_choice choice)
{
    struct line_code *function = line_codes_find(code);
    if (function && function->choice >= choice)
        return function;
    if (choice == LINE_OTHER)
        function = &other;
    else if (!function || function == &other)
        function = new_code();
    if (!function || set_extra(code, extra_index, function) < 0) {
        PyErr_Clear();
        return NULL;
    }
    if (function != &other) {
        function->code = (uint64_t)code;
        function->choice = choice;
    }
    return function;
}

struct line_code *line_codes_first(void)
{
    return known;
}

void line_codes_end(void)
{
    for (struct line_code *function = known; function; function = function->next) {
        function->choice = LINE_OTHER;
        function->open = function->innermost = 0;
    }
}

/* ---- lines ---- */

static void widen(long line, uint32_t *first, uint32_t *last)
{
    if (line <= 0 || line > INT32_MAX)
        return;
    if (!*last || (uint32_t)line < *first)
        *first = (uint32_t)line;
    if ((uint32_t)line > *last)
        *last = (uint32_t)line;
}

/* 3.10 and later: tuples of two offsets and a line, or None. */
static void span_of_lines(PyObject *lines, uint32_t *first, uint32_t *last)
{
    PyObject *iterator = PyObject_GetIter(lines), *row;
    while (iterator && (row = PyIter_Next(iterator))) {
        PyObject *line = PyTuple_Check(row) && PyTuple_Size(row) == 3 ? PyTuple_GetItem(row, 2) : NULL;
        if (line && PyLong_Check(line))
            widen(PyLong_AsLong(line), first, last);
        Py_DECREF(row);
    }
    Py_XDECREF(iterator);
}

/* 3.9: pairs of an increment of the offset and one of the line, which is signed. */
static void span_of_table(PyObject *code, PyObject *table, uint32_t *first, uint32_t *last)
{
    PyObject *begin = PyObject_GetAttrString(code, "co_firstlineno");
    long line = begin ? PyLong_AsLong(begin) : 0;
    const signed char *bytes = (const signed char *)PyBytes_AsString(table);
    widen(line, first, last);
    for (Py_ssize_t i = 1; bytes && i < PyBytes_Size(table); i += 2)
        widen(line += bytes[i], first, last);
    Py_XDECREF(begin);
}

bool line_codes_span(PyObject *code, uint32_t *first, uint32_t *last)
{
    *first = *last = 0;
    PyObject *lines = PyObject_CallMethod(code, "co_lines", NULL);
    if (lines) {
        span_of_lines(lines, first, last);
    } else {
        PyErr_Clear();
        PyObject *table = PyObject_GetAttrString(code, "co_lnotab");
        if (table && PyBytes_Check(table))
            span_of_table(code, table, first, last);
        Py_XDECREF(table);
    }
    Py_XDECREF(lines);
    PyErr_Clear();
    return *last > 0;
}

uint32_t line_codes_line(struct line_code *function, uint32_t offset)
{
    uint32_t place = offset / 2 % LINE_CODES_PLACES;
    if (function->places[place].offset != offset || !function->places[place].line) {
        int line = line_at((PyObject *)function->code, (int)offset);
        function->places[place].offset = offset;
        function->places[place].line = line > 0 ? (uint32_t)line : 0;
    }
    return function->places[place].line;
}

/* ---- blocks ---- */

/* Names the function in the arena; false when there is no room. */
static bool describe(struct line_code *function)
{
    PyObject *type, *value, *traceback, *code = (PyObject *)function->code;
    PyErr_Fetch(&type, &value, &traceback);
    bool lasting;
    uint32_t first, last;
    function->code_row = code_table_add(trace, function->code, code, CALLEE_PYTHON, &lasting);
    bool has_lines = function->code_row && line_codes_span(code, &first, &last) && last - first < SPAN_MAX;
    if (has_lines) {
        function->first_line = first;
        function->line_count = last - first + 1;
    }
    PyErr_Restore(type, value, traceback);
    return has_lines;
}

static uint32_t find_or_add_block(const struct line_code *function, uint32_t thread)
{
    uint64_t key = (uint64_t)function->code_row << 32 | thread;
    uint32_t found = table_find(&blocks, key, function->first_line);
    if (found && arena_line_blocks(trace->arena)[found].line_count == function->line_count)
        return found;
    const struct arena_line_block row = {
        .code = function->code_row,
        .thread = thread,
        .first_line = function->first_line,
        .line_count = function->line_count,
        .since_ticks = line_clock_now(),
    };
    uint32_t added = arena_add_line_block(trace->arena, &row);
    if (added && !found)
        table_add(&blocks, key, function->first_line, added);
    return added;
}

uint32_t line_codes_block(struct line_code *function, uint32_t thread)
{
    if (__builtin_expect(!thread && function->block, 1))
        return function->block;
    bool described = function->line_count || describe(function);
    uint32_t block = described ? find_or_add_block(function, thread ? thread : 1) : 0;
    if (!block)
        trace->arena->lost_lines++;
    if (!thread)
        function->block = block;
    return block;
}
