#include "analyse/rank_stories.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/own_code.h"
#include "analyse/rank_sums.h"
#include "base/err.h"

#define CANDIDATES_MAX  200
#define GROUPS_MAX      40
#define PARTS_MAX       8
#define SLACK           0.05 /* of the mean: what clocks may be wrong by */
#define ALIKE           0.9  /* correlation */
#define MANY            0.1  /* of the ranks */
#define SAMPLES_CERTAIN 10   /* where so many are expected, none at all is no chance: e^-10 */
#define LIBRARIES_ALONE 2    /* told where nothing else is; more would be one import by other names */

struct candidate {
    uint32_t code;
    struct rank_stats stats;
    bool is_told;
};

struct search {
    const struct rank_table *table;
    struct candidate *rows; /* by imbalance, the largest first */
    uint32_t count;
    double *spread; /* of row i from i · ranks on: what each rank has above the mean */
};

/* What one sample stands for; 0 = it was not sampled. */
static double sample_weight(const struct rank_table *table)
{
    uint64_t amount = 0, samples = 0;
    for (uint32_t i = 0; i < table->rank_count; i++) {
        amount += table->ranks[i].amount;
        samples += table->ranks[i].samples;
    }
    return table->sampled && !measure_is_memory(table->measure) && samples ? (double)amount / (double)samples
                                                                           : 0;
}

double rank_stories_noise(const struct rank_table *table, double mean)
{
    double weight = sample_weight(table);
    if (weight <= 0)
        return 0;
    double expected = mean > weight ? mean / weight : 1;
    return weight * sqrt(expected) * (sqrt(2 * log(table->rank_count)) + 2);
}

/* Everything is below the program's own: the run as a whole is told apart from its functions. */
static bool is_module_body(const struct recording *names, uint32_t code)
{
    return strcmp(recording_text(names, names->codes[code].name), "<module>") == 0;
}

static int compare(const void *one, const void *other)
{
    const struct candidate *a = one, *b = other;
    if (a->stats.imbalance != b->stats.imbalance)
        return a->stats.imbalance > b->stats.imbalance ? -1 : 1;
    return a->code < b->code ? -1 : a->code > b->code;
}

static int find_candidates(struct search *search, double busiest, struct err *err)
{
    const struct rank_table *table = search->table;
    search->rows = malloc(((size_t)table->names.codes_count + 1) * sizeof *search->rows);
    if (!search->rows)
        return err_set(err, "not enough memory for the findings");
    for (uint32_t code = 1; code < table->names.codes_count; code++) {
        struct candidate row = {.code = code,
                                .stats = rank_stats_of(table, &table->functions[code], RANK_USEFUL)};
        if (!is_module_body(&table->names, code) && !rank_sums_is_mpi(&table->names, code) &&
            row.stats.imbalance > 0 && row.stats.imbalance >= RANK_STORIES_SHARE * busiest &&
            row.stats.imbalance_share >= RANK_STORIES_IMBALANCE &&
            row.stats.imbalance > rank_stories_noise(table, row.stats.mean))
            search->rows[search->count++] = row;
    }
    qsort(search->rows, search->count, sizeof *search->rows, compare);
    if (search->count > CANDIDATES_MAX)
        search->count = CANDIDATES_MAX;
    return 0;
}

static int spread_out(struct search *search, struct err *err)
{
    uint32_t ranks = search->table->rank_count;
    search->spread = malloc(((size_t)search->count * ranks + 1) * sizeof *search->spread);
    if (!search->spread)
        return err_set(err, "not enough memory for the findings");
    for (uint32_t i = 0; i < search->count; i++) {
        const struct rank_cells *cells = &search->table->functions[search->rows[i].code];
        double *spread = &search->spread[(size_t)i * ranks];
        for (uint32_t rank = 0; rank < ranks; rank++)
            spread[rank] = -search->rows[i].stats.mean;
        for (uint32_t j = 0; j < cells->count; j++)
            spread[cells->rows[j].rank] += rank_stats_value(&cells->rows[j], RANK_USEFUL);
    }
    return 0;
}

static bool is_like(const struct search *search, uint32_t one, uint32_t other)
{
    uint32_t ranks = search->table->rank_count;
    const double *a = &search->spread[(size_t)one * ranks], *b = &search->spread[(size_t)other * ranks];
    double difference = 0, whole = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        whole += a[i] * a[i];
    }
    return difference <= RANK_STORIES_LIKE * whole;
}

/* Comprehensions are no names that say much. */
static bool is_own(const struct recording *names, uint32_t code)
{
    const struct code *row = &names->codes[code];
    return row->kind == CODE_PYTHON && !own_code_is_library(names, row) &&
           recording_text(names, row->name)[0] != '<';
}

static bool is_better(const struct search *search, uint32_t one, uint32_t than)
{
    const struct recording *names = &search->table->names;
    bool own = is_own(names, search->rows[one].code), than_own = is_own(names, search->rows[than].code);
    if (own != than_own)
        return own;
    return search->rows[one].stats.sum < search->rows[than].stats.sum;
}

/* Marks all that tell the same as row `first`, and gives the one to be named. */
static uint32_t gather(struct search *search, uint32_t first)
{
    uint32_t named = first;
    for (uint32_t i = first; i < search->count; i++) {
        if (search->rows[i].is_told || !is_like(search, first, i))
            continue;
        search->rows[i].is_told = true;
        if (is_better(search, i, named))
            named = i;
    }
    return named;
}

/* Where many do nothing, that is what is to be told, whatever the others have. */
static bool is_absence(const struct rank_table *table, const struct rank_stats *stats)
{
    double weight = sample_weight(table);
    double mean_present = stats->sum / stats->present;
    uint32_t absent = table->rank_count - stats->present;
    if (!absent || (weight > 0 && mean_present < SAMPLES_CERTAIN * weight))
        return false;
    return absent >= MANY * table->rank_count || mean_present - stats->mean >= stats->imbalance / 2;
}

/* One story that is left, or was told: the row that is named. */
struct group {
    uint32_t named;
    bool is_own;
};

static const double *spread_of(const struct search *search, uint32_t row)
{
    return &search->spread[(size_t)row * search->table->rank_count];
}

static double product(const double *a, const double *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Functions that may be the parts of another one. */
struct parts {
    uint32_t rows[PARTS_MAX];
    uint32_t count;
};

static struct parts inner_of(const struct search *search, const struct group *groups, uint32_t count,
                             uint32_t at)
{
    struct parts parts = {0};
    for (uint32_t i = 0; i < count && parts.count < PARTS_MAX; i++)
        if (groups[i].is_own &&
            search->rows[groups[i].named].stats.sum < search->rows[groups[at].named].stats.sum)
            parts.rows[parts.count++] = groups[i].named;
    return parts;
}

/* Adds a row's amounts (which are its mean and its spread) to those of `rest`, or takes them away. */
static void add_amounts(const struct search *search, uint32_t row, double sign, double *rest)
{
    const double *spread = spread_of(search, row);
    for (uint32_t i = 0; i < search->table->rank_count; i++)
        rest[i] += sign * (spread[i] + search->rows[row].stats.mean);
}

/* Whether what is left is no less than nothing on any rank, as it must be of parts, and spread alike. */
static bool is_even(const double *rest, uint32_t count, const struct rank_stats *whole)
{
    struct rank_stats stats = rank_stats_of_reals(rest, count);
    return stats.min >= -SLACK * whole->mean &&
           stats.deviation * stats.deviation <= RANK_STORIES_LIKE * whole->deviation * whole->deviation;
}

/* Whether some functions of the user's own that take less tell all of it between them: tries all sets of them, each of
 * which differs from the one before by a single function. */
static bool is_sum(const struct search *search, const struct group *groups, uint32_t count, uint32_t at,
                   double *rest)
{
    struct parts parts = inner_of(search, groups, count, at);
    uint32_t taken = 0;
    memset(rest, 0, search->table->rank_count * sizeof *rest);
    add_amounts(search, groups[at].named, 1, rest);
    for (uint32_t set = 1; set < 1u << parts.count; set++) {
        uint32_t changed = (uint32_t)__builtin_ctz(set);
        bool was_taken = taken & 1u << changed;
        add_amounts(search, parts.rows[changed], was_taken ? 1 : -1, rest);
        taken ^= 1u << changed;
        if (is_even(rest, search->table->rank_count, &search->rows[groups[at].named].stats))
            return true;
    }
    return false;
}

/* Whether it is of a library, and goes with a function of the user's own. */
static bool is_part(const struct search *search, const struct group *groups, uint32_t count, uint32_t at)
{
    uint32_t ranks = search->table->rank_count;
    const double *spread = spread_of(search, groups[at].named);
    double square = product(spread, spread, ranks);
    for (uint32_t i = 0; i < count && !groups[at].is_own; i++) {
        const double *other = spread_of(search, groups[i].named);
        double both = product(spread, other, ranks), other_square = product(other, other, ranks);
        if (groups[i].is_own && both > 0 && both * both >= ALIKE * ALIKE * square * other_square)
            return true;
    }
    return false;
}

static uint32_t find_groups(struct search *search, struct group *groups)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < search->count && count < GROUPS_MAX; i++) {
        if (search->rows[i].is_told)
            continue;
        uint32_t named = gather(search, i);
        groups[count++] =
            (struct group){.named = named, .is_own = is_own(&search->table->names, search->rows[named].code)};
    }
    return count;
}

static int compare_stories(const void *one, const void *other)
{
    const struct rank_story *a = one, *b = other;
    if (a->stats.imbalance != b->stats.imbalance)
        return a->stats.imbalance > b->stats.imbalance ? -1 : 1;
    return a->code < b->code ? -1 : a->code > b->code;
}

/* The user's own, or those of libraries. */
static void tell_some(const struct search *search, const struct group *groups, uint32_t count, bool own,
                      double *rest, uint32_t most, struct rank_stories *stories)
{
    for (uint32_t i = 0; i < count && stories->count < most; i++) {
        const struct candidate *row = &search->rows[groups[i].named];
        if (groups[i].is_own != own || is_sum(search, groups, count, i, rest) ||
            is_part(search, groups, count, i))
            continue;
        stories->rows[stories->count++] = (struct rank_story){
            .code = row->code, .stats = row->stats, .is_absence = is_absence(search->table, &row->stats)};
    }
}

static int tell(struct search *search, struct rank_stories *stories, struct err *err)
{
    struct group groups[GROUPS_MAX];
    uint32_t count = find_groups(search, groups);
    double *rest = malloc(search->table->rank_count * sizeof *rest);
    if (!rest)
        return err_set(err, "not enough memory for the findings");
    tell_some(search, groups, count, true, rest, RANK_STORIES_MAX, stories);
    uint32_t most = stories->count + (stories->count ? 1 : LIBRARIES_ALONE);
    tell_some(search, groups, count, false, rest, most < RANK_STORIES_MAX ? most : RANK_STORIES_MAX, stories);
    free(rest);
    qsort(stories->rows, stories->count, sizeof *stories->rows, compare_stories);
    return 0;
}

int rank_stories_find(const struct rank_table *table, double busiest, struct rank_stories *stories,
                      struct err *err)
{
    struct search search = {.table = table};
    *stories = (struct rank_stories){0};
    int result = table->rank_count < 2 ? 0 : find_candidates(&search, busiest, err);
    if (result == 0 && search.count)
        result = spread_out(&search, err);
    if (result == 0 && search.count)
        result = tell(&search, stories, err);
    free(search.rows);
    free(search.spread);
    return result;
}
