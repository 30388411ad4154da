/*
 * heap_paths: the threads and stacks of a heap area as those of the file, each written when it is first asked for. Stacks that
 * differ in an instruction but not in a line are one; Python and native frames become one stack. The area is not trusted:
 * rows that make no sense have no number.
 */
#ifndef SONDE_COLLECT_RECORDER_HEAP_PATHS_H
#define SONDE_COLLECT_RECORDER_HEAP_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/agent/heap_area.h"
#include "collect/recorder/code_names.h"
#include "collect/recorder/heap_drain.h"
#include "store/writer.h"

#define HEAP_PATHS_NONE UINT32_MAX

struct heap_paths {
    struct heap_area_view view;
    struct writer *writer;
    uint32_t process;
    struct code_names code_names;
    struct clock_rate rate;
    uint32_t threads[HEAP_AREA_THREADS]; /* the file's ids by row; 0 = not yet */
    uint32_t *nodes;                     /* the file's ids by row, plus 1; 0 = not yet */
    enum writer_collector collector;     /* whose threads these are */
    bool by_function;                    /* stacks have no lines */
    struct heap_paths_merging *merging;  /* NULL = no native stacks */
    heap_drain_find *find;
    void *find_context;
};

/* False when memory ran out; to be cleared all the same. */
bool heap_paths_init(struct heap_paths *paths, const struct heap_area_view *view,
                     enum writer_collector collector, struct writer *writer, uint32_t process);
void heap_paths_clear(struct heap_paths *paths);
/* See heap_drain_set_native. */
void heap_paths_set_native(struct heap_paths *paths, heap_drain_find *find, void *context);
/* To be called at each step: what the clock and the interpreter are known to be by now. */
void heap_paths_refresh(struct heap_paths *paths, const struct clock_rate *rate);

/* The file's thread; 0 when there is no such thread. */
uint32_t heap_paths_thread(struct heap_paths *paths, uint32_t row);
/* The file's node; HEAP_PATHS_NONE when the rows make no sense. Parents come before their children. */
uint32_t heap_paths_node(struct heap_paths *paths, uint32_t row);
/* All that were written have ended, by `end_ticks` if nothing is known of it. */
void heap_paths_end_threads(struct heap_paths *paths, uint64_t end_ticks);

#endif
