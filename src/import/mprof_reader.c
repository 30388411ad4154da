#include "import/mprof_reader.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "import/brackets.h"
#include "store/memory_rows.h"
#include "store/recording.h"

#define MIB          1048576.0
#define TIME_MAX_S   UINT64_C(9000000000) /* the year 2255 */
#define MEMORY_MAX   0x1p42               /* MiB, so that bytes are 62 bits */
#define WORD_BYTES   64                   /* of a number */
#define WORDS_MAX    6                    /* behind the keyword */
#define CHILDREN_MAX 65536

struct word {
    const char *at;
    size_t size;
};

struct line {
    struct word keyword;
    struct word rest; /* all behind the keyword */
    struct word words[WORDS_MAX];
    size_t count;
};

struct loading {
    struct recording *recording;
    struct map children; /* number of the child → its counter */
    uint32_t main_counter;
    struct brackets brackets;
    uint64_t first_ns, last_ns, bad, empty;
    bool failed; /* memory ran out */
};

/* ---- lines ---- */

static struct word next_word(const char **at, const char *end)
{
    while (*at < end && **at == ' ')
        ++*at;
    struct word word = {*at, 0};
    while (*at < end && **at != ' ')
        ++*at;
    word.size = (size_t)(*at - word.at);
    return word;
}

static bool next_line(const char **at, const char *end, struct line *line)
{
    if (*at >= end)
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at)), *last = stop ? stop : end;
    const char *place = *at;
    *at = stop ? stop + 1 : end;
    while (last > place && (last[-1] == '\r' || last[-1] == ' '))
        last--;
    *line = (struct line){.keyword = next_word(&place, last)};
    line->rest =
        (struct word){place < last ? place + 1 : last, (size_t)(place < last ? last - place - 1 : 0)};
    while (line->count < WORDS_MAX && (line->words[line->count] = next_word(&place, last)).size)
        line->count++;
    return true;
}

static bool is_keyword(const struct line *line, const char *keyword)
{
    return line->keyword.size == strlen(keyword) &&
           memcmp(line->keyword.at, keyword, line->keyword.size) == 0;
}

static bool real_of(struct word word, double least, double most, double *value)
{
    char text[WORD_BYTES], *end;
    if (!word.size || word.size >= sizeof text)
        return false;
    memcpy(text, word.at, word.size);
    text[word.size] = '\0';
    *value = strtod(text, &end);
    return *end == '\0' && *value >= least && *value <= most;
}

/* Seconds with decimals → nanoseconds. A double would have lost some of them. */
static bool time_of(struct word word, uint64_t *time_ns)
{
    uint64_t value = 0;
    int decimals = -1;
    for (size_t i = 0; i < word.size; i++) {
        if (word.at[i] == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (word.at[i] < '0' || word.at[i] > '9' || value > TIME_MAX_S * UINT64_C(100000000))
            return false;
        if (decimals == 9)
            continue;
        value = value * 10 + (uint64_t)(word.at[i] - '0');
        decimals += decimals >= 0;
    }
    for (int missing = 9 - (decimals < 0 ? 0 : decimals); missing > 0; missing--) {
        if (value > TIME_MAX_S * UINT64_C(100000000))
            return false;
        value *= 10;
    }
    *time_ns = value;
    return word.size > 0;
}

/* "MiB time": what a process had at an instant. */
static bool point_of(const struct word *words, struct brackets_point *point)
{
    double mebibytes;
    uint64_t time_ns;
    if (!real_of(words[0], 0, MEMORY_MAX, &mebibytes) || !time_of(words[1], &time_ns))
        return false;
    *point = (struct brackets_point){.time_ns = time_ns, .value = llround(mebibytes * MIB)};
    return true;
}

bool mprof_reader_recognises(const void *data, size_t size)
{
    const char *at = data;
    struct line line;
    struct brackets_point point;
    if (!next_line(&at, at + size, &line))
        return false;
    if (is_keyword(&line, "MEM"))
        return line.count == 2 && point_of(line.words, &point);
    if (is_keyword(&line, "CHLD"))
        return line.count == 3 && point_of(line.words + 1, &point);
    if (is_keyword(&line, "FUNC"))
        return line.count >= 5 && point_of(line.words + 1, &point) && point_of(line.words + 3, &point);
    return is_keyword(&line, "CMDLINE") && line.count > 0 && !memchr(data, '\0', size < 4096 ? size : 4096);
}

/* ---- records ---- */

static uint32_t string_of(struct loading *loading, struct word word)
{
    uint32_t id = strings_intern(&loading->recording->strings, word.at, word.size);
    loading->failed |= id == UINT32_MAX;
    return id == UINT32_MAX ? 0 : id;
}

static uint32_t add_counter(struct loading *loading, uint32_t process)
{
    const struct counter counter = {.name = string_of(loading, (struct word){"rss", 3}),
                                    .unit = string_of(loading, (struct word){"bytes", 5}),
                                    .process = process,
                                    .kind = COUNTER_LEVEL};
    uint32_t id = recording_add_counter(loading->recording, &counter);
    loading->failed |= !id;
    return id;
}

static void note_time(struct loading *loading, uint64_t time_ns)
{
    if (time_ns < loading->first_ns)
        loading->first_ns = time_ns;
    if (time_ns > loading->last_ns)
        loading->last_ns = time_ns;
}

static void add_point(struct loading *loading, uint32_t counter, struct brackets_point point)
{
    const struct series_row row = {.time_ns = point.time_ns, .value = point.value, .counter = counter};
    note_time(loading, point.time_ns);
    loading->failed |= recording_add_series(loading->recording, &row) == UINT32_MAX;
}

/* mprof numbers children by their place in a list; sonde by their process ids. */
static uint32_t child_counter(struct loading *loading, struct word number)
{
    char text[WORD_BYTES], *end;
    if (number.size >= sizeof text)
        return 0;
    memcpy(text, number.at, number.size);
    text[number.size] = '\0';
    uint64_t pid = strtoull(text, &end, 10);
    if (*end || text[0] == '-')
        return 0;
    uint32_t known = map_get(&loading->children, pid);
    if (known != MAP_NONE)
        return known;
    if (loading->recording->processes_count > CHILDREN_MAX)
        return 0;
    const struct process process = {.pid = pid, .parent = 1, .rank = UINT32_MAX, .exit_code = INT32_MIN};
    uint32_t id = recording_add_process(loading->recording, &process);
    uint32_t counter = id ? add_counter(loading, id) : 0;
    loading->failed |= !counter || !map_set(&loading->children, pid, counter);
    return counter;
}

static bool add_child(struct loading *loading, const struct line *line)
{
    struct brackets_point point;
    uint32_t counter =
        line->count == 3 && point_of(line->words + 1, &point) ? child_counter(loading, line->words[0]) : 0;
    if (counter)
        add_point(loading, counter, point);
    return counter != 0;
}

static bool add_function(struct loading *loading, const struct line *line)
{
    struct bracket bracket;
    if (line->count < 5 || !point_of(line->words + 1, &bracket.begin) ||
        !point_of(line->words + 3, &bracket.end) || bracket.end.time_ns < bracket.begin.time_ns)
        return false;
    bracket.name = string_of(loading, line->words[0]);
    note_time(loading, bracket.begin.time_ns);
    note_time(loading, bracket.end.time_ns);
    loading->failed |= brackets_add(&loading->brackets, &bracket) < 0;
    return true;
}

static bool add_memory(struct loading *loading, const struct line *line)
{
    struct brackets_point point;
    if (line->count != 2 || !point_of(line->words, &point))
        return false;
    if (!loading->main_counter)
        loading->main_counter = add_counter(loading, 1);
    add_point(loading, loading->main_counter, point);
    return true;
}

static bool set_command(struct loading *loading, const struct line *line)
{
    char *text = strndup(line->rest.at, line->rest.size);
    loading->recording->processes[1].command = string_of(loading, line->rest);
    loading->failed |= !text || recording_set_meta(loading->recording, "command", text) < 0;
    free(text);
    return true;
}

/* Keywords of other versions are passed over, as mprof does. */
static bool take_line(struct loading *loading, const struct line *line)
{
    static const struct {
        const char *keyword;
        bool (*take)(struct loading *loading, const struct line *line);
    } table[] = {{"MEM", add_memory}, {"CHLD", add_child}, {"FUNC", add_function}, {"CMDLINE", set_command}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_keyword(line, table[i].keyword))
            return table[i].take(loading, line);
    return line->keyword.size > 0;
}

/* ---- the whole ---- */

static void count_from_first(struct loading *loading)
{
    struct recording *recording = loading->recording;
    char text[32];
    if (loading->first_ns == UINT64_MAX)
        return;
    for (uint32_t i = 0; i < recording->series_count; i++)
        recording->series[i].time_ns -= loading->first_ns;
    for (uint32_t i = 0; i < recording->region_events_count; i++)
        recording->region_events[i].time_ns -= loading->first_ns;
    snprintf(text, sizeof text, "%" PRIu64, loading->first_ns);
    loading->failed |= recording_set_meta(recording, "epoch_ns", text) < 0;
    snprintf(text, sizeof text, "%" PRIu64, loading->last_ns - loading->first_ns);
    loading->failed |= recording_set_meta(recording, "elapsed_ns", text) < 0;
}

static void add_note(struct loading *loading, uint8_t kind, uint64_t count, const char *text)
{
    const struct note note = {.process = 0,
                              .kind = kind,
                              .count = count,
                              .text = string_of(loading, (struct word){text, strlen(text)})};
    if (count)
        loading->failed |= recording_add_note(loading->recording, &note) == UINT32_MAX;
}

static int load(struct loading *loading, const char *data, size_t size, const char *name, struct err *err)
{
    const char *at = data, *end = data + size;
    struct line line;
    while (!loading->failed && next_line(&at, end, &line)) {
        if (!line.keyword.size)
            loading->empty++;
        else if (!take_line(loading, &line))
            loading->bad++;
    }
    loading->failed |= brackets_put(&loading->brackets, loading->recording) < 0;
    count_from_first(loading);
    add_note(loading, NOTE_LOSS, loading->bad,
             loading->bad == 1 ? "line of the file makes no sense and is left out"
                               : "lines of the file make no sense and are left out");
    add_note(loading, NOTE_LOSS, loading->brackets.lost, "calls of functions overlap too much to be kept");
    add_note(loading, NOTE_WARNING, loading->empty, "empty lines: the program was too short for mprof");
    if (loading->failed)
        return err_set(err, "out of memory while reading %s", name);
    return memory_rows_order(loading->recording, err);
}

int mprof_reader_read(const void *data, size_t size, const char *name, struct recording *recording,
                      struct err *err)
{
    struct loading loading = {.recording = recording, .first_ns = UINT64_MAX};
    struct process process = {.rank = UINT32_MAX, .exit_code = INT32_MIN};
    if (recording_init(recording, err) < 0)
        return -1;
    if (!recording_add_process(recording, &process) || recording_set_meta(recording, "mode", "mprof") < 0)
        return err_set(err, "out of memory while reading %s", name);
    int result = load(&loading, data, size, name, err);
    brackets_clear(&loading.brackets);
    map_clear(&loading.children);
    return result;
}
