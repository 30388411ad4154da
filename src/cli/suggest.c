#include "cli/suggest.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "cli/message.h"
#include "cli/options.h"

#define LONGEST 63

static unsigned minimum(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned suggest_distance(const char *left, const char *right)
{
    size_t left_size = strlen(left), right_size = strlen(right);
    if (left_size > LONGEST || right_size > LONGEST)
        return UINT_MAX;
    /* Three rows are enough: a swap of neighbours looks two rows back. */
    unsigned rows[3][LONGEST + 1];
    for (size_t column = 0; column <= right_size; column++)
        rows[0][column] = (unsigned)column;
    for (size_t row = 1; row <= left_size; row++) {
        unsigned *now = rows[row % 3], *before = rows[(row + 2) % 3], *earlier = rows[(row + 1) % 3];
        now[0] = (unsigned)row;
        for (size_t column = 1; column <= right_size; column++) {
            unsigned differs = left[row - 1] != right[column - 1];
            now[column] = minimum(before[column - 1] + differs, minimum(before[column], now[column - 1]) + 1);
            if (row > 1 && column > 1 && left[row - 1] == right[column - 2] &&
                left[row - 2] == right[column - 1])
                now[column] = minimum(now[column], earlier[column - 2] + 1);
        }
    }
    return rows[left_size % 3][right_size];
}

void suggest_try(struct suggestion *suggestion, const char *candidate)
{
    size_t size = strlen(suggestion->word);
    unsigned limit = size <= 3 ? 1 : size <= 6 ? 2 : 3;
    unsigned distance = suggest_distance(suggestion->word, candidate);
    /* "prof" for "profile": what was typed is a beginning, however much is missing. */
    if (size >= 3 && strncmp(candidate, suggestion->word, size) == 0)
        distance = 1;
    if (distance > limit || distance >= size || (suggestion->nearest && distance >= suggestion->distance))
        return;
    suggestion->nearest = candidate;
    suggestion->distance = distance;
}

int suggest_command(const char *word)
{
    struct suggestion suggestion = {.word = word};
    for (const struct command *const *command = sonde_commands; *command; command++)
        suggest_try(&suggestion, (*command)->name);
    struct err err = {0};
    if (suggestion.nearest)
        err_set(&err, "there is no command '%s'; did you mean '%s'?", word, suggestion.nearest);
    else
        err_set(&err, "there is no command '%s'", word);
    return message_fail_with(&err, "'sonde help' lists the commands");
}
