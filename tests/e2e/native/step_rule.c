#include "step_rule.h"

#include <stdio.h>

static bool same(const struct walk_frame *one, const struct walk_frame *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (one[i].frame != other[i].frame || one[i].code != other[i].code)
            return false;
    return true;
}

/* Whether the second stack is the first with one frame more on top. */
static bool is_pushed(const struct step_rule *rule, unsigned one, unsigned other)
{
    uint32_t below = rule->count[other] - 1;
    if (!rule->count[other] || !same(rule->frames[one], rule->frames[other] + 1, below))
        return false;
    return rule->count[one] == below || (rule->cut[other] && rule->count[one] == rule->capacity);
}

static bool may_follow(const struct step_rule *rule, unsigned before, unsigned after)
{
    bool equal = rule->count[before] == rule->count[after] &&
                 same(rule->frames[before], rule->frames[after], rule->count[after]);
    return equal || is_pushed(rule, before, after) || is_pushed(rule, after, before);
}

static void describe(const struct step_rule *rule, const struct walk *walk, char out[STEP_RULE_TEXT])
{
    const struct walk_frame *before = rule->frames[rule->last], *after = rule->frames[!rule->last];
    int used =
        snprintf(out, STEP_RULE_TEXT, "step %llu, %s, %u frames after %u:", (unsigned long long)rule->steps,
                 walk_reason_text(walk->reason), walk->count, rule->count[rule->last]);
    for (uint32_t i = 0; i < 5 && used < STEP_RULE_TEXT - 100; i++) {
        struct walk_frame now = i < walk->count ? after[i] : (struct walk_frame){0};
        used += snprintf(out + used, STEP_RULE_TEXT - used, " %llx/%llx->%llx/%llx",
                         (unsigned long long)before[i].frame, (unsigned long long)before[i].code,
                         (unsigned long long)now.frame, (unsigned long long)now.code);
    }
}

void step_rule_take(struct step_rule *rule, const struct walk *walk)
{
    rule->steps++;
    if (walk->status == WALK_REJECTED && !rule->rejected[walk->reason]++)
        describe(rule, walk, rule->first_rejected[walk->reason]);
    else if (walk->status == WALK_EMPTY)
        rule->empty++;
    if (walk->status != WALK_OK)
        return;
    rule->accepted++;
    unsigned last = rule->last;
    uint64_t leaf = rule->frames[last][0].frame;
    rule->count[!last] = walk->count;
    rule->cut[!last] = walk->depth > walk->count;
    rule->cuts += rule->cut[!last];
    bool fits = may_follow(rule, last, !last) && (!rule->cut[!last] || walk->count == rule->capacity);
    if (rule->primed && !fits && !rule->wrong++)
        describe(rule, walk, rule->first_wrong);
    rule->changes += rule->primed && leaf != rule->frames[!last][0].frame;
    rule->last = !last;
    rule->primed = true;
}

void step_rule_text(const struct step_rule *rule, char *out, size_t size)
{
    uint64_t rejected = 0;
    for (int i = 0; i < WALK_REASONS; i++)
        rejected += rule->rejected[i];
    int used = snprintf(
        out, size, "steps %llu accepted %llu empty %llu changes %llu cut %llu wrong %llu rejected %llu",
        (unsigned long long)rule->steps, (unsigned long long)rule->accepted, (unsigned long long)rule->empty,
        (unsigned long long)rule->changes, (unsigned long long)rule->cuts, (unsigned long long)rule->wrong,
        (unsigned long long)rejected);
    for (int i = 0; i < WALK_REASONS && used < (int)size; i++)
        if (rule->rejected[i])
            used += snprintf(out + used, size - used, "; %s: %llu, first in %s",
                             walk_reason_text((enum walk_reason)i), (unsigned long long)rule->rejected[i],
                             rule->first_rejected[i]);
    if (rule->wrong && used < (int)size)
        snprintf(out + used, size - used, "; %s", rule->first_wrong);
}
