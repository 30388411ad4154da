#include "analyse/rank_findings.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyse/labels.h"
#include "analyse/rank_stories.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/rank_list.h"

#define PARTS_MAX 6   /* numbers and ranges in a list of ranks */
#define UNEVEN    1.5 /* times the mean: then the most is told, too */
#define EQUAL_SHARE                                                                                          \
    0.05 /* the busiest rank does so much more than the mean, and they are still called equal */

struct telling {
    const struct rank_table *table;
    const struct rank_efficiency *efficiency;
    struct findings *findings;
    uint32_t *ranks; /* room for the numbers of all */
};

static struct quantity amount(const struct telling *telling, double value)
{
    return measure_quantity(telling->table->measure, value > 0 ? (uint64_t)(value + 0.5) : 0);
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- functions ---- */

static void put_name(const struct telling *telling, uint32_t code, struct bytes *out)
{
    labels_words(&telling->table->names, code, out);
}

static uint32_t list_absent(const struct telling *telling, const struct rank_cells *cells)
{
    uint32_t count = 0, next = 0;
    for (uint32_t i = 0; i < telling->table->rank_count; i++) {
        if (next < cells->count && cells->rows[next].rank == i)
            next++;
        else
            telling->ranks[count++] = telling->table->ranks[i].number;
    }
    return count;
}

static void put_list(const struct telling *telling, uint32_t count, struct bytes *out)
{
    bytes_put_text(out, " (");
    rank_list_put(telling->ranks, count, PARTS_MAX, out);
    bytes_put_u8(out, ')');
}

static const char *does(const struct telling *telling, uint32_t count)
{
    if (measure_is_memory(telling->table->measure))
        return count == 1 ? "allocates nothing" : "allocate nothing";
    return count == 1 ? "does no work" : "do no work";
}

/* Few that work are told by name, else those that do not. */
static void put_absence(const struct telling *telling, const struct rank_story *story, struct bytes *out)
{
    const struct rank_table *table = telling->table;
    const struct rank_cells *cells = &table->functions[story->code];
    uint32_t absent = table->rank_count - cells->count;
    struct quantity each = amount(telling, story->stats.sum / cells->count);
    if (cells->count == 1) {
        bytes_putf(out, "Only rank %u works in ", table->ranks[cells->rows[0].rank].number);
        put_name(telling, story->code, out);
        bytes_putf(out, ": %s, of which the other %u rank%s have nothing.", each.text, absent,
                   plural(absent));
        return;
    }
    bytes_putf(out, "%u of %u ranks", absent, table->rank_count);
    put_list(telling, list_absent(telling, cells), out);
    bytes_putf(out, " %s in ", does(telling, absent));
    put_name(telling, story->code, out);
    bytes_putf(out, ": the other %u have %s each", cells->count, each.text);
    if (story->stats.max > UNEVEN * story->stats.sum / cells->count)
        bytes_putf(out, " (rank %u %s)", table->ranks[story->stats.max_rank].number,
                   amount(telling, story->stats.max).text);
    bytes_putf(out, "; shared by all it would be %s.", amount(telling, story->stats.mean).text);
}

static void put_calls(const struct telling *telling, double calls, struct bytes *out)
{
    if (!telling->table->sampled)
        bytes_putf(out, " in %s call%s", quantity_count((uint64_t)(calls + 0.5)).text,
                   calls < 1.5 && calls >= 0.5 ? "" : "s");
}

/* How many ranks are nearer to the most than to the mean. */
static uint32_t count_high(const struct rank_cells *cells, const struct rank_stats *stats)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < cells->count; i++)
        count += rank_stats_value(&cells->rows[i], RANK_USEFUL) >= stats->mean + stats->imbalance / 2;
    return count;
}

static void put_imbalance(const struct telling *telling, const struct rank_story *story, struct bytes *out)
{
    const struct rank_table *table = telling->table;
    const struct rank_cells *cells = &table->functions[story->code];
    const struct rank_stats *stats = &story->stats;
    const struct rank_cell *most = rank_table_cell(cells, stats->max_rank);
    uint32_t high = count_high(cells, stats);
    bytes_putf(out, "Rank %u", table->ranks[stats->max_rank].number);
    if (high > 1)
        bytes_putf(out, " and %u other%s", high - 1, plural(high - 1));
    const char *verb = measure_is_memory(table->measure) ? "allocate" : "spend";
    bytes_putf(out, " %s%s %s%s in ", verb, high > 1 ? "" : "s", high > 1 ? "up to " : "",
               amount(telling, stats->max).text);
    put_name(telling, story->code, out);
    put_calls(telling, most ? (double)most->calls : 0, out);
    bytes_putf(out, ", the mean is %s", amount(telling, stats->mean).text);
    put_calls(telling, rank_stats_of(table, cells, RANK_CALLS).mean, out);
    bytes_putf(out, ": %s imbalance, %s that equal shares would save.",
               quantity_share(stats->imbalance_share).text, amount(telling, stats->imbalance).text);
}

static int add_stories(const struct telling *telling, const struct rank_stories *stories, double busiest)
{
    for (uint32_t i = 0; i < stories->count; i++) {
        const struct rank_story *story = &stories->rows[i];
        struct bytes text = {0};
        (story->is_absence ? put_absence : put_imbalance)(telling, story, &text);
        if (findings_add(telling->findings, story->is_absence ? "idle-ranks" : "imbalance", story->code,
                         story->stats.imbalance / busiest, &text) < 0)
            return -1;
    }
    return 0;
}

/* ---- the run as a whole ---- */

static int add_whole(const struct telling *telling, const struct rank_stats *whole, bool has_stories)
{
    const struct rank_table *table = telling->table;
    const char *outside = table->has_mpi ? " outside MPI" : "";
    struct bytes text = {0};
    if (whole->max <= 0)
        return 0;
    double excess = whole->mean > 0 ? whole->max / whole->mean - 1 : 0;
    bool is_equal = excess <= EQUAL_SHARE || whole->imbalance <= rank_stories_noise(table, whole->mean);
    if (is_equal && !has_stories)
        bytes_putf(&text, "The %u ranks share the work equally: the busiest (%u) has %s%s, the mean is %s.",
                   table->rank_count, table->ranks[whole->max_rank].number, amount(telling, whole->max).text,
                   outside, amount(telling, whole->mean).text);
    else if (!is_equal)
        bytes_putf(&text,
                   "All functions together: rank %u has %s%s, rank %u only %s, the mean is %s: %s imbalance.",
                   table->ranks[whole->max_rank].number, amount(telling, whole->max).text, outside,
                   table->ranks[whole->min_rank].number, amount(telling, whole->min).text,
                   amount(telling, whole->mean).text, quantity_share(whole->imbalance_share).text);
    if (!text.size)
        return 0;
    return findings_add(telling->findings, is_equal ? "balanced" : "imbalance-all", 0,
                        whole->imbalance / whole->max, &text);
}

/* ---- what is missing ---- */

static int add_missing(const struct telling *telling)
{
    const struct rank_table *table = telling->table;
    struct bytes text = {0}, list = {0};
    uint32_t missing = 0;
    if (table->expected <= table->rank_count)
        return 0;
    uint32_t *numbers = malloc(table->expected * sizeof *numbers);
    for (uint32_t i = 0; numbers && i < table->expected; i++)
        if (rank_table_place(table, i) == MAP_NONE)
            numbers[missing++] = i;
    if (numbers)
        rank_list_put(numbers, missing, PARTS_MAX, &list);
    free(numbers);
    bytes_putf(&text, "%u of %u ranks (%.*s) %s no recording here and count%s nowhere below.", missing,
               table->expected, (int)list.size, list.size ? (const char *)list.data : "",
               missing == 1 ? "has" : "have", missing == 1 ? "s" : "");
    bytes_clear(&list);
    return findings_add(telling->findings, "missing-ranks", 0, 0, &text);
}

static uint32_t list_problem(const struct telling *telling, uint32_t problem)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < telling->table->rank_count; i++)
        if (telling->table->ranks[i].problems & problem)
            telling->ranks[count++] = telling->table->ranks[i].number;
    return count;
}

static int add_problems(const struct telling *telling)
{
    static const struct {
        uint32_t problem;
        const char *words;
    } problems[] = {
        {RANK_PROBLEM_DAMAGED, "damaged: what could not be read is missing from these numbers"},
        {RANK_PROBLEM_CUT, "cut off: what came after the last whole chunk is missing"},
        {RANK_PROBLEM_OPEN, "not closed by the recorder: what came after the last checkpoint is missing"},
        {RANK_PROBLEM_LOST, "not whole: events were lost while it was recorded"},
    };
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        uint32_t count = list_problem(telling, problems[i].problem);
        struct bytes text = {0};
        if (!count)
            continue;
        bytes_putf(&text, "The recording of %u rank%s", count, plural(count));
        put_list(telling, count, &text);
        bytes_putf(&text, " is %s.", problems[i].words);
        if (findings_add(telling->findings, "damage", 0, 0, &text) < 0)
            return -1;
    }
    return 0;
}

/* Each does the work of all then. */
static int add_alone(const struct telling *telling)
{
    uint32_t count = list_problem(telling, RANK_PROBLEM_ALONE);
    struct bytes text = {0};
    if (!count)
        return 0;
    bytes_putf(&text, "%u of %u ranks", count, telling->table->rank_count);
    put_list(telling, count, &text);
    bytes_put_text(&text, count == 1 ? " is" : " are each");
    bytes_put_text(&text,
                   " alone in MPI_COMM_WORLD, though the launcher started several: the program's MPI library "
                   "is not the launcher's.");
    return findings_add(telling->findings, "alone", 0, 0, &text);
}

static int add_unread(const struct telling *telling)
{
    for (uint32_t i = 0; i < telling->table->unread_count && i < PARTS_MAX; i++) {
        struct bytes text = {0};
        bytes_putf(&text, "Not read: %s", telling->table->unread[i]);
        if (findings_add(telling->findings, "damage", 0, 0, &text) < 0)
            return -1;
    }
    return 0;
}

static bool ended_badly(const struct rank_row *rank)
{
    return rank->exit_code != 0 && rank->exit_code != INT32_MIN;
}

static int add_ends(const struct telling *telling)
{
    const struct rank_table *table = telling->table;
    const struct rank_row *first = NULL;
    uint32_t count = 0;
    struct bytes text = {0};
    for (uint32_t i = 0; i < table->rank_count; i++) {
        if (!ended_badly(&table->ranks[i]))
            continue;
        first = first ? first : &table->ranks[i];
        telling->ranks[count++] = table->ranks[i].number;
    }
    if (!first)
        return 0;
    bytes_putf(&text, "%u of %u ranks", count, table->rank_count);
    put_list(telling, count, &text);
    bytes_put_text(&text, " ended badly; ");
    if (first->exit_code < 0)
        bytes_putf(&text, "rank %u was killed by signal %d.", first->number, -first->exit_code);
    else
        bytes_putf(&text, "rank %u with exit code %d.", first->number, first->exit_code);
    return findings_add(telling->findings, "end", 0, 0, &text);
}

/* ---- all ---- */

/* Of what the ranks did: useful time, or the amount of memory. */
static int whole_of(const struct telling *telling, struct rank_stats *whole)
{
    const struct rank_table *table = telling->table;
    if (telling->efficiency->is_known) {
        *whole = telling->efficiency->useful;
        return 0;
    }
    double *values = malloc(((size_t)table->rank_count + 1) * sizeof *values);
    for (uint32_t i = 0; values && i < table->rank_count; i++)
        values[i] = (double)table->ranks[i].amount;
    if (values)
        *whole = rank_stats_of_reals(values, table->rank_count);
    free(values);
    return values ? 0 : -1;
}

/* Its functions are not those of the table. */
static int add_mpi(const struct telling *telling, struct err *err)
{
    uint32_t before = telling->findings->count;
    if (!telling->table->mpi)
        return 0;
    if (findings_add_mpi(telling->findings, telling->table->mpi, err) < 0)
        return -1;
    for (uint32_t i = before; i < telling->findings->count; i++)
        telling->findings->rows[i].code = 0;
    return 0;
}

static int tell_all(const struct telling *telling, struct err *err)
{
    struct rank_stats whole;
    struct rank_stories stories;
    if (whole_of(telling, &whole) < 0)
        return -1;
    if (rank_stories_find(telling->table, whole.max, &stories, err) < 0)
        return -1;
    return add_alone(telling) == 0 && add_stories(telling, &stories, whole.max) == 0 &&
                   add_whole(telling, &whole, stories.count) == 0 && add_mpi(telling, err) == 0 &&
                   add_missing(telling) == 0 && add_unread(telling) == 0 && add_problems(telling) == 0 &&
                   add_ends(telling) == 0
               ? 0
               : -1;
}

int rank_findings_build(const struct rank_table *table, const struct rank_efficiency *efficiency,
                        struct findings *findings, struct err *err)
{
    *findings = (struct findings){0};
    struct telling telling = {.table = table, .efficiency = efficiency, .findings = findings};
    telling.ranks = malloc(((size_t)table->rank_count + 1) * sizeof *telling.ranks);
    int result = telling.ranks ? tell_all(&telling, err) : -1;
    free(telling.ranks);
    if (result == 0)
        return 0;
    findings_clear(findings);
    return err_set(err, "not enough memory for the findings");
}
