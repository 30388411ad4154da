#include "base/rank_list.h"

#include <stdlib.h>

#include "base/bytes.h"

/* A number at `at`; NULL when there is none, else where it ends. */
static const char *read_number(const char *at, uint32_t *number)
{
    char *end;
    if (*at < '0' || *at > '9')
        return NULL;
    unsigned long value = strtoul(at, &end, 10);
    *number = (uint32_t)value;
    return value < UINT32_MAX ? end : NULL;
}

bool rank_list_has(const char *list, uint32_t rank, bool *has)
{
    *has = false;
    for (const char *at = list; at;) {
        uint32_t first, last;
        at = read_number(at, &first);
        last = first;
        if (at && *at == '-')
            at = read_number(at + 1, &last);
        if (!at || last < first || (*at && *at != ','))
            return false;
        *has |= rank >= first && rank <= last;
        at = *at ? at + 1 : NULL;
    }
    return true;
}

void rank_list_put(const uint32_t *ranks, uint32_t count, uint32_t limit, struct bytes *out)
{
    uint32_t parts = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = i;
        while (i + 1 < count && ranks[i + 1] <= ranks[i] + 1)
            i++;
        bytes_put_text(out, parts ? "," : "");
        if (limit && parts == limit) {
            bytes_put_text(out, "...");
            return;
        }
        parts++;
        bytes_putf(out, ranks[first] == ranks[i] ? "%u" : "%u-%u", ranks[first], ranks[i]);
    }
}
