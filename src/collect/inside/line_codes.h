/*
 * line_codes: what is known of each code object that was met, kept with the object itself (code_notes.h); and the blocks
 * of rows in the arena where the lines of chosen ones are counted. The same function compiled again has the block of the
 * first.
 */
#ifndef SONDE_COLLECT_INSIDE_LINE_CODES_H
#define SONDE_COLLECT_INSIDE_LINE_CODES_H

#include "collect/inside/code_notes.h"
#include "collect/inside/interpreter.h"
#include "collect/inside/trace.h"

struct line_thread;

enum line_choice {
    LINE_OTHER,  /* does not concern us */
    LINE_CALLEE, /* has been called by a chosen function's line */
    LINE_CHOSEN,
};

#define LINE_CODES_PLACES      8
#define LINE_CODES_QUIET       8
#define LINE_CODES_ENTRY_BYTES 10

struct line_code {
    uint64_t code; /* address of the object; 0 = it is gone */
    enum line_choice choice;
    uint32_t code_row; /* in the arena; 0 = it was not called yet */
    uint32_t first_line, line_count;
    uint64_t targets;           /* bit i: the session's target i means it */
    uint32_t block;             /* in the arena, when all threads share it; 0 = none */
    struct line_thread *thread; /* the one whose stack `innermost` is about */
    uint32_t innermost;         /* place of the innermost call in that stack, from 1 */
    bool is_gate;               /* line_clock_gate is told of its calls */
    uint32_t open;              /* calls that are going on, in all threads */
    bool is_generator;          /* or a coroutine: it may go on in the middle of a line */
    bool is_comprehension; /* before 3.12: a function of its own that a reader takes for a part of its line */
    PyObject *probed;      /* before 3.12: a copy of the code that tells of its lines (line_probes.h) */
    uint32_t slots;        /* what a frame of it needs */
    uint32_t quiet_lines[LINE_CODES_QUIET]; /* 3.9 (probe_plan.h); as many as there is room for */
    uint32_t quiet_count;
    bool is_unfit; /* there can be no copy */
    bool has_room; /* frames are made for it */
    /* 3.11: the beginning of its code has been overwritten (line_entry.h) */
    uint32_t entry_at, entry_size; /* bytes; size 0 = it is as it was */
    uint8_t entry_before[LINE_CODES_ENTRY_BYTES];
    int16_t warmup_before;
    int32_t traceable_before;
    bool is_silent;  /* it cannot be */
    bool comes_back; /* frames may come back there (probe_plan.h) */
    PyObject *constants_before;
    uint32_t arrival; /* where its calls come into the copy: a unit */
    struct {
        uint32_t offset, line;
    } places[LINE_CODES_PLACES]; /* lines of instructions where a generator went on lately */
    struct line_code *next;
};

/* 0, or -1 with words. `trace` lends its tables of functions and texts. */
int line_codes_init(struct trace *trace, char *why, size_t why_bytes);

extern Py_ssize_t line_codes_index; /* of what is known, among the notes of a code object */
/* Told before and after a code object gets a row in the arena: it may be that of an older one, where lines were counted
 * already. NULL = nobody. */
extern void (*line_codes_naming)(const struct line_code *function, bool done);

/* What is known of a code object; NULL = it was never met. */
static inline struct line_code *line_codes_find(PyObject *code)
{
    return code_notes_find(code, line_codes_index);
}
/* From now on it is known as this; a chosen one stays chosen. NULL when memory ran out. Called without an exception. */
struct line_code *line_codes_set(PyObject *code, enum line_choice choice);
/* A copy of the function's code is known as the function, too. False when memory ran out. */
bool line_codes_lend(PyObject *copy, struct line_code *function);
/* What all are known as that have been looked at and do not concern us. They can be forgotten: then each is stale, and
 * is to be looked at again. */
extern struct line_code *line_codes_other;
void line_codes_forget_others(void);
bool line_codes_is_stale(const struct line_code *function);
/* All that are known as something else than LINE_OTHER. */
struct line_code *line_codes_first(void);
/* From now on none is chosen, and no call of one is going on. */
void line_codes_end(void);

/* Finds names and lines of a function that runs for the first time. False when there is no room. */
bool line_codes_describe(struct line_code *function);
/* The block of a chosen function, made at its first call; that of a thread (row in the arena)
 * where each has blocks of its own, else `thread` is 0. 0 when there is no room, or it is not described. */
uint32_t line_codes_block(struct line_code *function, uint32_t thread);
/* Whether it is a comprehension or generator expression; not all are functions of their own in all versions. */
bool line_codes_is_comprehension(PyObject *code);
/* The line of an instruction of `code`, which is always the same: the function's own, or its copy. */
uint32_t line_codes_line(struct line_code *function, PyObject *code, uint32_t offset);
/* The first and last line that code has; false when it has none. */
bool line_codes_span(PyObject *code, uint32_t *first, uint32_t *last);

#endif
