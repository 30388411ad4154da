/* suggest: "did you mean": the candidate nearest to a mistyped word. */
#ifndef SONDE_CLI_SUGGEST_H
#define SONDE_CLI_SUGGEST_H

/* Insertions, deletions, replacements and swaps of neighbours that turn one into the other; words longer than
 * 63 characters are as far as can be. */
unsigned suggest_distance(const char *left, const char *right);

/* Keeps the nearest candidate so far; start from {.word = typed}. */
struct suggestion {
    const char *word;
    const char *nearest; /* borrowed; NULL = nothing is near enough to be worth saying */
    unsigned distance;   /* of `nearest` */
};
void suggest_try(struct suggestion *suggestion, const char *candidate);

/* Says that there is no such command and which one may have been meant; returns the exit code. */
int suggest_command(const char *word);

#endif
