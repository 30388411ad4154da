/*
 * line_account: what the lines of one function counted for one profiler. Counters are shared by all profilers and only
 * grow: an account remembers where they stood when it was started, and adds what came since when it is stopped. The
 * shortest and longest hit are of all that was counted.
 *
 * Functions with the same file, first line and name (compiled again, by a reload or exec) are one account. It owns its
 * arrays, and keeps the code objects alive.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_ACCOUNT_H
#define SONDE_COLLECT_INSIDE_LINE_ACCOUNT_H

#include "collect/inside/interpreter.h"
#include "collect/inside/line_reading.h"

struct line_account {
    PyObject *label; /* (file, first line, name) */
    PyObject *codes; /* list */
    uint32_t first_line, line_count;
    struct arena_line *base, *sums, *room; /* by line: when it was started; before that; to work in */
    struct arena *arena;                   /* that `base` is of */
    uint64_t since_ticks;
    bool counting;
    bool always; /* counts as long as the profiler exists */
};

/* 0, or -1 with an exception; then the account is empty. */
int line_account_init(struct line_account *account, PyObject *label);
void line_account_clear(struct line_account *account);
/* One more code object with this label; again: nothing. 0, or -1 with an exception. */
int line_account_add(struct line_account *account, PyObject *code);

/* Times the code objects from now on, if nobody did so far. */
void line_account_choose(const struct line_account *account);
/* Whether it has the code object. */
bool line_account_has(const struct line_account *account, const PyObject *code);
/* Again: nothing. */
void line_account_start(struct line_account *account, const struct line_reading *reading);
void line_account_stop(struct line_account *account, const struct line_reading *reading);
/* Around a change of what its code objects are counted under: what came before is kept, what comes is counted anew. */
void line_account_settle(struct line_account *account, const struct line_reading *reading);
void line_account_resume(struct line_account *account, const struct line_reading *reading);
/* What it counted so far, `line_count` rows; they are the account's, until the next call. */
const struct arena_line *line_account_read(struct line_account *account, const struct line_reading *reading);

#endif
