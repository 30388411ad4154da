/*
 * request: what the page asks, a flat JSON object such as {"ask": "stacks", "view": "bottom-up", "thread": 3}.
 * Fields that a request leaves out are 0, false or empty; fields that nobody knows are passed over, so that an old
 * program can serve a newer page. Untrusted: sizes and numbers are checked here.
 */
#ifndef SONDE_QUERY_REQUEST_H
#define SONDE_QUERY_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyse/chosen.h"
#include "analyse/tree.h"

struct err;

#define REQUEST_TEXT_BYTES    512
#define REQUEST_MODULES_BYTES 4096

/* A set of functions: bit `code % 8` of bits[code / 8]. In JSON two hexadecimal digits for each byte. Owned. */
struct request_set {
    uint8_t *bits;
    uint32_t size_bytes;
};

struct request {
    char ask[32];
    char view[32];
    char text[REQUEST_TEXT_BYTES];
    uint32_t recording;      /* which of the opened ones, from 0 */
    uint32_t other;          /* to compare with */
    uint32_t code;           /* the chosen function */
    uint32_t file;           /* the chosen file, a string of the recording */
    uint32_t counter;        /* the chosen counter */
    uint32_t columns;        /* width of the picture in pixels */
    uint32_t limit;          /* at most so many; 0 = all */
    uint32_t first;          /* from this row on */
    uint64_t from_ns, to_ns; /* the window of the picture; 0 = all */
    double node_share, edge_share;
    bool by_self;
    bool falling;                         /* the largest first */
    bool fold;                            /* recursion */
    bool by_name;                         /* children lie in the order of their names, not of their times */
    bool threads;                         /* the thread that each stack is mostly of, too */
    bool own;                             /* without the frames of libraries */
    char region[REQUEST_TEXT_BYTES];      /* only what was seen in threads that were in it: a name */
    char modules[REQUEST_MODULES_BYTES];  /* only stacks that pass through these: names, a line for each */
    char ranks[REQUEST_TEXT_BYTES];       /* only these ranks: a list such as 0,7,100-115 */
    char other_ranks[REQUEST_TEXT_BYTES]; /* those to compare with */
    struct request_set marks;             /* what a search has found */
    char measure[32]; /* a name that analyse/measure.h knows; request_read makes it the selection's */
    struct selection selection;
};

/* Clear it in the end, also after a failure. */
int request_read(const char *json, size_t size, struct request *request, struct err *err);
void request_clear(struct request *request);

/* Which part of the recording is asked about, but for the selection. Borrowed. */
static inline struct chosen_by request_choice(const struct request *request)
{
    return (struct chosen_by){
        .modules = request->modules, .region = request->region, .ranks = request->ranks, .own = request->own};
}

#endif
