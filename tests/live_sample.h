/* live_sample: a small program as a recording, with samples to be added second by second. */
#ifndef SONDE_TESTS_LIVE_SAMPLE_H
#define SONDE_TESTS_LIVE_SAMPLE_H

#include <string.h>

#include "store/recording.h"

#define LIVE_SAMPLE_SECOND UINT64_C(1000000000)

enum { LIVE_MAIN = 1, LIVE_WORK, LIVE_DEEP, LIVE_EVALUATOR };         /* codes */
enum { NODE_MAIN = 1, NODE_WORK, NODE_WORK_5, NODE_DEEP, NODE_EVAL }; /* nodes */

static inline uint32_t live_text(struct recording *recording, const char *text)
{
    return strings_intern_text(&recording->strings, text);
}

static inline void live_code(struct recording *recording, const char *name, uint32_t line, uint8_t flags)
{
    struct code code = {.name = live_text(recording, name),
                        .qualname = live_text(recording, name),
                        .file = live_text(recording, "/home/me/project/sim/model.py"),
                        .line = line,
                        .kind = CODE_PYTHON,
                        .flags = flags};
    recording_add_code(recording, &code);
}

static inline void live_node(struct recording *recording, uint32_t parent, uint32_t code, uint32_t line)
{
    recording_add_node(recording, &(struct node){.parent = parent, .code = code, .line = line});
}

/* main → work (lines 4 and 5) → deep → work again; below that the interpreter's own evaluator. */
static inline void live_program(struct recording *recording)
{
    recording_init(recording, NULL);
    live_code(recording, "main", 20, 0);
    live_code(recording, "work", 3, 0);
    live_code(recording, "deep", 10, 0);
    live_code(recording, "_PyEval_EvalFrameDefault", 0, CODE_INTERNAL);
    live_node(recording, 0, LIVE_MAIN, 21);
    live_node(recording, NODE_MAIN, LIVE_WORK, 4);
    live_node(recording, NODE_MAIN, LIVE_WORK, 5);
    live_node(recording, NODE_WORK_5, LIVE_DEEP, 11);
    live_node(recording, NODE_DEEP, LIVE_WORK, 4);
    live_node(recording, NODE_DEEP + 1, LIVE_EVALUATOR, 0);
    struct process process = {
        .pid = 4711, .rank = UINT32_MAX, .python = live_text(recording, "3.12.1"), .exit_code = INT32_MIN};
    recording_add_process(recording, &process);
    recording_add_thread(
        recording, &(struct thread){.process = 1, .name = live_text(recording, "MainThread"), .tid = 4711});
    recording_add_thread(recording,
                         &(struct thread){.process = 1, .name = live_text(recording, "pool"), .tid = 4712});
}

/* `percent` of the second that begins at `second`, as one row for each hundredth. */
static inline void live_samples(struct recording *recording, uint64_t second, unsigned percent,
                                uint32_t thread, uint32_t node, uint8_t state)
{
    for (unsigned i = 0; i < percent; i++) {
        struct sample_row row = {.time_ns = second * LIVE_SAMPLE_SECOND + i * (LIVE_SAMPLE_SECOND / 100),
                                 .weight_ns = LIVE_SAMPLE_SECOND / 100,
                                 .thread = thread,
                                 .node = node,
                                 .count = 1,
                                 .state = state};
        recording_add_sample(recording, &row);
    }
}

#endif
