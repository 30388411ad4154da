/*
 * rank_stacks: what the ranks of a run are doing, merged from the outermost function inwards: where stacks part, so do
 * the lists of their ranks. That shows which rank is not where the others wait.
 *
 * The dumps are the caller's and must last. A zeroed struct is empty; it owns its array.
 */
#ifndef SONDE_SHOW_RANK_STACKS_H
#define SONDE_SHOW_RANK_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

struct bytes;
struct dump;
struct dump_thread;
struct err;
struct json;
struct terminal;

struct rank_stack {
    uint32_t rank;
    const struct dump *dump;
    const struct dump_thread *thread; /* the main one */
    uint32_t *frames;                 /* labels in `labels`, outermost first; owned */
    size_t frame_count;
};

struct rank_stacks {
    struct rank_stack *items;
    size_t count;
    struct strings labels;
};

/* The stack of the dump's main thread; one without any is a stack without frames. */
int rank_stacks_add(struct rank_stacks *stacks, uint32_t rank, const struct dump *dump, bool full_filenames,
                    struct err *err);
/* Orders them for the two below: those that have most in common lie side by side, the larger group first. */
void rank_stacks_sort(struct rank_stacks *stacks);
void rank_stacks_clear(struct rank_stacks *stacks);

void rank_stacks_put_text(const struct rank_stacks *stacks, const struct terminal *terminal,
                          struct bytes *out);
/* Two keys of an open object: "ranks", each with its process, and "groups" of equal stacks. */
void rank_stacks_put_json(const struct rank_stacks *stacks, struct json *json);

#endif
