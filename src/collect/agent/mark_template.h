/*
 * mark_template: what the ranges of a mark are called: text with parts in braces that each call fills in.
 *
 *     {function}       name of the function
 *     {class}          class of its first argument, or that argument itself when it is a class
 *     {x}  {x.y}       the argument x of the call, or an attribute of it
 *     {x.y[k]}         an item: by the text k, or by a number
 *     {{  }}           a brace
 *
 * Bytes in, pieces out; the command checks a template by it, and the extension reads it with the same function.
 */
#ifndef SONDE_COLLECT_AGENT_MARK_TEMPLATE_H
#define SONDE_COLLECT_AGENT_MARK_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

enum mark_piece_kind {
    MARK_PIECE_END,
    MARK_PIECE_TEXT, /* as it is */
    MARK_PIECE_FUNCTION,
    MARK_PIECE_CLASS,
    MARK_PIECE_ARGUMENT, /* "x" or "x.y[k].z" */
    MARK_PIECE_WRONG,    /* a brace that does not end, or has no name in it */
};

struct mark_piece {
    enum mark_piece_kind kind;
    const char *text; /* in the template */
    size_t bytes;
};

/* The piece that begins at *at, which is moved behind it. */
struct mark_piece mark_template_next(const char **at);

/* One step of an argument's path: the argument's name at first, then attributes and items. */
struct mark_step {
    bool item;
    const char *name;
    size_t bytes;
};
/* The step that `path` begins with; how many bytes it takes, 0 = it is none. */
size_t mark_template_step(const char *path, size_t bytes, struct mark_step *step);

/* How a row of a marks file travels in a session: function, part of the path ("" = any), kind and name. */
#define MARK_TEMPLATE_SEPARATOR '\x1f'
enum mark_name_kind { MARK_NAME_TEMPLATE = 't', MARK_NAME_CALLABLE = 'c' /* "module:function" */ };

#endif
