#include "collect/inside/line_codes.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "collect/agent/own_memory.h"
#include "collect/inside/code_table.h"
#include "collect/inside/line_clock.h"
#include "collect/inside/line_entry.h"

#define POOL_CODES 256 /* made at a time */
#define LOOKS_MAX  256
#define SPAN_MAX   1000000 /* lines of one function */

static int (*line_at)(PyObject *, int);

Py_ssize_t line_codes_index = -1;
void (*line_codes_naming)(const struct line_code *function, bool done);

static struct trace *trace;
static struct line_code *known, *free_codes;
static struct line_code others[LOOKS_MAX]; /* of all that do not concern us: those of each look */
struct line_code *line_codes_other = others;
static struct line_code comprehension = {.is_comprehension = true};
static struct table blocks; /* (row of the function, thread, first line) → block */

static bool is_other(const struct line_code *function)
{
    return function >= others && function < others + LOOKS_MAX;
}

static bool is_shared(const struct line_code *function)
{
    return is_other(function) || function == &comprehension;
}

static void forget(void *extra)
{
    struct line_code *function = extra;
    if (!function || is_shared(function))
        return;
    line_entry_take_out(function);
    Py_XDECREF(function->constants_before);
    function->constants_before = NULL;
    function->code = 0;
    PyObject *probed = function->probed;
    if (!probed || Py_REFCNT(probed) > 1) /* a generator still runs in it */
        return;
    function->probed = NULL;
    Py_DECREF(probed);
}

int line_codes_init(struct trace *given, char *why, size_t why_bytes)
{
    trace = given;
    *(void **)&line_at = interpreter_find("PyCode_Addr2Line");
    if (line_codes_index < 0)
        line_codes_index = code_notes_open(forget, why, why_bytes);
    if (line_at)
        return line_codes_index < 0 ? -1 : 0;
    snprintf(why, why_bytes, "this CPython does not tell sonde the lines of functions");
    return -1;
}

/* Those whose code objects are gone. */
static void take_back(void)
{
    for (struct line_code **link = &known; *link;) {
        struct line_code *function = *link;
        if (function->code || function->open || function->probed) {
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
        struct line_code *pool = own_memory_map(POOL_CODES * sizeof *pool);
        for (size_t i = 0; pool && i < POOL_CODES; i++) {
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

bool line_codes_is_comprehension(PyObject *code)
{
    static const char *const names[] = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"};
    bool is = false;
    PyObject *name = PyObject_GetAttrString(code, "co_name");
    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        is = is || PyUnicode_CompareWithASCIIString(name, names[i]) == 0;
    Py_XDECREF(name);
    PyErr_Clear();
    return is;
}

struct line_code *line_codes_set(PyObject *code, enum line_choice choice)
{
    struct line_code *function = line_codes_find(code);
    if (function && function->choice >= choice && !line_codes_is_stale(function))
        return function;
    if (choice == LINE_OTHER)
        function = line_codes_is_comprehension(code) ? &comprehension : line_codes_other;
    else if (!function || is_shared(function))
        function = new_code();
    if (!function || code_notes_set(code, line_codes_index, function) < 0) {
        PyErr_Clear();
        return NULL;
    }
    if (!is_shared(function)) {
        function->code = (uint64_t)code;
        function->choice = choice;
    }
    return function;
}

static void find_kind(struct line_code *function, PyObject *code)
{
    enum { GENERATOR = 0x20, COROUTINE = 0x80, ASYNC_GENERATOR = 0x200 };
    PyObject *flags = PyObject_GetAttrString(code, "co_flags");
    if (flags)
        function->is_generator = PyLong_AsLong(flags) & (GENERATOR | COROUTINE | ASYNC_GENERATOR);
    Py_XDECREF(flags);
}

bool line_codes_lend(PyObject *copy, struct line_code *function)
{
    find_kind(function, copy);
    return code_notes_set(copy, line_codes_index, function) == 0;
}

bool line_codes_is_stale(const struct line_code *function)
{
    return is_other(function) && function != line_codes_other;
}

void line_codes_forget_others(void)
{
    if (line_codes_other < others + LOOKS_MAX - 1)
        line_codes_other++;
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

uint32_t line_codes_line(struct line_code *function, PyObject *code, uint32_t offset)
{
    uint32_t place = offset / 2 % LINE_CODES_PLACES;
    if (function->places[place].offset != offset || !function->places[place].line) {
        int line = line_at(code, (int)offset);
        function->places[place].offset = offset;
        function->places[place].line = line > 0 ? (uint32_t)line : 0;
    }
    return function->places[place].line;
}

/* ---- blocks ---- */

/* Not all versions count the line of `def`, or of its first decorator, among a function's own. */
static void include_first(PyObject *code, uint32_t *first, uint32_t *last)
{
    PyObject *line = PyObject_GetAttrString(code, "co_firstlineno");
    if (line)
        widen(PyLong_AsLong(line), first, last);
    Py_XDECREF(line);
    PyErr_Clear();
}

bool line_codes_describe(struct line_code *function)
{
    PyObject *type, *value, *traceback, *code = (PyObject *)function->code;
    int64_t heap = line_memory_own_begin();
    PyErr_Fetch(&type, &value, &traceback);
    bool lasting;
    uint32_t first, last;
    if (line_codes_naming)
        line_codes_naming(function, false);
    function->code_row = code_table_add(trace, function->code, code, CALLEE_PYTHON, &lasting);
    if (line_codes_naming)
        line_codes_naming(function, true);
    bool has_lines = function->code_row && line_codes_span(code, &first, &last);
    if (has_lines)
        include_first(code, &first, &last);
    has_lines = has_lines && last - first < SPAN_MAX;
    if (has_lines) {
        function->first_line = first;
        function->line_count = last - first + 1;
    }
    find_kind(function, code);
    trace->arena->targets_found |= function->targets;
    PyErr_Restore(type, value, traceback);
    line_memory_own_end(heap);
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
    uint32_t block = function->line_count ? find_or_add_block(function, thread ? thread : 1) : 0;
    if (function->line_count && !block)
        trace->arena->lost_lines++;
    if (!thread)
        function->block = block;
    return block;
}
