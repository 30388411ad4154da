#include "step_rule.h"

#include <stdio.h>

static bool same(const struct walk_frame *one, const struct walk_frame *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (one[i].frame != other[i].frame || one[i].code != other[i].code)
            return false;
    return true;
}

static bool may_follow(const struct walk_frame *before, uint32_t count_before, const struct walk_frame *after,
                       uint32_t count_after)
{
    if (count_after == count_before)
        return same(before, after, count_after);
    if (count_after == count_before + 1)
        return same(before, after + 1, count_before);
    return count_after + 1 == count_before && same(before + 1, after, count_after);
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
    bool fits = may_follow(rule->frames[last], rule->count[last], rule->frames[!last], walk->count);
    if (rule->primed && (!fits || walk->count != walk->depth) && !rule->wrong++)
        describe(rule, walk, rule->first_wrong);
    rule->changes += rule->primed && walk->count != rule->count[last];
    rule->count[!last] = walk->count;
    rule->last = !last;
    rule->primed = true;
}

void step_rule_text(const struct step_rule *rule, char *out, size_t size)
{
    uint64_t rejected = 0;
    for (int i = 0; i < WALK_REASONS; i++)
        rejected += rule->rejected[i];
    int used = snprintf(
        out, size, "steps %llu accepted %llu empty %llu changes %llu wrong %llu rejected %llu",
        (unsigned long long)rule->steps, (unsigned long long)rule->accepted, (unsigned long long)rule->empty,
        (unsigned long long)rule->changes, (unsigned long long)rule->wrong, (unsigned long long)rejected);
    for (int i = 0; i < WALK_REASONS && used < (int)size; i++)
        if (rule->rejected[i])
            used += snprintf(out + used, size - used, "; %s: %llu, first in %s",
                             walk_reason_text((enum walk_reason)i), (unsigned long long)rule->rejected[i],
                             rule->first_rejected[i]);
    if (rule->wrong && used < (int)size)
        snprintf(out + used, size - used, "; %s", rule->first_wrong);
}
