/*
 * call_drain: the log of an arena → single calls of the file, and lines of them, each written when it ends.
 *
 * Calls keep within the size that the program was given for them: the first, from half of it on without the short ones
 * (the threshold rises as the rest is used up), or the last (call_keep.h). Whatever is left out is counted. Times come
 * from one clock that never goes back, so that calls lie inside one another whatever is learned of its rate meanwhile.
 */
#ifndef SONDE_COLLECT_RECORDER_CALL_DRAIN_H
#define SONDE_COLLECT_RECORDER_CALL_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/recorder/call_keep.h"

struct arena_view;
struct drain_node;
struct writer;

/* What the arena's drain knows. */
struct call_drain_ids {
    const struct arena_view *view;
    struct writer *writer;
    const struct drain_node *nodes;
    const uint32_t *threads; /* the file's ids */
    uint32_t node_count, thread_count;
};

/* How calls come to be on a stack. */
enum call_drain_how {
    CALL_DRAIN_BEGUN,   /* just now */
    CALL_DRAIN_CARRIED, /* before: in the process that forked, or in another greenlet */
    CALL_DRAIN_FOUND,   /* while the log was full */
};

/* What is not on the timeline, or not whole: of calls, and of lines. */
struct call_drain_counts {
    uint64_t unseen;  /* it began just before words were lost */
    uint64_t cut;     /* it ends where words were lost, or when no more was taken */
    uint64_t thinned; /* too short */
    uint64_t late;    /* it ended when no more was taken */
    uint64_t lost_before_closed;
};

struct call_drain {
    struct call_drain_thread *threads; /* by row: what is open in each */
    uint32_t thread_capacity;
    uint64_t taken;  /* words so far, */
    uint32_t at;     /* and the place of the next */
    bool is_lost;    /* the ring makes no sense any more */
    uint32_t thread; /* whose words come */
    uint64_t ticks;  /* of the word before */
    bool has_time;   /* the next word's is known: */
    uint64_t next_ticks;
    uint8_t how;             /* the next word enters calls: enum call_drain_how */
    struct clock_pair known; /* from which times are reckoned */
    double ns_per_tick;
    uint32_t *path; /* room for one */
    uint32_t path_capacity;
    struct call_keep keep;
    uint64_t thin_ns; /* what is shorter is left out; the longest that it ever was */
    bool is_closed;
    struct call_drain_counts calls, lines;
    uint64_t begun, carried, found; /* calls */
    uint64_t written;
    uint64_t senseless_words;
    bool out_of_memory;
};

/* How far the log reaches. To be asked before nodes are counted: words then name only nodes that are. */
uint64_t call_drain_reach(const struct arena_view *view);
/* Takes the words up to `reach`. True when the ring fills quickly. */
bool call_drain_step(struct call_drain *drain, const struct call_drain_ids *ids,
                     const struct clock_rate *rate, uint64_t reach);
/* The last step: what is open ends. */
void call_drain_finish(struct call_drain *drain, const struct call_drain_ids *ids,
                       const struct clock_rate *rate, uint64_t end_ticks);
void call_drain_clear(struct call_drain *drain);

/* What was left out, in words: calls `say` for each kind that there is. */
typedef void call_drain_say(void *context, uint64_t count, bool is_loss, const char *text);
void call_drain_tell(const struct call_drain *drain, const struct arena_view *view, call_drain_say *say,
                     void *context);

#endif
