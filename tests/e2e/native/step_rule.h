/*
 * step_rule: while a program is stepped instruction by instruction, two stacks that follow each other may
 * differ by one frame pushed or popped, and by nothing else; of stacks that were cut off at `capacity` frames
 * then one frame comes or goes at the other end. Counts what was accepted, rejected and wrong.
 */
#ifndef SONDE_TESTS_STEP_RULE_H
#define SONDE_TESTS_STEP_RULE_H

#include "python/walk.h"

enum { STEP_RULE_FRAMES = 2048, STEP_RULE_TEXT = 512 };

struct step_rule {
    uint32_t capacity; /* frames that a walk may give, at most STEP_RULE_FRAMES */
    uint64_t steps;
    uint64_t accepted;
    uint64_t empty;
    uint64_t rejected[WALK_REASONS];
    uint64_t wrong;
    uint64_t changes;
    uint64_t cuts;                    /* accepted stacks that were cut off */
    char first_wrong[STEP_RULE_TEXT]; /* the first wrong step, in words */
    char first_rejected[WALK_REASONS][STEP_RULE_TEXT];
    uint32_t count[2];
    struct walk_frame frames[2][STEP_RULE_FRAMES];
    bool cut[2];   /* there were more */
    unsigned last; /* which of the two is the last accepted */
    bool primed;
};

/* Where to walk to for the next step. */
static inline struct walk_frame *step_rule_space(struct step_rule *rule)
{
    return rule->frames[!rule->last];
}

void step_rule_take(struct step_rule *rule, const struct walk *walk);
/* "steps N accepted N empty N changes N cut N wrong N rejected N; reason: N ..." and the first wrong step. */
void step_rule_text(const struct step_rule *rule, char *out, size_t size);

#endif
