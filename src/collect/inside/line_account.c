#include "collect/inside/line_account.h"

#include <string.h>

#include "collect/inside/line_codes.h"
#include "collect/inside/line_session.h"

int line_account_init(struct line_account *account, PyObject *label)
{
    *account = (struct line_account){.label = label, .codes = PyList_New(0)};
    Py_INCREF(label);
    if (account->codes)
        return 0;
    line_account_clear(account);
    return -1;
}

void line_account_clear(struct line_account *account)
{
    PyMem_Free(account->base);
    PyMem_Free(account->sums);
    PyMem_Free(account->room);
    Py_XDECREF(account->codes);
    Py_XDECREF(account->label);
    *account = (struct line_account){0};
}

/* ---- code objects ---- */

/* Moves rows to other lines than before; those that they had keep what was counted. */
static bool move(const struct line_account *account, struct arena_line **rows, uint32_t first, uint32_t count)
{
    struct arena_line *moved = PyMem_Calloc(count, sizeof *moved);
    if (!moved)
        return false;
    if (account->line_count)
        memcpy(moved + (account->first_line - first), *rows, account->line_count * sizeof *moved);
    PyMem_Free(*rows);
    *rows = moved;
    return true;
}

static int widen(struct line_account *account, uint32_t first, uint32_t last)
{
    uint32_t old_last = account->first_line + account->line_count - 1;
    if (account->line_count && account->first_line < first)
        first = account->first_line;
    if (account->line_count && old_last > last)
        last = old_last;
    uint32_t count = last - first + 1;
    if (first == account->first_line && count == account->line_count)
        return 0;
    if (!move(account, &account->base, first, count) || !move(account, &account->sums, first, count) ||
        !move(account, &account->room, first, count)) {
        account->line_count = 0;
        PyErr_NoMemory();
        return -1;
    }
    account->first_line = first;
    account->line_count = count;
    return 0;
}

/* Code objects are equal when they do the same; here it matters which one it is. */
bool line_account_has(const struct line_account *account, const PyObject *code)
{
    for (Py_ssize_t i = 0; i < PyList_Size(account->codes); i++)
        if (PyList_GetItem(account->codes, i) == code)
            return true;
    return false;
}

int line_account_add(struct line_account *account, PyObject *code)
{
    uint32_t first, last;
    if (line_account_has(account, code))
        return 0;
    if (line_codes_span(code, &first, &last) && widen(account, first, last) < 0)
        return -1;
    return PyList_Append(account->codes, code);
}

void line_account_choose(const struct line_account *account)
{
    for (Py_ssize_t i = 0; i < PyList_Size(account->codes); i++)
        line_session_choose(PyList_GetItem(account->codes, i));
}

/* ---- counting ---- */

/* Blocks of a function: one, unless each thread has its own. */
static void add_blocks(const struct line_account *account, const struct line_reading *reading,
                       uint32_t code_row, uint64_t since_ticks, struct arena_line *lines)
{
    const struct arena_line_block *blocks = arena_line_blocks(reading->arena);
    for (uint32_t i = 1; i < reading->arena->line_block_count; i++)
        if (blocks[i].code == code_row)
            line_reading_add(reading, i, since_ticks, lines, account->first_line, account->line_count);
}

/* Whether a code object before this one has the same row: then it was read already. */
static bool was_read(const struct line_account *account, Py_ssize_t place, uint32_t code_row)
{
    for (Py_ssize_t i = 0; i < place; i++) {
        const struct line_code *other = line_codes_find(PyList_GetItem(account->codes, i));
        if (other && other->code_row == code_row)
            return true;
    }
    return false;
}

/* The counters as they stand. */
static void read_counters(const struct line_account *account, const struct line_reading *reading,
                          uint64_t since_ticks, struct arena_line *lines)
{
    memset(lines, 0, account->line_count * sizeof *lines);
    for (Py_ssize_t i = 0; reading->arena && i < PyList_Size(account->codes); i++) {
        const struct line_code *function = line_codes_find(PyList_GetItem(account->codes, i));
        if (function && function->code_row && !was_read(account, i, function->code_row))
            add_blocks(account, reading, function->code_row, since_ticks, lines);
    }
}

void line_account_start(struct line_account *account, const struct line_reading *reading)
{
    if (account->counting)
        return;
    account->counting = true;
    account->arena = reading->arena;
    account->since_ticks = reading->now_ticks;
    read_counters(account, reading, UINT64_MAX, account->base);
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* In the child of a fork the recorder's memory is another one, which begins empty. */
static void add_difference(const struct line_account *account, const struct line_reading *reading,
                           struct arena_line *lines)
{
    bool same = account->arena == reading->arena;
    for (uint32_t i = 0; i < account->line_count; i++) {
        const struct arena_line none = {0}, *base = same ? &account->base[i] : &none;
        const struct arena_line *sum = &account->sums[i];
        lines[i].hits = sum->hits + more(lines[i].hits, base->hits);
        lines[i].total_ticks = sum->total_ticks + more(lines[i].total_ticks, base->total_ticks);
        lines[i].self_ticks = sum->self_ticks + more(lines[i].self_ticks, base->self_ticks);
    }
}

const struct arena_line *line_account_read(struct line_account *account, const struct line_reading *reading)
{
    if (!account->counting)
        return account->sums;
    read_counters(account, reading, account->since_ticks, account->room);
    add_difference(account, reading, account->room);
    return account->room;
}

void line_account_settle(struct line_account *account, const struct line_reading *reading)
{
    if (!account->counting)
        return;
    read_counters(account, reading, UINT64_MAX, account->room);
    add_difference(account, reading, account->room);
    memcpy(account->sums, account->room, account->line_count * sizeof *account->sums);
}

void line_account_resume(struct line_account *account, const struct line_reading *reading)
{
    account->arena = reading->arena;
    if (account->counting)
        read_counters(account, reading, UINT64_MAX, account->base);
}

void line_account_stop(struct line_account *account, const struct line_reading *reading)
{
    if (!account->counting)
        return;
    const struct arena_line *lines = line_account_read(account, reading);
    memcpy(account->sums, lines, account->line_count * sizeof *lines);
    account->counting = false;
}
