#include "export/otf2_ranks.h"

#include <stdlib.h>

#include "base/err.h"
#include "store/recording.h"

static int by_place(const void *a, const void *b)
{
    const struct otf2_member *left = a, *right = b;
    if (left->group != right->group)
        return left->group < right->group ? -1 : 1;
    if (left->place != right->place)
        return left->place < right->place ? -1 : 1;
    return left->rank < right->rank ? -1 : left->rank > right->rank;
}

static bool list(struct otf2_ranks *ranks, const struct recording *recording, struct map *keys)
{
    for (uint32_t i = 1; i < recording->communicators_count; i++) {
        const struct communicator *row = &recording->communicators[i];
        uint32_t group = map_get(keys, row->key);
        if (group == MAP_NONE) {
            group = ranks->groups++;
            ranks->names[group] = row->name;
            if (!map_set(keys, row->key, group))
                return false;
        }
        ranks->group_of[i] = group;
        if (recording->processes[row->process].rank != UINT32_MAX)
            ranks->members[ranks->count++] =
                (struct otf2_member){group, row->rank, recording->processes[row->process].rank};
    }
    return true;
}

/* Places become dense, and each rank is in a group once. */
static bool number(struct otf2_ranks *ranks)
{
    uint32_t kept = 0, place = 0;
    for (uint32_t i = 0; i < ranks->count; i++) {
        struct otf2_member member = ranks->members[i];
        uint64_t key = map_pair(member.group, member.rank);
        place = kept && ranks->members[kept - 1].group == member.group ? place : 0;
        if (map_get(&ranks->numbers, key) != MAP_NONE)
            continue;
        if (!map_set(&ranks->numbers, key, place))
            return false;
        member.place = place++;
        ranks->members[kept++] = member;
    }
    ranks->count = kept;
    return true;
}

int otf2_ranks_init(struct otf2_ranks *ranks, const struct recording *recording, struct err *err)
{
    struct map keys = {0};
    size_t count = (size_t)recording->communicators_count + 1;
    *ranks = (struct otf2_ranks){.members = calloc(count, sizeof *ranks->members),
                                 .group_of = calloc(count, sizeof *ranks->group_of),
                                 .names = calloc(count, sizeof *ranks->names)};
    bool whole = ranks->members && ranks->group_of && ranks->names && list(ranks, recording, &keys);
    map_clear(&keys);
    if (whole && ranks->count)
        qsort(ranks->members, ranks->count, sizeof *ranks->members, by_place);
    if (whole && number(ranks))
        return 0;
    otf2_ranks_clear(ranks);
    return err_set(err, "not enough memory for %u communicators", recording->communicators_count);
}

void otf2_ranks_clear(struct otf2_ranks *ranks)
{
    free(ranks->members);
    free(ranks->group_of);
    free(ranks->names);
    map_clear(&ranks->numbers);
    *ranks = (struct otf2_ranks){0};
}

uint32_t otf2_ranks_number(const struct otf2_ranks *ranks, uint32_t communicator, uint32_t rank)
{
    return communicator ? map_get(&ranks->numbers, map_pair(ranks->group_of[communicator], rank))
                        : UINT32_MAX;
}
