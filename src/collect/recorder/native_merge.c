#include "collect/recorder/native_merge.h"

/* What is left to be placed, from the innermost frames on. */
struct merge {
    const struct native_merge_stacks *stacks;
    struct native_merge_frame *frames;
    size_t count;
    size_t python; /* the next Python frame */
};

/* A piece belongs to the evaluator that called it; one that nobody seems to have called stands for its evaluator. */
static bool is_evaluator(const struct native_merge_stacks *stacks, size_t index)
{
    if (stacks->native[index] == NATIVE_MERGE_EVALUATOR)
        return true;
    if (stacks->native[index] != NATIVE_MERGE_PIECE)
        return false;
    uint8_t caller = index + 1 < stacks->native_count ? stacks->native[index + 1] : NATIVE_MERGE_PLAIN;
    return caller == NATIVE_MERGE_PLAIN || caller == NATIVE_MERGE_ENTRANCE;
}

static size_t count_evaluators(const struct native_merge_stacks *stacks)
{
    size_t count = 0;
    for (size_t index = 0; index < stacks->native_count; index++)
        count += is_evaluator(stacks, index);
    return count;
}

/* A stack that was cut off has no outermost entry; frames without one in a whole stack are no evaluator's. */
static size_t count_runs(const struct native_merge_stacks *stacks)
{
    size_t count = 0;
    for (size_t index = 0; index < stacks->python_count; index++)
        count += stacks->python[index] || (index + 1 == stacks->python_count && !stacks->python_is_whole);
    return count;
}

static void put(struct merge *merge, size_t index, bool is_python)
{
    merge->frames[merge->count++] = (struct native_merge_frame){(uint32_t)index, is_python};
}

static void put_run(struct merge *merge)
{
    bool entry = false;
    while (!entry && merge->python < merge->stacks->python_count) {
        entry = merge->stacks->python[merge->python];
        put(merge, merge->python++, true);
    }
}

/* One frame that no evaluator runs: what others say of a thread outside Python, such as that it collects garbage. The
 * native frames tell where; it has no place among them. */
static bool is_said_only(const struct native_merge_stacks *stacks)
{
    return stacks->python_count == 1 && !stacks->python[0] && stacks->python_is_whole;
}

size_t native_merge(const struct native_merge_stacks *stacks, struct native_merge_frame *frames, bool *agrees)
{
    struct merge merge = {.stacks = stacks, .frames = frames};
    size_t evaluators = count_evaluators(stacks), runs = count_runs(stacks);
    /* Where both roots are sure, an evaluator too many is the innermost, which has not linked its frame yet or has
     * unlinked it already, and runs too many are the innermost, whose evaluators were not recognised. Else the
     * innermost ends are what is sure. */
    bool whole = stacks->native_is_whole && stacks->python_is_whole;
    size_t idle = whole && evaluators > runs ? evaluators - runs : 0;
    size_t early = whole && runs > evaluators ? runs - evaluators : 0;
    bool entering = early == 1 && stacks->native_count && stacks->native[0] == NATIVE_MERGE_ENTRANCE;
    *agrees = evaluators == runs || idle == 1 || entering;
    for (; early; early--)
        put_run(&merge);
    if (stacks->native_count && is_said_only(stacks))
        merge.python = stacks->python_count;
    for (size_t index = 0; index < stacks->native_count; index++) {
        bool evaluator = is_evaluator(stacks, index);
        if (!evaluator && stacks->native[index] == NATIVE_MERGE_PIECE)
            continue;
        if (evaluator && !idle && merge.python < stacks->python_count) {
            put_run(&merge);
            continue;
        }
        idle -= evaluator && idle;
        put(&merge, index, false);
    }
    while (merge.python < stacks->python_count)
        put_run(&merge);
    return merge.count;
}
