/*
 * frames: what a stack's frames are called in the formats of sampling profilers: a name, a file and a line.
 *
 * The words are py-spy's: "name (file:line)", the file shortened to its path inside its package. A frame is a
 * function at a line, or with `function` a function at its first line.
 */
#ifndef SONDE_EXPORT_FRAMES_H
#define SONDE_EXPORT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

struct bytes;
struct err;
struct recording;

struct frame_style {
    bool function;       /* a function is one frame, whatever line it is at */
    bool no_lines;       /* the same, and lines are not shown */
    bool full_filenames; /* paths as they were recorded */
    bool exact_names;    /* "f.<locals>.g", as Python and py-spy have it, not "f.g" */
};

/* Whether lines of one function are different frames. */
static inline bool frames_have_lines(const struct frame_style *style)
{
    return !style->function && !style->no_lines;
}

struct frame {
    uint32_t code;
    uint32_t line; /* to be shown; 0 = none */
};

/* The frames of a recording, each once, and its stacks in terms of them. Owns its arrays. */
struct frames {
    struct frame *rows;
    uint32_t count;
    uint32_t *of_node;  /* by node: its frame; node 0 has none */
    uint32_t *stack_of; /* by node: the first node with the same frames up to the root */
    uint32_t node_count;
};

int frames_build(const struct recording *recording, const struct frame_style *style, struct frames *frames,
                 struct err *err);
void frames_clear(struct frames *frames);

void frames_put_name(const struct recording *recording, const struct frame_style *style, uint32_t code,
                     struct bytes *out);
/* "" for what lies in no file. */
const char *frames_file(const struct recording *recording, const struct frame_style *style, uint32_t code);
/* "name (file:line)", "name (file)" or "name". */
void frames_put_text(const struct recording *recording, const struct frame_style *style, uint32_t code,
                     uint32_t line, struct bytes *out);

#endif
